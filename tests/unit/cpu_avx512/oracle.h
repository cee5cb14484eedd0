// What the tests of this plugin compare with: stored bytes made from a seed, and their values in double by the
// definition of the formats, written here a second time and plainly.
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

namespace motley::cpu::test {

inline const char* Name(WeightFormat f) {
  switch (f) {
    case WeightFormat::kF32: return "F32";
    case WeightFormat::kF16: return "F16";
    case WeightFormat::kBF16: return "BF16";
    case WeightFormat::kQ4_0: return "Q4_0";
    case WeightFormat::kQ4_1: return "Q4_1";
    case WeightFormat::kQ8_0: return "Q8_0";
    case WeightFormat::kQ4_K: return "Q4_K";
    case WeightFormat::kQ6_K: return "Q6_K";
  }
  return "?";
}

inline constexpr WeightFormat kAllFormats[] = {
    WeightFormat::kF32,  WeightFormat::kF16,  WeightFormat::kBF16, WeightFormat::kQ8_0,
    WeightFormat::kQ4_0, WeightFormat::kQ4_1, WeightFormat::kQ4_K, WeightFormat::kQ6_K};

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

inline double HalfValue(uint16_t h) {
  const int sign = h >> 15, exponent = h >> 10 & 31, mantissa = h & 1023;
  const double value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return sign != 0 ? -value : value;
}

// Any stored bytes are valid but for halves that are infinite, NaN or huge: those come from a small range.
inline std::vector<uint8_t> RandomStored(WeightFormat f, int64_t n, int64_t k, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(static_cast<size_t>(n * StoredRowBytes(f, k)));
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  const auto half = [&](size_t at, bool either_sign) {  // 2^-10 .. 2^-6
    const uint16_t h = static_cast<uint16_t>((5 + random() % 4) << 10 | random() % 1024 |
                                             (either_sign ? random() % 2 << 15 : 0));
    std::memcpy(&bytes[at], &h, 2);
  };
  const size_t size = bytes.size();
  std::normal_distribution<float> normal;
  switch (f) {
    case WeightFormat::kF32:
    case WeightFormat::kBF16:
      for (size_t i = 0; i < size; i += 4) {
        const float v = normal(random);
        if (f == WeightFormat::kF32) {
          std::memcpy(&bytes[i], &v, 4);
        } else {
          for (size_t j = i; j < i + 4 && j < size; j += 2) {
            const float w = normal(random);
            std::memcpy(&bytes[j], reinterpret_cast<const char*>(&w) + 2, 2);
          }
        }
      }
      break;
    case WeightFormat::kF16:
      for (size_t i = 0; i < size; i += 2) {
        const uint16_t h = static_cast<uint16_t>((10 + random() % 6) << 10 | random() % 1024 | random() % 2 << 15);
        std::memcpy(&bytes[i], &h, 2);
      }
      break;
    case WeightFormat::kQ8_0:
      for (size_t i = 0; i < size; i += 34) half(i, true);
      break;
    case WeightFormat::kQ4_0:
      for (size_t i = 0; i < size; i += 18) half(i, true);
      break;
    case WeightFormat::kQ4_1:
      for (size_t i = 0; i < size; i += 20) half(i, true), half(i + 2, true);
      break;
    case WeightFormat::kQ4_K:
      for (size_t i = 0; i < size; i += 144) half(i, false), half(i + 2, false);
      break;
    case WeightFormat::kQ6_K:
      for (size_t i = 0; i < size; i += 210) half(i + 208, true);
      break;
  }
  return bytes;
}

// Element e of one stored row.
inline double StoredValue(WeightFormat f, const uint8_t* row, int64_t e) {
  const auto half = [](const uint8_t* p) { return HalfValue(static_cast<uint16_t>(p[0] | p[1] << 8)); };
  const auto nibble = [](uint8_t b, bool high) { return high ? b >> 4 : b & 15; };
  switch (f) {
    case WeightFormat::kF32: {
      float v;
      std::memcpy(&v, row + e * 4, 4);
      return v;
    }
    case WeightFormat::kF16: return half(row + e * 2);
    case WeightFormat::kBF16: {
      const uint32_t wide = static_cast<uint32_t>(row[e * 2] | row[e * 2 + 1] << 8) << 16;
      float v;
      std::memcpy(&v, &wide, 4);
      return v;
    }
    case WeightFormat::kQ8_0: {
      const uint8_t* b = row + e / 32 * 34;
      return half(b) * static_cast<int8_t>(b[2 + e % 32]);
    }
    case WeightFormat::kQ4_0: {
      const uint8_t* b = row + e / 32 * 18;
      return half(b) * (nibble(b[2 + e % 16], e % 32 >= 16) - 8);
    }
    case WeightFormat::kQ4_1: {
      const uint8_t* b = row + e / 32 * 20;
      return half(b) * nibble(b[4 + e % 16], e % 32 >= 16) + half(b + 2);
    }
    case WeightFormat::kQ4_K: {
      const uint8_t* b = row + e / 256 * 144;
      const int i = static_cast<int>(e % 256), j = i / 32;
      const uint8_t* s = b + 4;
      const int scale = j < 4 ? s[j] % 64 : s[j + 4] % 16 + s[j - 4] / 64 * 16;
      const int min = j < 4 ? s[j + 4] % 64 : s[j + 4] / 16 + s[j] / 64 * 16;
      return half(b) * scale * nibble(b[16 + i / 64 * 32 + i % 32], i % 64 >= 32) - half(b + 2) * min;
    }
    case WeightFormat::kQ6_K: {
      const uint8_t* b = row + e / 256 * 210;
      const int i = static_cast<int>(e % 256), r = i % 128, l = r % 32, quarter = r / 32;
      const int low = nibble(b[i / 128 * 64 + l + (quarter % 2) * 32], quarter >= 2);
      const int high = b[128 + i / 128 * 32 + l] >> (2 * quarter) & 3;
      return half(b + 208) * static_cast<int8_t>(b[192 + i / 16]) * (low + 16 * high - 32);
    }
  }
  return 0;
}

// [n, k], row-major.
inline std::vector<double> StoredValues(WeightFormat f, const std::vector<uint8_t>& stored, int64_t n, int64_t k) {
  std::vector<double> values(static_cast<size_t>(n * k));
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t e = 0; e < k; ++e) {
      values[static_cast<size_t>(r * k + e)] = StoredValue(f, stored.data() + r * StoredRowBytes(f, k), e);
    }
  }
  return values;
}

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
