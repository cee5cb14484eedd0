// The intrinsics behind the kernels against scalar code: as the CPU has them, and as avx512_in_avx2.h models them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "tests/unit/cpu_avx512/isa/simd_ops.h"
#include "tests/unit/cpu_avx512/oracle.h"

namespace motley::cpu::test {
namespace {

struct alignas(64) Block {
  uint8_t bytes[64];

  template <class T>
  T At(int i) const {
    T v;
    std::memcpy(&v, bytes + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return v;
  }
  template <class T>
  void Set(int i, T v) {
    std::memcpy(bytes + static_cast<size_t>(i) * sizeof(T), &v, sizeof(T));
  }
};

using Scalar = std::function<void(const Block& a, const Block& b, const Block& c, Block* out)>;

// Lanes of In to lanes of Out, with f(a, b, c) -> Out.
template <class In, class Out = In, class Fn>
Scalar Lanes(Fn f) {
  return [f](const Block& a, const Block& b, const Block& c, Block* out) {
    for (int i = 0; i < static_cast<int>(64 / sizeof(Out)); ++i) {
      out->Set<Out>(i, static_cast<Out>(f(a.At<In>(i), b.At<In>(i), c.At<In>(i))));
    }
  };
}
template <class T>
T Saturate(int64_t v) {
  return static_cast<T>(std::clamp<int64_t>(v, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
uint32_t Bits(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, 4);
  return bits;
}

// Sums of products of neighbours, `n` to a lane.
template <class A, class B, class Out, int n>
Scalar Dots(bool saturated, bool accumulated) {
  return [=](const Block& a, const Block& b, const Block& c, Block* out) {
    for (int i = 0; i < static_cast<int>(64 / sizeof(Out)); ++i) {
      int64_t sum = accumulated ? c.At<Out>(i) : 0;
      for (int j = 0; j < n; ++j) sum += int64_t{a.At<A>(i * n + j)} * b.At<B>(i * n + j);
      out->Set<Out>(i, saturated ? Saturate<Out>(sum) : static_cast<Out>(sum));
    }
  };
}

const std::map<std::string, Scalar>& Expected() {
  using U8 = uint8_t;
  using U16 = uint16_t;
  using U32 = uint32_t;
  static const std::map<std::string, Scalar> kExpected = {
      {"add_epi8", Lanes<U8>([](U8 a, U8 b, U8) { return a + b; })},
      {"sub_epi8", Lanes<U8>([](U8 a, U8 b, U8) { return a - b; })},
      {"add_epi16", Lanes<U16>([](U16 a, U16 b, U16) { return a + b; })},
      {"add_epi32", Lanes<U32>([](U32 a, U32 b, U32) { return a + b; })},
      {"sub_epi32", Lanes<U32>([](U32 a, U32 b, U32) { return a - b; })},
      {"mullo_epi32", Lanes<U32>([](U32 a, U32 b, U32) { return a * b; })},
      {"and_si512", Lanes<U32>([](U32 a, U32 b, U32) { return a & b; })},
      {"andnot_si512", Lanes<U32>([](U32 a, U32 b, U32) { return ~a & b; })},
      {"or_si512", Lanes<U32>([](U32 a, U32 b, U32) { return a | b; })},
      {"xor_si512", Lanes<U32>([](U32 a, U32 b, U32) { return a ^ b; })},
      {"abs_epi8", Lanes<int8_t, U8>([](int a, int, int) { return std::abs(a); })},
      {"max_epi32", Lanes<int32_t>([](int32_t a, int32_t b, int32_t) { return std::max(a, b); })},
      {"max_epu32", Lanes<U32>([](U32 a, U32 b, U32) { return std::max(a, b); })},
      {"madd_epi16", Dots<int16_t, int16_t, int32_t, 2>(false, false)},
      {"maddubs_epi16", Dots<U8, int8_t, int16_t, 2>(true, false)},
      {"dpbusd_epi32", Dots<U8, int8_t, int32_t, 4>(false, true)},
      {"slli_epi16_3", Lanes<U16>([](U16 a, U16, U16) { return a << 3; })},
      {"srli_epi16_5", Lanes<U16>([](U16 a, U16, U16) { return a >> 5; })},
      {"slli_epi32_23", Lanes<U32>([](U32 a, U32, U32) { return a << 23; })},
      {"srli_epi32_4", Lanes<U32>([](U32 a, U32, U32) { return a >> 4; })},
      {"srl_epi16_6", Lanes<U16>([](U16 a, U16, U16) { return a >> 6; })},
      {"sll_epi16_7", Lanes<U16>([](U16 a, U16, U16) { return a << 7; })},
      {"srlv_epi32", Lanes<U32>([](U32 a, U32 b, U32) { return b < 32 ? a >> b : 0; })},
      {"cvtepi32_ps", Lanes<int32_t, float>([](int32_t a, int32_t, int32_t) { return static_cast<float>(a); })},
      {"cvtps_epi32", Lanes<float, int32_t>([](float a, float, float) {
         return std::abs(a) < 0x1p31f ? static_cast<int32_t>(std::nearbyint(a)) : std::numeric_limits<int32_t>::min();
       })},
      {"add_ps", Lanes<float>([](float a, float b, float) { return a + b; })},
      {"sub_ps", Lanes<float>([](float a, float b, float) { return a - b; })},
      {"mul_ps", Lanes<float>([](float a, float b, float) { return a * b; })},
      {"div_ps", Lanes<float>([](float a, float b, float) { return a / b; })},
      // The second operand where they compare neither way.
      {"max_ps", Lanes<float>([](float a, float b, float) { return a > b ? a : b; })},
      {"min_ps", Lanes<float>([](float a, float b, float) { return a < b ? a : b; })},
      {"fmadd_ps", Lanes<float>([](float a, float b, float c) { return std::fma(a, b, c); })},
      {"fnmadd_ps", Lanes<float>([](float a, float b, float c) { return std::fma(-a, b, c); })},
      {"roundscale_ps", Lanes<float>([](float a, float, float) { return std::nearbyint(a); })},
      // Times the magnitudes: a * b, but that -(-128) is -128 in a byte.
      {"WithSignOf",
       [](const Block& a, const Block& b, const Block&, Block* out) {
         const auto product = [&](int i) {
           const int8_t x = a.At<int8_t>(i), y = b.At<int8_t>(i), with_sign = static_cast<int8_t>(y < 0 ? -x : x);
           return with_sign * std::abs(int{y});
         };
         for (int i = 0; i < 32; ++i) out->Set<int16_t>(i, Saturate<int16_t>(product(2 * i) + product(2 * i + 1)));
       }},
      {"shuffle_epi8",
       [](const Block& a, const Block& b, const Block&, Block* out) {
         for (int i = 0; i < 64; ++i) {
           const U8 at = b.At<U8>(i);
           out->Set<U8>(i, at >= 128 ? U8{0} : a.At<U8>(i / 16 * 16 + at % 16));
         }
       }},
      {"broadcast_i32x4",
       [](const Block& a, const Block&, const Block&, Block* out) {
         for (int i = 0; i < 64; ++i) out->Set<U8>(i, a.At<U8>(i % 16));
       }},
      {"cvtepu8_epi32",
       [](const Block& a, const Block&, const Block&, Block* out) {
         for (int i = 0; i < 16; ++i) out->Set<U32>(i, a.At<U8>(i));
       }},
      {"cvtepi8_epi32",
       [](const Block& a, const Block&, const Block&, Block* out) {
         for (int i = 0; i < 16; ++i) out->Set<int32_t>(i, a.At<int8_t>(i));
       }},
      {"cvtepu16_epi32",
       [](const Block& a, const Block&, const Block&, Block* out) {
         for (int i = 0; i < 16; ++i) out->Set<U32>(i, a.At<U16>(i));
       }},
      {"cvtph_ps",
       [](const Block& a, const Block&, const Block&, Block* out) {
         for (int i = 0; i < 16; ++i) {
           const U16 h = a.At<U16>(i);
           const float special = (h & 1023) != 0 ? NAN : h >> 15 != 0 ? -INFINITY : INFINITY;
           out->Set<float>(i, (h >> 10 & 31) == 31 ? special : static_cast<float>(HalfValue(h)));
         }
       }},
      {"cvtsepi32_epi8",
       [](const Block& a, const Block&, const Block&, Block* out) {
         for (int i = 0; i < 64; ++i) out->Set<int8_t>(i, Saturate<int8_t>(a.At<int32_t>(i % 16)));
       }},
      {"reduce_max_epu32",
       [](const Block& a, const Block&, const Block&, Block* out) {
         U32 most = 0;
         for (int i = 0; i < 16; ++i) most = std::max(most, a.At<U32>(i));
         for (int i = 0; i < 16; ++i) out->Set<U32>(i, most);
       }},
      {"maskz_loadu_ps",
       [](const Block& a, const Block&, const Block&, Block* out) {
         for (int i = 0; i < 16; ++i) out->Set<U32>(i, (0x8421 >> i & 1) != 0 ? a.At<U32>(i) : 0);
       }},
      {"mask_mov_ps",
       [](const Block& a, const Block& b, const Block&, Block* out) {
         for (int i = 0; i < 16; ++i) out->Set<U32>(i, (0x0ff1 >> i & 1) != 0 ? b.At<U32>(i) : a.At<U32>(i));
       }},
      {"i32gather_epi32",
       [](const Block& a, const Block& b, const Block&, Block* out) {
         for (int i = 0; i < 16; ++i) out->Set<U32>(i, a.At<U32>(static_cast<int>(b.At<U32>(i) & 15)));
       }},
  };
  return kExpected;
}

bool OfFloats(const std::string& name) { return name.size() > 3 && name.compare(name.size() - 3, 3, "_ps") == 0; }

// Any bits, and near every third lane a number of ordinary size or an edge.
void Fill(std::mt19937* random, bool floats, Block* block) {
  static const float kEdges[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 2147483520.0f, 2147483648.0f, -0.5f, 2.5f};
  for (int i = 0; i < 16; ++i) block->Set<uint32_t>(i, static_cast<uint32_t>((*random)()));
  for (int i = 0; i < 16; ++i) {
    if (floats && (*random)() % 2 == 0) block->Set<float>(i, static_cast<float>(static_cast<int32_t>((*random)())) * 1e-7f);
    if (floats && (*random)() % 8 == 0) block->Set<float>(i, kEdges[(*random)() % std::size(kEdges)]);
    if (!floats && (*random)() % 4 == 0) block->Set<uint32_t>(i, static_cast<uint32_t>((*random)() % 40));
    if (!floats && (*random)() % 8 == 0) block->Set<uint32_t>(i, 0x80ff7f80u);  // -128, -1, 127, -128
  }
}

class Simd : public ::testing::TestWithParam<const Kernels*> {};
MOTLEY_TEST_KERNELS(Simd);

TEST_P(Simd, EveryIntrinsicDoesWhatScalarCodeDoes) {
  if (!Runs(*GetParam())) GTEST_SKIP() << "skipped: this CPU has no " << GetParam()->name;
  const SimdOps ops = GetParam() == &avx512::kKernels ? avx512::kSimdOps : avx2::kSimdOps;
  ASSERT_GT(ops.count, 40);
  for (int n = 0; n < ops.count; ++n) {
    const std::string name = ops.ops[n].name;
    if (name == "dpbusd_epi32" && !HasVnni(*GetParam())) continue;
    const auto expected = Expected().find(name);
    ASSERT_NE(expected, Expected().end()) << name;
    // Conversions to float and masks read integers; of floats NaN may be any NaN.
    const bool floats = OfFloats(name) || name == "cvtps_epi32";
    std::mt19937 random(static_cast<uint32_t>(n));
    for (int round = 0; round < 400; ++round) {
      Block a, b, c, want, got;
      Fill(&random, floats && name != "cvtepi32_ps" && name != "cvtph_ps", &a);
      Fill(&random, floats, &b);
      Fill(&random, floats, &c);
      expected->second(a, b, c, &want);
      ops.ops[n].run(a.bytes, b.bytes, c.bytes, got.bytes);
      for (int i = 0; i < 16; ++i) {
        if (floats && std::isnan(want.At<float>(i)) && std::isnan(got.At<float>(i))) continue;
        ASSERT_EQ(want.At<uint32_t>(i), got.At<uint32_t>(i)) << name << " lane " << i << ": a " << std::hex
            << a.At<uint32_t>(i) << " b " << b.At<uint32_t>(i) << " c " << c.At<uint32_t>(i);
      }
    }
  }
}

}  // namespace
}  // namespace motley::cpu::test
