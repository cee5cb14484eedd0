// The AVX-512 intrinsics that the kernels use, one function each over plain bytes, once as the CPU has them and once as
// avx512_in_avx2.h models them: what simd_test.cc compares with scalar code.
#pragma once

#include <cstdint>

namespace motley::cpu::test {

// 64 bytes each, aligned.
struct SimdOp {
  const char* name;  // without _mm512_
  void (*run)(const void* a, const void* b, const void* c, void* out);
};

struct SimdOps {
  const SimdOp* ops;
  int count;
};

}  // namespace motley::cpu::test

namespace motley::cpu::avx512 {
extern const test::SimdOps kSimdOps;
}
namespace motley::cpu::avx2 {
extern const test::SimdOps kSimdOps;
}
