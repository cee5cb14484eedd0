// Activations to int8, in blocks of 32: scale = amax / 127, rounded to nearest even.
#include <cmath>

#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/simd.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

// Below this the block counts as zero: the scale and its inverse must be normal numbers.
constexpr uint32_t kTinyBits = 0x06000000;  // 2.4e-35

int32_t Sum(__m128i bytes) {
  // Biased by 128 each, as vpsadbw adds unsigned bytes.
  const __m128i halves = _mm_sad_epu8(_mm_xor_si128(bytes, _mm_set1_epi8(-128)), _mm_setzero_si128());
  return _mm_cvtsi128_si32(_mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves))) - 16 * 128;
}

void QuantiseBlock(const float* x, ActivationBlock* out) {
  const __m512 low = _mm512_loadu_ps(x), high = _mm512_loadu_ps(x + 16);
  const __m512i abs_mask = _mm512_set1_epi32(0x7fffffff);
  // Compared as integers, a NaN is above infinity, so that it reaches the scale and poisons this row alone.
  const __m512i magnitude = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(low), abs_mask),
                                             _mm512_and_si512(_mm512_castps_si512(high), abs_mask));
  const uint32_t amax_bits = _mm512_reduce_max_epu32(magnitude);
  float scale = 0, inverse = 0;
  if (amax_bits >= kTinyBits) {
    const float amax = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(amax_bits))));
    const __m128 whole = _mm_set_ss(amax / 127.0f);
    scale = _mm_cvtss_f32(_mm_and_ps(whole, _mm_castsi128_ps(_mm_cvtsi32_si128(~3))));
    inverse = 1.0f / scale;
    if (amax_bits > 0x7f800000u) scale = amax;  // clearing two bits may have made an infinity of the NaN
  }
  const __m512 factor = _mm512_set1_ps(inverse);
  const __m512i a = _mm512_cvtps_epi32(_mm512_mul_ps(low, factor));
  const __m512i b = _mm512_cvtps_epi32(_mm512_mul_ps(high, factor));
  const __m128i a8 = _mm512_cvtsepi32_epi8(a), b8 = _mm512_cvtsepi32_epi8(b);
  _mm_store_si128(reinterpret_cast<__m128i*>(out->q), a8);
  _mm_store_si128(reinterpret_cast<__m128i*>(out->q + 16), b8);
  // Sums of what was stored, also where a NaN or an infinity was saturated.
  const int32_t sum_low = Sum(a8), sum_high = Sum(b8);
  const int32_t sum = sum_low + sum_high;
  out->scale = scale;
  out->minus_magic = -kMagic * scale;
  out->sum = scale * static_cast<float>(sum);
  out->start_8 = kMagicBits - 8 * sum;
  out->start_32 = kMagicBits - 32 * sum;
  out->start_32_low = kMagicBits - 32 * sum_low;
  out->start_32_high = kMagicBits - 32 * sum_high;
  out->start_128 = kMagicBits - 128 * sum;
}

}  // namespace

void QuantiseRows(const float* x, int64_t x_stride, int64_t rows, int64_t k, int64_t row_begin, int64_t row_end,
                  ActivationBlock* out) {
  const int64_t blocks = k / 32;
  for (int64_t r = row_begin; r < row_end; ++r) {
    for (int64_t b = 0; b < blocks; ++b) {
      QuantiseBlock(x + r * x_stride + b * 32, out + ActivationIndex(r, b, rows, blocks));
    }
  }
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA
