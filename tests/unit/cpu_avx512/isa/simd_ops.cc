#include "tests/unit/cpu_avx512/isa/simd_ops.h"

#include "plugins/cpu_avx512/kernels/simd.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

struct I {  // integers
  __m512i v;
  explicit I(const void* p) : v(_mm512_load_si512(p)) {}
};
__m512 Floats(const void* p) { return _mm512_load_ps(p); }
void Put(void* out, __m512i v) { _mm512_store_si512(out, v); }
void Put(void* out, __m512 v) { _mm512_store_ps(out, v); }
__m128i Low(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
__m256i Half(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }

// a, b, c: the operands as integers; x, y, z: as floats.
#define MOTLEY_OP(op_name, expression)                                             \
  {                                                                                \
    #op_name, [](const void* pa, const void* pb, const void* pc, void* out) {      \
      [[maybe_unused]] const __m512i a = I(pa).v, b = I(pb).v, c = I(pc).v;        \
      [[maybe_unused]] const __m512 x = Floats(pa), y = Floats(pb), z = Floats(pc); \
      Put(out, expression);                                                        \
    }                                                                              \
  }

const test::SimdOp kOps[] = {
    MOTLEY_OP(add_epi8, _mm512_add_epi8(a, b)),
    MOTLEY_OP(sub_epi8, _mm512_sub_epi8(a, b)),
    MOTLEY_OP(add_epi16, _mm512_add_epi16(a, b)),
    MOTLEY_OP(add_epi32, _mm512_add_epi32(a, b)),
    MOTLEY_OP(sub_epi32, _mm512_sub_epi32(a, b)),
    MOTLEY_OP(mullo_epi32, _mm512_mullo_epi32(a, b)),
    MOTLEY_OP(and_si512, _mm512_and_si512(a, b)),
    MOTLEY_OP(andnot_si512, _mm512_andnot_si512(a, b)),
    MOTLEY_OP(or_si512, _mm512_or_si512(a, b)),
    MOTLEY_OP(xor_si512, _mm512_xor_si512(a, b)),
    MOTLEY_OP(abs_epi8, _mm512_abs_epi8(a)),
    MOTLEY_OP(max_epi32, _mm512_max_epi32(a, b)),
    MOTLEY_OP(max_epu32, _mm512_max_epu32(a, b)),
    MOTLEY_OP(madd_epi16, _mm512_madd_epi16(a, b)),
    MOTLEY_OP(maddubs_epi16, _mm512_maddubs_epi16(a, b)),
    MOTLEY_OP(shuffle_epi8, _mm512_shuffle_epi8(a, b)),
    MOTLEY_OP(slli_epi16_3, _mm512_slli_epi16(a, 3)),
    MOTLEY_OP(srli_epi16_5, _mm512_srli_epi16(a, 5)),
    MOTLEY_OP(slli_epi32_23, _mm512_slli_epi32(a, 23)),
    MOTLEY_OP(srli_epi32_4, _mm512_srli_epi32(a, 4)),
    MOTLEY_OP(srl_epi16_6, _mm512_srl_epi16(a, _mm_cvtsi32_si128(6))),
    MOTLEY_OP(sll_epi16_7, _mm512_sll_epi16(a, _mm_cvtsi32_si128(7))),
    MOTLEY_OP(srlv_epi32, _mm512_srlv_epi32(a, b)),
    MOTLEY_OP(broadcast_i32x4, _mm512_broadcast_i32x4(Low(pa))),
    MOTLEY_OP(cvtepu8_epi32, _mm512_cvtepu8_epi32(Low(pa))),
    MOTLEY_OP(cvtepi8_epi32, _mm512_cvtepi8_epi32(Low(pa))),
    MOTLEY_OP(cvtepu16_epi32, _mm512_cvtepu16_epi32(Half(pa))),
    MOTLEY_OP(cvtph_ps, _mm512_cvtph_ps(Half(pa))),
    MOTLEY_OP(cvtepi32_ps, _mm512_cvtepi32_ps(a)),
    MOTLEY_OP(cvtps_epi32, _mm512_cvtps_epi32(x)),
    MOTLEY_OP(cvtsepi32_epi8, _mm512_broadcast_i32x4(_mm512_cvtsepi32_epi8(a))),
    MOTLEY_OP(add_ps, _mm512_add_ps(x, y)),
    MOTLEY_OP(sub_ps, _mm512_sub_ps(x, y)),
    MOTLEY_OP(mul_ps, _mm512_mul_ps(x, y)),
    MOTLEY_OP(div_ps, _mm512_div_ps(x, y)),
    MOTLEY_OP(max_ps, _mm512_max_ps(x, y)),
    MOTLEY_OP(min_ps, _mm512_min_ps(x, y)),
    MOTLEY_OP(fmadd_ps, _mm512_fmadd_ps(x, y, z)),
    MOTLEY_OP(fnmadd_ps, _mm512_fnmadd_ps(x, y, z)),
    MOTLEY_OP(roundscale_ps, _mm512_roundscale_ps(x, 0)),
    MOTLEY_OP(reduce_max_epu32, _mm512_set1_epi32(static_cast<int>(_mm512_reduce_max_epu32(a)))),
    MOTLEY_OP(maskz_loadu_ps, _mm512_maskz_loadu_ps(0x8421, pa)),
    MOTLEY_OP(mask_mov_ps, _mm512_mask_mov_ps(x, 0x0ff1, y)),
    MOTLEY_OP(i32gather_epi32, _mm512_i32gather_epi32(_mm512_and_si512(b, _mm512_set1_epi32(15)), pa, 4)),
#if defined(MOTLEY_CPU_AVX2) || defined(__AVX512VNNI__)
    MOTLEY_OP(dpbusd_epi32, _mm512_dpbusd_epi32(c, a, b)),
#endif
    // Not an intrinsic: simd.h has it in two forms.
    MOTLEY_OP(WithSignOf, _mm512_maddubs_epi16(_mm512_abs_epi8(b), WithSignOf(a, b))),
};

}  // namespace

const test::SimdOps kSimdOps = {kOps, sizeof kOps / sizeof kOps[0]};

}  // namespace motley::cpu::MOTLEY_CPU_ISA
