// CpuFeatures: which instruction sets this processor has *and* the operating system lets us use.
//
// Names are lower case: "avx2", "avx512f", "avx512vnni", "amx_int8"; all of them are in KnownCpuFeatures(). `_`, `.`
// and `-` in a name do not count, as compilers and kernel disagree ("avx512_vnni" is "avx512vnni"). Baseline code
// only, so that it runs on any machine of the architecture.
// Plain values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace motley {

// What the features are derived from; tests make their own.
struct CpuidSource {
  // Registers eax, ebx, ecx, edx of CPUID(leaf, subleaf).
  std::function<std::array<uint32_t, 4>(uint32_t leaf, uint32_t subleaf)> cpuid;
  uint64_t xcr0 = 0;            // what the operating system saves and restores; 0 where there is no OSXSAVE
  bool amx_permitted = false;   // the kernel granted this process the tile data
};

class CpuFeatures {
 public:
  // Nothing at all: what a machine of an unknown architecture has.
  CpuFeatures() = default;

  // Of this machine. Asks the kernel for AMX permission where the processor has AMX (a process may then use it).
  static CpuFeatures Detect();
  static CpuFeatures From(const CpuidSource& source);

  bool Has(std::string_view name) const;
  // Why a feature is missing: "the CPU lacks it", "the operating system does not enable its registers (XCR0 = 0x7)",
  // "the kernel refused AMX permission", or "this version does not know that name". "" where it is present.
  std::string WhyMissing(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> missing_or_empty_;  // known name -> why missing, "" = present
};

// Every name that can be asked for on this architecture.
std::vector<std::string> KnownCpuFeatures();

// "x86_64", "aarch64", ...: the architecture this program was built for.
std::string_view HostArch();

}  // namespace motley
