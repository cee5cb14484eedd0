// Random tensors as they are stored, in any format: what tests/golden/blocks.py makes, bit for bit.
//
// Two kinds. RandomWeights look like trained weights: zero mean, about evenly spread over (-A, A) with
// A = 2^amplitude_log2, so that a tiny model of them behaves. RandomBlocks use every bit pattern a block may hold,
// with finite scales of any size and sign, for tests of dequantisers.
//
// F32, F16 and BF16 weights, of M = 23, 10 and 7 mantissa bits. With r = rng.At(i):
//   octave   = min(7, trailing zeros of r & 0xFF);  mantissa = (r >> 8) & (2^M - 1);  sign = r >> 63
//   value    = ±(1 + mantissa / 2^M) * 2^(amplitude_log2 - 1 - octave)
// Norm weights are F32 with octave = r & 1, no sign, amplitude_log2 = 1: they lie in [0.5, 2).
//
// Blocks of B bytes take W = ceil(B / 8) + 2 words of the generator each. Block b: the first B bytes of the words
// At(b * W), At(b * W + 1), … in little-endian, then the scale fields overwritten, the first from word
// r = At(b * W + W - 2), the second from At(b * W + W - 1):
//   in RandomWeights  f16 of ±(1 + (r & 1023) / 1024) * 2^(amplitude_log2 + e), cut to a subnormal below 2^-14, with e
//                     and the sign (r >> 63, or the first field's, or the opposite) from the table in
//                     random_blocks.cc. Where the scales are no f16 fields, of the first word r alone: IQ1_M such an
//                     f16 (e = -4) in the high nibbles of bytes 49, 51, 53, 55, the lowest first; MXFP4 byte 0 is
//                     125 + amplitude_log2 - (r & 1); NVFP4 bytes 0..3 are ue4m3 of 2^(amplitude_log2 - 3) * (1 + f/8),
//                     f = the next three bits of r, cut to a subnormal below 2^-6;
//   in RandomBlocks   the low 16 bits of r as f16 (or bf16, for BF16 itself), and where the exponent is all ones
//                     its bit 14 is cleared. MXFP4: x = r & 255, less 250 where above 250. NVFP4: bit 7 of the four
//                     scale bytes is cleared. IQ1_M: bit 6 of byte 55 is cleared (its f16 is spread over nibbles).
// RawBlocks overwrite nothing but the scales of blocks 0, 16, 32, ...: an f16 (bf16, IQ1_M's too) is infinite, positive
// in blocks 0, 32, ...; MXFP4's is 255; NVFP4's are 0x7f, 0xff, 0x80, 0.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/format.h"
#include "tests/support/counter_random.h"

namespace motley::test {

// UNIMPLEMENTED for a format with no rule; INVALID_ARGUMENT where elems is no whole number of blocks.
StatusOr<std::vector<uint8_t>> RandomWeights(Format format, int64_t elems, int amplitude_log2,
                                             const CounterRandom& rng);

// F32, in [0.5, 2).
std::vector<uint8_t> RandomNormWeights(int64_t elems, const CounterRandom& rng);

// F32, one value in [2^-7, 2^-6): the factor beside an NVFP4 matrix. Word At(0): mantissa = (r >> 8) & (2^23 - 1).
std::vector<uint8_t> RandomScale(const CounterRandom& rng);

// UNIMPLEMENTED for F32, F64 and the integers.
StatusOr<std::vector<uint8_t>> RandomBlocks(Format format, int64_t n_blocks, const CounterRandom& rng);
// Any bit pattern at all: scales are NaN, infinite and subnormal too.
StatusOr<std::vector<uint8_t>> RawBlocks(Format format, int64_t n_blocks, const CounterRandom& rng);

}  // namespace motley::test
