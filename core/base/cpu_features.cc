#include "core/base/cpu_features.h"

#include <cstdio>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace motley {
namespace {

// Which registers a feature needs saved on a switch of threads, as bits of XCR0.
enum State : uint64_t {
  kBase = 0,
  kYmm = 0x6,        // SSE and AVX
  kZmm = 0xe6,       // and opmask, the upper halves, ZMM16-31
  kTiles = 0x60000,  // tile configuration and tile data
};

struct Feature {
  std::string_view name;
  uint32_t leaf, subleaf;
  uint32_t reg;  // 0 eax 1 ebx 2 ecx 3 edx
  uint32_t bit;
  State state;
};

// Intel SDM volume 2, CPUID.
constexpr Feature kX86[] = {
    {"sse2", 1, 0, 3, 26, kBase},
    {"sse3", 1, 0, 2, 0, kBase},
    {"ssse3", 1, 0, 2, 9, kBase},
    {"sse4_1", 1, 0, 2, 19, kBase},
    {"sse4_2", 1, 0, 2, 20, kBase},
    {"popcnt", 1, 0, 2, 23, kBase},
    {"lzcnt", 0x80000001, 0, 2, 5, kBase},
    {"bmi1", 7, 0, 1, 3, kBase},
    {"bmi2", 7, 0, 1, 8, kBase},
    {"avx", 1, 0, 2, 28, kYmm},
    {"f16c", 1, 0, 2, 29, kYmm},
    {"fma", 1, 0, 2, 12, kYmm},
    {"avx2", 7, 0, 1, 5, kYmm},
    {"avx_vnni", 7, 1, 0, 4, kYmm},
    {"avx512f", 7, 0, 1, 16, kZmm},
    {"avx512dq", 7, 0, 1, 17, kZmm},
    {"avx512ifma", 7, 0, 1, 21, kZmm},
    {"avx512cd", 7, 0, 1, 28, kZmm},
    {"avx512bw", 7, 0, 1, 30, kZmm},
    {"avx512vl", 7, 0, 1, 31, kZmm},
    {"avx512vbmi", 7, 0, 2, 1, kZmm},
    {"avx512vbmi2", 7, 0, 2, 6, kZmm},
    {"gfni", 7, 0, 2, 8, kBase},
    {"avx512vnni", 7, 0, 2, 11, kZmm},
    {"avx512bitalg", 7, 0, 2, 12, kZmm},
    {"avx512vpopcntdq", 7, 0, 2, 14, kZmm},
    {"avx512fp16", 7, 0, 3, 23, kZmm},
    {"avx512bf16", 7, 1, 0, 5, kZmm},
    {"amx_bf16", 7, 0, 3, 22, kTiles},
    {"amx_tile", 7, 0, 3, 24, kTiles},
    {"amx_int8", 7, 0, 3, 25, kTiles},
    {"amx_fp16", 7, 1, 0, 21, kTiles},
};

#if defined(__aarch64__)
struct ArmFeature {
  std::string_view name;
  unsigned long auxv;
  uint32_t bit;
};
// linux/arch/arm64 hwcap.h
constexpr ArmFeature kArm[] = {
    {"asimd", AT_HWCAP, 1}, {"asimdhp", AT_HWCAP, 10}, {"asimddp", AT_HWCAP, 20}, {"sve", AT_HWCAP, 22},
    {"sve2", AT_HWCAP2, 1}, {"i8mm", AT_HWCAP2, 13},   {"bf16", AT_HWCAP2, 14},
};
#endif

// avx512_vnni, avx512vnni and avx512-vnni are one name: compilers, the kernel and vendors disagree.
std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_' && c != '.' && c != '-') plain += c;
  }
  return plain;
}

std::string WhyMissingOf(const Feature& feature, const CpuidSource& source) {
  const uint32_t range = feature.leaf & 0x80000000u;
  const bool there = source.cpuid(range, 0)[0] >= feature.leaf &&
                     (feature.subleaf == 0 || source.cpuid(feature.leaf, 0)[0] >= feature.subleaf) &&
                     (source.cpuid(feature.leaf, feature.subleaf)[feature.reg] >> feature.bit & 1) != 0;
  if (!there) return "the CPU lacks it";
  if ((source.xcr0 & feature.state) != feature.state) {
    char text[80];
    std::snprintf(text, sizeof text, "the operating system does not enable its registers (XCR0 = 0x%llx)",
                  static_cast<unsigned long long>(source.xcr0));
    return text;
  }
  if (feature.state == kTiles && !source.amx_permitted) return "the kernel refused AMX permission";
  return "";
}

#if defined(__x86_64__)
std::array<uint32_t, 4> Cpuid(uint32_t leaf, uint32_t subleaf) {
  std::array<uint32_t, 4> r{};
  __cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
  return r;
}

uint64_t ReadXcr0() {
  if ((Cpuid(1, 0)[2] >> 27 & 1) == 0) return 0;  // no OSXSAVE: the instruction would fault
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

// The kernel keeps tile data only for a process that asked (linux/Documentation/arch/x86/xstate.rst).
bool AskForAmx() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  const bool has_tiles = Cpuid(0, 0)[0] >= 7 && (Cpuid(7, 0)[3] >> 24 & 1) != 0;
  return has_tiles && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

}  // namespace

CpuFeatures CpuFeatures::Detect() {
#if defined(__x86_64__)
  return From({Cpuid, ReadXcr0(), AskForAmx()});
#elif defined(__aarch64__)
  CpuFeatures features;
  for (const ArmFeature& feature : kArm) {
    const bool there = (getauxval(feature.auxv) >> feature.bit & 1) != 0;
    features.missing_or_empty_[Plain(feature.name)] = there ? "" : "the CPU lacks it";
  }
  return features;
#else
  return {};
#endif
}

CpuFeatures CpuFeatures::From(const CpuidSource& source) {
  CpuFeatures features;
  for (const Feature& feature : kX86) {
    features.missing_or_empty_[Plain(feature.name)] = WhyMissingOf(feature, source);
  }
  return features;
}

bool CpuFeatures::Has(std::string_view name) const {
  const auto it = missing_or_empty_.find(Plain(name));
  return it != missing_or_empty_.end() && it->second.empty();
}

std::string CpuFeatures::WhyMissing(std::string_view name) const {
  const auto it = missing_or_empty_.find(Plain(name));
  return it == missing_or_empty_.end() ? "this version does not know that name" : it->second;
}

std::vector<std::string> KnownCpuFeatures() {
  std::vector<std::string> names;
#if defined(__x86_64__)
  for (const Feature& feature : kX86) names.emplace_back(feature.name);
#elif defined(__aarch64__)
  for (const ArmFeature& feature : kArm) names.emplace_back(feature.name);
#endif
  return names;
}

std::string_view HostArch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__riscv)
  return "riscv64";
#else
  return "unknown";
#endif
}

}  // namespace motley
