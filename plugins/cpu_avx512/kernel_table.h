// The kernels in order of preference, and why one is not used. A new one (AMX) is a new row.
#pragma once

#include <string>
#include <string_view>

#include "plugins/cpu_avx512/kernels/kernels.h"
#include "plugins/cpu_avx512/probe.h"

namespace motley::cpu {

struct KernelRow {
  const char* name;                  // what option `isa` forces
  const Kernels* table;
  LinearFn Kernels::*linear;         // of quantised weights
  bool (*available)(const CpuFeatures&);
  const char* needs;                 // named where it is refused
  bool automatic;                    // false: used only where `isa` forces it
};

// Best first.
extern const KernelRow kKernelRows[];
extern const int kKernelRowCount;

struct KernelChoice {
  const Kernels* table = nullptr;
  LinearFn quantised = nullptr;      // of the table
  std::string notes;                 // one line a row: used, or refused because
  std::string fault;                 // not empty where `isa` forces what this CPU does not have
};

// isa: "auto", or the name of a row. The features are usable().
KernelChoice ChooseKernels(const CpuFeatures& features, std::string_view isa);

}  // namespace motley::cpu
