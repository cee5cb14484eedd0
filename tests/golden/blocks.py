"""Random tensors as they are stored; the definition stands in tests/support/random_blocks.h."""

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Q

# A scale field of RandomWeights: (offset, exponent e, sign: "?" the word's own bit 63, "=" as the first field's,
# "!" the opposite of the first field's). With both signs the values have zero mean.
WEIGHT_FIELDS = {
    "Q4_0": [(0, -4, "?")],
    "Q4_1": [(0, -4, "?"), (2, -1, "!")],
    "Q5_0": [(0, -5, "?")],
    "Q5_1": [(0, -5, "?"), (2, -1, "!")],
    "Q8_0": [(0, -8, "?")],
    "Q2_K": [(80, -5, "?"), (82, -4, "=")],
    "Q3_K": [(108, -7, "?")],
    "Q4_K": [(0, -9, "?"), (2, -6, "=")],
    "Q5_K": [(0, -10, "?"), (2, -6, "=")],
    "Q6_K": [(208, -12, "?")],
    "IQ4_NL": [(0, -8, "?")],
    "IQ4_XS": [(0, -12, "?")],
    "IQ2_XXS": [(0, -7, "?")],
    "IQ2_XS": [(0, -7, "?")],
    "IQ2_S": [(0, -7, "?")],
    "IQ3_XXS": [(0, -9, "?")],
    "IQ3_S": [(0, -9, "?")],
    "IQ1_S": [(0, -4, "?")],
}
IQ1_M_EXPONENT, MXFP4_EXPONENT, NVFP4_EXPONENT = -4, -3, -3  # the formats whose scales are no f16 field

# Offsets of the f16 scales of RandomBlocks.
BLOCK_FIELDS = {
    "F16": [0], "BF16": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82],
    "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ3_XXS": [0],
    "IQ1_S": [0], "IQ4_NL": [0], "IQ3_S": [0], "IQ2_S": [0], "IQ4_XS": [0], "IQ1_M": [], "MXFP4": [], "NVFP4": [],
}

MANTISSA_BITS = {"F32": 23, "F16": 10, "BF16": 7}
BIAS = {"F32": 127, "F16": 15, "BF16": 127}
UINT = {"F32": "<u4", "F16": "<u2", "BF16": "<u2"}


def block_bytes(fmt):
    return GGML_QUANT_SIZES[Q[fmt]]


