// Ops of one row: rms_norm, swiglu, add.
#include <cmath>

#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/simd.h"

namespace motley::cpu::MOTLEY_CPU_ISA {

void RmsNormRow(const float* x, const float* weight, int64_t k, double eps, float* y) {
  // Squares in double: no row whose result is finite overflows. Lane i sums x[16 j + i] and x[16 j + 8 + i].
  __m512d even = _mm512_setzero_pd(), odd = _mm512_setzero_pd();
  for (int64_t i = 0; i < k; i += 16) {
    const __m512 v = _mm512_maskz_loadu_ps(FirstLanes(k - i), x + i);
    const __m512d a = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    const __m512d b = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    even = _mm512_fmadd_pd(a, a, even);
    odd = _mm512_fmadd_pd(b, b, odd);
  }
  const double mean = ReduceAdd(_mm512_add_pd(even, odd)) / static_cast<double>(k);
  const __m512d factor = _mm512_set1_pd(1.0 / std::sqrt(mean + eps));
  for (int64_t i = 0; i < k; i += 16) {
    const __mmask16 lanes = FirstLanes(k - i);
    const __m512 v = _mm512_maskz_loadu_ps(lanes, x + i);
    // The product with the factor in double too: the factor alone may be below the range of f32.
    const __m256 a = _mm512_cvtpd_ps(_mm512_mul_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(v)), factor));
    const __m256 b = _mm512_cvtpd_ps(_mm512_mul_pd(_mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)), factor));
    const __m512 scaled = _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1);
    _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(scaled, _mm512_maskz_loadu_ps(lanes, weight + i)));
  }
}

void SwigluRow(const float* gate, const float* up, int64_t k, float* y) {
  for (int64_t i = 0; i < k; i += 16) {
    const __mmask16 lanes = FirstLanes(k - i);
    const __m512 g = _mm512_maskz_loadu_ps(lanes, gate + i), u = _mm512_maskz_loadu_ps(lanes, up + i);
    const __m512 below = _mm512_add_ps(_mm512_set1_ps(1.0f), Exp(_mm512_sub_ps(_mm512_setzero_ps(), g)));
    _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(_mm512_div_ps(g, below), u));
  }
}

void AddRow(const float* a, const float* b, int64_t k, float* y) {
  for (int64_t i = 0; i < k; i += 16) {
    const __mmask16 lanes = FirstLanes(k - i);
    _mm512_mask_storeu_ps(y + i, lanes,
                          _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, a + i), _mm512_maskz_loadu_ps(lanes, b + i)));
  }
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA
