#include "plugins/cpu_avx512/kernel_table.h"

namespace motley::cpu {

// vdpbf16ps runs at half the rate of f32 FMA where both were measured, and rounds activations: not worth a row.
const KernelRow kKernelRows[] = {
    // Slower than vnni where both were measured (docs/decisions/039), so "auto" leaves it alone.
    {"amx", &avx512::kKernels, &Kernels::linear_amx,
     [](const CpuFeatures& f) { return f.has_avx512() && f.avx512vnni && f.amx_int8 && f.system_grants_tiles; },
     "amx_int8 with avx512_vnni, or the system does not grant tiles", false},
    {"vnni", &avx512::kKernels, &Kernels::linear_vnni,
     [](const CpuFeatures& f) { return f.has_avx512() && f.avx512vnni; }, "avx512_vnni", true},
    {"avx512bw", &avx512::kKernels, &Kernels::linear_bw, [](const CpuFeatures& f) { return f.has_avx512(); },
     "AVX-512 F, BW, VL, DQ", true},
    {"avx2", &avx2::kKernels, &Kernels::linear_bw, [](const CpuFeatures& f) { return f.usable(); }, "avx2", true},
};
const int kKernelRowCount = sizeof kKernelRows / sizeof kKernelRows[0];

KernelChoice ChooseKernels(const CpuFeatures& features, std::string_view isa) {
  KernelChoice choice;
  for (const KernelRow& row : kKernelRows) {
    const bool asked = isa == row.name || (isa == "auto" && row.automatic), available = row.available(features);
    const char* verdict = !available       ? "refused: this CPU or system has no "
                          : !asked         ? (isa == "auto" ? "not used: only where option isa forces it" : "refused: option isa forces another")
                          : choice.table   ? "not needed: a better one is used"
                                           : "used";
    if (!choice.notes.empty()) choice.notes += "; ";
    choice.notes += std::string("kernels ") + row.name + " " + verdict + (available ? "" : row.needs);
    if (available && asked && choice.table == nullptr) {
      choice.table = row.table;
      choice.quantised = row.table->*row.linear;
    }
    if (!available && isa == row.name) {
      choice.fault = "isa = " + std::string(isa) + ": this CPU or system has no " + row.needs + "; auto takes what it has";
    }
  }
  return choice;
}

}  // namespace motley::cpu