def random_weights(fmt, elems, amplitude_log2, rng):
    """The stored bytes, uint8 [..]."""
    if fmt in MANTISSA_BITS:
        return _floats(fmt, elems, amplitude_log2, rng)
    per_block, size = block_bytes(fmt)
    blocks, fields = _raw_blocks(elems // per_block, size, rng)
    if fmt == "IQ1_M":
        bits = _f16(amplitude_log2 + IQ1_M_EXPONENT, fields[0]) | fields[0] >> np.uint64(63) << np.uint64(15)
        for i in range(4):
            nibble = (bits >> np.uint64(4 * i) & np.uint64(15)).astype(np.uint8)
            blocks[:, 49 + 2 * i] = blocks[:, 49 + 2 * i] & 15 | nibble << 4
        return blocks.reshape(-1)
    if fmt == "MXFP4":
        blocks[:, 0] = 128 + amplitude_log2 + MXFP4_EXPONENT - (fields[0] & np.uint64(1)).astype(np.int64)
        return blocks.reshape(-1)
    if fmt == "NVFP4":
        exponent = amplitude_log2 + NVFP4_EXPONENT + 7
        assert exponent < 15, exponent
        for i in range(4):
            fraction = (fields[0] >> np.uint64(3 * i) & np.uint64(7)).astype(np.uint8)
            blocks[:, i] = exponent << 3 | fraction if exponent > 0 else (8 | fraction) >> (1 - exponent)
        return blocks.reshape(-1)
    for (offset, exponent, sign), word in zip(WEIGHT_FIELDS[fmt], fields):
        negative = (word if sign == "?" else fields[0] if sign == "=" else ~fields[0]) >> np.uint64(63)
        bits = _f16(amplitude_log2 + exponent, word) | negative << np.uint64(15)
        blocks[:, offset : offset + 2] = bits.astype("<u2").view(np.uint8).reshape(-1, 2)
    return blocks.reshape(-1)


def random_norm_weights(elems, rng):
    r = rng.words(elems)
    exponent = np.uint64(127) - (r & np.uint64(1))
    bits = exponent << np.uint64(23) | (r >> np.uint64(8)) & np.uint64(2**23 - 1)
    return bits.astype("<u4").view(np.uint8)


def random_scale(rng):
    """The F32 factor beside an NVFP4 matrix, in [2^-7, 2^-6)."""
    bits = np.uint64(127 - 7) << np.uint64(23) | (rng.words(1) >> np.uint64(8)) & np.uint64(2**23 - 1)
    return bits.astype("<u4").view(np.uint8)


def raw_blocks(fmt, n_blocks, rng):
    blocks, _ = _raw_blocks(n_blocks, block_bytes(fmt)[1], rng)
    infinite = np.arange(0, n_blocks, 16)
    bits = np.where(infinite % 32 == 0, 0x7C00, 0xFC00)
    if fmt == "BF16":
        bits = np.where(infinite % 32 == 0, 0x7F80, 0xFF80)
    for offset in BLOCK_FIELDS[fmt]:
        blocks[infinite, offset : offset + 2] = bits.astype("<u2").view(np.uint8).reshape(-1, 2)
    if fmt == "IQ1_M":
        for i in range(4):
            blocks[infinite, 49 + 2 * i] = blocks[infinite, 49 + 2 * i] & 15 | (bits >> 4 * i & 15).astype(np.uint8) << 4
    elif fmt == "MXFP4":
        blocks[infinite, 0] = 255
    elif fmt == "NVFP4":
        blocks[infinite, 0:4] = (0x7F, 0xFF, 0x80, 0)
    return blocks.reshape(-1)


def random_blocks(fmt, n_blocks, rng):
    size = block_bytes(fmt)[1]
    blocks, fields = _raw_blocks(n_blocks, size, rng)
    all_ones = np.uint64(0x7F80 if fmt == "BF16" else 0x7C00)
    for offset, word in zip(BLOCK_FIELDS[fmt], fields):
        bits = word & np.uint64(0xFFFF)
        bits = np.where(bits & all_ones == all_ones, bits & np.uint64(0xBFFF), bits)
        blocks[:, offset : offset + 2] = bits.astype("<u2").view(np.uint8).reshape(-1, 2)
    if fmt == "MXFP4":
        x = fields[0] & np.uint64(255)
        blocks[:, 0] = np.where(x > 250, x - np.uint64(250), x).astype(np.uint8)
    elif fmt == "NVFP4":
        blocks[:, 0:4] &= 0x7F
    elif fmt == "IQ1_M":
        blocks[:, 55] &= 0xBF
    return blocks.reshape(-1)


def _floats(fmt, elems, amplitude_log2, rng):
    r = rng.words(elems)
    low = (r & np.uint64(0xFF)).astype(np.int64)
    octave = np.full(elems, 7)
    for bit in range(6, -1, -1):
        octave = np.where(low & ((2 << bit) - 1) == 1 << bit, bit, octave)
    mantissa_bits = MANTISSA_BITS[fmt]
    exponent = (BIAS[fmt] + amplitude_log2 - 1 - octave).astype(np.uint64)
    assert (exponent > 0).all()
    mantissa = (r >> np.uint64(8)) & np.uint64(2**mantissa_bits - 1)
    sign_shift = np.uint64(31 if fmt == "F32" else 15)
    bits = (r >> np.uint64(63)) << sign_shift | exponent << np.uint64(mantissa_bits) | mantissa
    return bits.astype(UINT[fmt]).view(np.uint8)


def _raw_blocks(n_blocks, size, rng):
    n_words = (size + 7) // 8
    words = rng.words(n_blocks * (n_words + 2)).reshape(n_blocks, n_words + 2)
    raw = np.ascontiguousarray(words[:, :n_words]).astype("<u8").view(np.uint8)[:, :size].copy()
    return raw, (words[:, n_words], words[:, n_words + 1])


def _f16(exponent, word):
    mantissa = word & np.uint64(1023)
    if exponent >= -14:
        return np.uint64((exponent + 15) << 10) | mantissa
    return (np.uint64(1024) | mantissa) >> np.uint64(-14 - exponent)
