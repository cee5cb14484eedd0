#include "core/base/cpu_features.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace motley {
namespace {

// A processor that has everything, with an operating system that enables what xcr0 says.
CpuidSource Everything(uint64_t xcr0, bool amx_permitted) {
  CpuidSource source;
  source.cpuid = [](uint32_t leaf, uint32_t subleaf) -> std::array<uint32_t, 4> {
    if (leaf == 0 || leaf == 0x80000000) return {leaf | 0x20, 0, 0, 0};
    if (leaf == 7 && subleaf == 0) return {1, ~0u, ~0u, ~0u};
    return {~0u, ~0u, ~0u, ~0u};
  };
  source.xcr0 = xcr0;
  source.amx_permitted = amx_permitted;
  return source;
}

TEST(CpuFeatures, FieldFailure_L04_TheOperatingSystemCounts) {
  const CpuFeatures all = CpuFeatures::From(Everything(0x602e7, true));
  for (const char* name : {"sse2", "avx2", "avx512f", "avx512vnni", "avx512_bf16", "amx_int8"}) {
    EXPECT_TRUE(all.Has(name)) << name;
    EXPECT_EQ(all.WhyMissing(name), "") << name;
  }
  const CpuFeatures no_zmm = CpuFeatures::From(Everything(0x7, true));
  EXPECT_TRUE(no_zmm.Has("avx2"));
  EXPECT_EQ(no_zmm.WhyMissing("avx512f"), "the operating system does not enable its registers (XCR0 = 0x7)");
  EXPECT_FALSE(no_zmm.Has("amx_tile"));
  const CpuFeatures no_opmask =
      CpuFeatures::From(Everything(0xc7, true));  // the upper halves without the masks
  EXPECT_FALSE(no_opmask.Has("avx512f"));
  const CpuFeatures nothing = CpuFeatures::From(Everything(0, true));
  EXPECT_TRUE(nothing.Has("sse4_2"));
  EXPECT_FALSE(nothing.Has("avx"));
}

TEST(CpuFeatures, FieldFailure_L04_AmxNeedsPermission) {
  const CpuFeatures refused = CpuFeatures::From(Everything(0x602e7, false));
  EXPECT_EQ(refused.WhyMissing("amx_int8"), "the kernel refused AMX permission");
  EXPECT_TRUE(refused.Has("avx512vnni"));
}

TEST(CpuFeatures, FieldFailure_L04_EachBitIsItsOwn) {
  // Intel SDM: leaf 7 ebx bit 16 AVX512F, ecx bit 11 VNNI, leaf 7.1 eax bit 5 BF16, leaf 7 edx bit 25
  // AMX-INT8.
  struct Bit {
    const char* name;
    uint32_t leaf, subleaf, reg, bit;
  };
  const Bit bits[] = {{"avx512f", 7, 0, 1, 16},  {"avx512bw", 7, 0, 1, 30},   {"avx512vl", 7, 0, 1, 31},
                      {"avx512dq", 7, 0, 1, 17}, {"avx512vnni", 7, 0, 2, 11}, {"avx512_bf16", 7, 1, 0, 5},
                      {"amx_int8", 7, 0, 3, 25}, {"amx_bf16", 7, 0, 3, 22},   {"avx2", 7, 0, 1, 5},
                      {"fma", 1, 0, 2, 12},      {"f16c", 1, 0, 2, 29},       {"avx512_fp16", 7, 0, 3, 23}};
  for (const Bit& only : bits) {
    CpuidSource source = Everything(0x602e7, true);
    source.cpuid = [&](uint32_t leaf, uint32_t subleaf) -> std::array<uint32_t, 4> {
      std::array<uint32_t, 4> r{};
      if (leaf == 0) r[0] = 7;
      if (leaf == 7 && subleaf == 0) r[0] = 1;
      if (leaf == only.leaf && subleaf == only.subleaf) r[only.reg] |= 1u << only.bit;
      return r;
    };
    const CpuFeatures features = CpuFeatures::From(source);
    for (const Bit& other : bits) {
      EXPECT_EQ(features.Has(other.name), std::string_view(other.name) == only.name)
          << other.name << " " << only.name;
    }
  }
}

TEST(CpuFeatures, LeavesThatAreNotThereAreNotRead) {
  CpuidSource source = Everything(0x602e7, true);
  source.cpuid = [](uint32_t leaf, uint32_t) -> std::array<uint32_t, 4> {
    if (leaf == 0) return {1, 0, 0, 0};  // an old processor: leaf 7 would give the last leaf's values
    if (leaf == 0x80000000) return {0, 0, 0, 0};
    return {~0u, ~0u, ~0u, ~0u};
  };
  const CpuFeatures features = CpuFeatures::From(source);
  EXPECT_TRUE(features.Has("sse2"));
  EXPECT_FALSE(features.Has("avx2"));
  EXPECT_FALSE(features.Has("lzcnt"));
}

TEST(CpuFeatures, SpellingsAreOneName) {
  const CpuFeatures all = CpuFeatures::From(Everything(0x602e7, true));
  for (const char* name : {"avx512_vnni", "avx512vnni", "sse4.1", "sse4_1", "amx-int8", "amxint8"}) {
    EXPECT_TRUE(all.Has(name)) << name;
  }
  EXPECT_FALSE(all.Has("avx1024"));
  EXPECT_EQ(all.WhyMissing("avx1024"), "this version does not know that name");
  EXPECT_EQ(all.WhyMissing(""), "this version does not know that name");
}

// The kernel's own list: an independent reading of the same processor.
TEST(CpuFeatures, AgreesWithTheKernel) {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string flags;
  for (std::string line; std::getline(cpuinfo, line) && flags.empty();) {
    if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0) flags = line + " ";
  }
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const CpuFeatures features = CpuFeatures::Detect();
  const std::pair<const char*, const char*> names[] = {{"sse2", "sse2"},
                                                       {"ssse3", "ssse3"},
                                                       {"avx", "avx"},
                                                       {"avx2", "avx2"},
                                                       {"fma", "fma"},
                                                       {"f16c", "f16c"},
                                                       {"avx512f", "avx512f"},
                                                       {"avx512bw", "avx512bw"},
                                                       {"avx512vl", "avx512vl"},
                                                       {"avx512dq", "avx512dq"},
                                                       {"avx512vnni", "avx512_vnni"},
                                                       {"avx512bf16", "avx512_bf16"},
                                                       {"avx512vbmi", "avx512vbmi"},
                                                       {"bmi2", "bmi2"},
                                                       {"asimddp", "asimddp"}};
  for (const auto& [ours, kernels] : names) {
    const bool theirs = flags.find(" " + std::string(kernels) + " ") != std::string::npos;
    EXPECT_EQ(features.Has(ours), theirs) << ours << ": " << features.WhyMissing(ours);
  }
}

TEST(CpuFeatures, KnownNamesAreKnown) {
  const CpuFeatures here = CpuFeatures::Detect();
  for (const std::string& name : KnownCpuFeatures()) {
    EXPECT_NE(here.WhyMissing(name), "this version does not know that name") << name;
  }
}

}  // namespace
}  // namespace motley
