#include "plugins/cpu_avx512/probe.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

namespace motley::cpu {
namespace {

CpuidRegisters Cpuid(uint32_t leaf, uint32_t sub_leaf) {
  CpuidRegisters r{};
  __cpuid_count(leaf, sub_leaf, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

uint64_t Xcr0() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

// Linux gives tiles (8 KiB of state a thread) only to processes that ask: Documentation/arch/x86/xstate.rst.
bool PermitTiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

void Need(bool present, const char* name, std::string* missing) {
  if (present) return;
  if (!missing->empty()) *missing += ", ";
  *missing += name;
}

void NeedState(bool saved, const char* registers, uint64_t xcr0, uint64_t needed, std::string* missing) {
  char text[96];
  std::snprintf(text, sizeof text, "the system's support of %s registers (XCR0 = 0x%llx, needs 0x%llx)", registers,
                static_cast<unsigned long long>(xcr0), static_cast<unsigned long long>(needed));
  Need(saved, text, missing);
}

}  // namespace

const CpuSource& ThisCpu() {
  static constexpr CpuSource kSource = {Cpuid, Xcr0, PermitTiles};
  return kSource;
}

CpuFeatures ProbeCpu(const CpuSource& source) {
  CpuFeatures f;
  const uint32_t last_leaf = source.cpuid(0, 0).eax;
  const CpuidRegisters one = source.cpuid(1, 0);
  const CpuidRegisters seven = last_leaf >= 7 ? source.cpuid(7, 0) : CpuidRegisters{};
  const CpuidRegisters seven_one = seven.eax >= 1 ? source.cpuid(7, 1) : CpuidRegisters{};
  f.fma = one.ecx >> 12 & 1;
  f.f16c = one.ecx >> 29 & 1;
  f.avx2 = seven.ebx >> 5 & 1;
  f.avx512f = seven.ebx >> 16 & 1;
  f.avx512dq = seven.ebx >> 17 & 1;
  f.avx512bw = seven.ebx >> 30 & 1;
  f.avx512vl = seven.ebx >> 31 & 1;
  f.avx512vnni = seven.ecx >> 11 & 1;
  f.amx_int8 = seven.edx >> 24 & seven.edx >> 25 & 1;  // tiles, and int8 products of them
  f.avx512bf16 = seven_one.eax >> 5 & 1;
  Need(f.avx2, "avx2", &f.missing);
  Need(f.fma, "fma", &f.missing);
  Need(f.f16c, "f16c", &f.missing);
  Need(f.avx512f, "avx512f", &f.missing_avx512);
  Need(f.avx512bw, "avx512bw", &f.missing_avx512);
  Need(f.avx512vl, "avx512vl", &f.missing_avx512);
  Need(f.avx512dq, "avx512dq", &f.missing_avx512);
  // SSE, AVX; then opmask, upper halves of zmm0-15, zmm16-31.
  constexpr uint64_t kYmmState = 0x06, kZmmState = 0xe6;
  const bool osxsave = one.ecx >> 27 & 1;
  const uint64_t xcr0 = osxsave ? source.xcr0() : 0;
  f.system_saves_ymm = (xcr0 & kYmmState) == kYmmState;
  f.system_saves_zmm = (xcr0 & kZmmState) == kZmmState;
  NeedState(f.system_saves_ymm, "ymm", xcr0, kYmmState, &f.missing);
  constexpr uint64_t kTileState = 0x60000;
  f.system_grants_tiles = f.amx_int8 && (xcr0 & kTileState) == kTileState && source.permit_tiles();
  NeedState(f.system_saves_zmm, "zmm", xcr0, kZmmState, &f.missing_avx512);
  return f;
}

}  // namespace motley::cpu
