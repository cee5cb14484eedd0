// Which features this CPU has and the system lets programs use. Baseline code: runs on any x86-64.
#pragma once

#include <cstdint>
#include <string>

namespace motley::cpu {

// What CPUID and XGETBV say; tests make their own.
struct CpuidRegisters {
  uint32_t eax, ebx, ecx, edx;
};
struct CpuSource {
  CpuidRegisters (*cpuid)(uint32_t leaf, uint32_t sub_leaf);
  uint64_t (*xcr0)();        // called only where CPUID says that it may be
  bool (*permit_tiles)();    // asks the system for AMX tiles in this process; only where XCR0 has them
};
const CpuSource& ThisCpu();

struct CpuFeatures {
  // Names as in /proc/cpuinfo. All of the first group are needed.
  bool avx2 = false, fma = false, f16c = false;
  bool avx512f = false, avx512bw = false, avx512vl = false, avx512dq = false;
  bool avx512vnni = false, avx512bf16 = false, amx_int8 = false;
  bool system_saves_ymm = false, system_saves_zmm = false;  // XCR0
  bool system_grants_tiles = false;                         // XCR0, and the process was permitted to use them

  bool usable() const { return missing.empty(); }
  bool has_avx512() const { return usable() && missing_avx512.empty(); }
  // "avx2, fma", or that the system does not save the registers.
  std::string missing;         // of what is needed at all
  std::string missing_avx512;  // of what the faster kernels need besides
};

CpuFeatures ProbeCpu(const CpuSource& source);

}  // namespace motley::cpu
