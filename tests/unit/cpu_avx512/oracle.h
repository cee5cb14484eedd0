// What the tests of this plugin share: tables of kernels to run, packed weights, errors.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plugins/cpu_avx512/kernels/kernels.h"
#include "plugins/cpu_avx512/probe.h"
#include "tests/unit/cpu_avx512/stored_values.h"

namespace motley::cpu::test {

// 64-byte aligned, filled with bytes that are NaN as a float.
template <class T>
class Aligned {
 public:
  explicit Aligned(size_t count)
      : size_(count), data_(static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 127) / 64 * 64))) {
    std::memset(static_cast<void*>(data_), 0xff, count * sizeof(T));
  }
  Aligned(Aligned&& o) noexcept : size_(o.size_), data_(o.data_) { o.data_ = nullptr; }
  ~Aligned() { std::free(data_); }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  T* data_;
};

// The tables of kernels that this CPU can run. The first is what the others must equal bit for bit.
inline bool Runs(const Kernels& table) {
  const CpuFeatures features = ProbeCpu(ThisCpu());
  return &table == &avx512::kKernels ? features.has_avx512() : features.usable();
}
inline bool HasVnni(const Kernels& table) {
  return &table == &avx2::kKernels || ProbeCpu(ThisCpu()).avx512vnni;  // avx2 has a model of it
}

inline bool HasTiles(const Kernels& table) {
  return &table == &avx2::kKernels || (HasVnni(table) && ProbeCpu(ThisCpu()).system_grants_tiles);
}

// A test of kernels, run once a table: K() is the table's.
inline const Kernels*& CurrentKernels() {
  static const Kernels* current = nullptr;
  return current;
}
inline const Kernels& K() { return *CurrentKernels(); }

inline Aligned<uint8_t> Pack(WeightFormat f, const std::vector<uint8_t>& stored, int64_t n, int64_t k) {
  Aligned<uint8_t> packed(static_cast<size_t>(PackedBytes(f, n, k)));
  K().pack_tiles(f, stored.data(), n, k, 0, Tiles(n), packed.data());
  return packed;
}

inline std::vector<float> RandomFloats(int64_t count, uint32_t seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = normal(random) * scale;
  return values;
}

inline double Nmse(const double* expected, const float* got, size_t count) {
  double error = 0, power = 0;
  for (size_t i = 0; i < count; ++i) {
    error += (got[i] - expected[i]) * (got[i] - expected[i]);
    power += expected[i] * expected[i];
  }
  return power > 0 ? error / power : error;
}

class WithKernels : public ::testing::TestWithParam<const Kernels*> {
 protected:
  void SetUp() override {
    if (!Runs(*GetParam())) GTEST_SKIP() << "skipped: this CPU has no " << GetParam()->name;
    CurrentKernels() = GetParam();
  }
};

#define MOTLEY_TEST_KERNELS(suite)                                                                    \
  INSTANTIATE_TEST_SUITE_P(, suite, ::testing::Values(&::motley::cpu::avx512::kKernels,               \
                                                      &::motley::cpu::avx2::kKernels),                \
                           [](const auto& info) { return std::string(info.param->name); })

// Of what needs a device of the plugin.
#define MOTLEY_NEEDS_AVX2() \
  if (!::motley::cpu::test::Runs(::motley::cpu::avx2::kKernels)) GTEST_SKIP() << "skipped: this CPU has no AVX2"

}  // namespace motley::cpu::test
