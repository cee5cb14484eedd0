#include "plugins/cpu_avx512/kernel_table.h"

namespace motley::cpu {

const LinearKernel kLinearKernels[] = {
    {"vnni", true, LinearVnni, [](const CpuFeatures& f) { return f.avx512vnni; }, "avx512_vnni"},
    {"avx512bw", true, LinearBw, [](const CpuFeatures& f) { return f.avx512bw; }, "avx512bw"},
    // vdpbf16ps runs at half the rate of f32 FMA where both were measured, and rounds activations: not worth a row.
    {"f32", false, LinearFloat, [](const CpuFeatures& f) { return f.avx512f; }, "avx512f"},
};
const int kLinearKernelCount = sizeof kLinearKernels / sizeof kLinearKernels[0];

KernelChoice ChooseKernels(const CpuFeatures& features, std::string_view isa) {
  KernelChoice choice;
  for (int i = 0; i < kLinearKernelCount; ++i) {
    const LinearKernel& kernel = kLinearKernels[i];
    LinearFn* slot = kernel.quantised ? &choice.quantised : &choice.floats;
    const bool asked = !kernel.quantised || isa == "auto" || isa == kernel.name;
    const bool available = kernel.available(features);
    const char* verdict = !available ? "refused: this CPU has no " : !asked ? "refused: option isa forces another"
                          : *slot    ? "not needed: a better one is used" : "used";
    choice.notes += std::string(i ? "; " : "") + "linear " + kernel.name + " " + verdict + (available ? "" : kernel.needs);
    if (available && asked && *slot == nullptr) *slot = kernel.run;
    if (!available && kernel.quantised && isa == kernel.name) {
      choice.fault = "isa = " + std::string(isa) + ": this CPU has no " + kernel.needs + "; auto takes what it has";
    }
  }
  return choice;
}

}  // namespace motley::cpu
