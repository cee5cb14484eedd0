// The kernels of linear in order of preference, and why one is not used. A new one (AMX) is a new row.
#pragma once

#include <string>
#include <string_view>

#include "plugins/cpu_avx512/kernels/kernels.h"
#include "plugins/cpu_avx512/probe.h"

namespace motley::cpu {

struct LinearKernel {
  const char* name;                        // what option `isa` forces
  bool quantised;                          // for the formats of blocks, or for F32, F16, BF16
  LinearFn run;
  bool (*available)(const CpuFeatures&);
  const char* needs;                       // named where it is refused
};

// Best first.
extern const LinearKernel kLinearKernels[];
extern const int kLinearKernelCount;

struct KernelChoice {
  LinearFn quantised = nullptr, floats = nullptr;
  std::string notes;  // one line a kernel: used, or refused because
  std::string fault;  // not empty where `isa` forces what this CPU does not have
};

// isa: "auto", or the name of a quantised kernel.
KernelChoice ChooseKernels(const CpuFeatures& features, std::string_view isa);

}  // namespace motley::cpu
