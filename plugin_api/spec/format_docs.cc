// Prints plugin_api/spec/formats.md from the format table. To refresh it: build motley_format_docs, run it into the
// file.
#include <motley/dequant.hpp>

#include <cstdio>
#include <cstring>

namespace {

struct Layout {
  uint32_t format;
  const char* text;
};

namespace id = motley::plugin::format_id;

// d, dmin: f16. "a[n]" are n bytes. Elements in the order of the row; a value in terms of its code q.
constexpr Layout kLayouts[] = {
    {id::kF32, "IEEE 754"},
    {id::kF16, "IEEE 754"},
    {id::kBF16, "the upper half of an F32"},
    {id::kF64, "IEEE 754; no weight"},
    {id::kI8, "no weight"},
    {id::kI16, "no weight"},
    {id::kI32, "no weight; ids and other step data"},
    {id::kI64, "no weight"},
    {id::kU8, "no weight; KV pages"},
    {id::kU32, "no weight"},
    {id::kQ4_0, "d, qs[16]: element j low nibble, j + 16 high; (q - 8) d"},
    {id::kQ4_1, "d, m (f16), qs[16] as Q4_0; q d + m"},
    {id::kQ5_0, "d, qh[4], qs[16]: bit j of qh is element j's fifth; (q - 16) d"},
    {id::kQ5_1, "d, m (f16), qh[4], qs[16]; q d + m"},
    {id::kQ8_0, "d, int8 q[32]; q d"},
    {id::kQ2_K, "scales[16] (scale low, min high), qs[64], d, dmin; d scale q - dmin min"},
    {id::kQ3_K, "hmask[32], qs[64], scales[12] (16 of 6 bits, - 32), d; d scale (q - 4)"},
    {id::kQ4_K, "d, dmin, scales[12] (8 scales and 8 mins of 6 bits), qs[128]; d scale q - dmin min"},
    {id::kQ5_K, "d, dmin, scales[12], qh[32], qs[128]; d scale q - dmin min"},
    {id::kQ6_K, "ql[128], qh[64], int8 scales[16], d; d scale (q - 32)"},
    {id::kIQ1_S, "d, qs[32], u16 qh[8]: points of 8 in a grid of 2048, a scale and the sign of a shift of 1/8 for 32"},
    {id::kIQ1_M, "qs[32], qh[16], u16 scales[4] with d in their high nibbles: as IQ1_S, shifts for 8, scales for 16"},
    {id::kIQ2_XXS, "d, for 32: four points of 8 in a grid of 256, u32 of four times 7 signs and a scale; signs even"},
    {id::kIQ2_XS, "d, u16 qs[32] (9 bits of a point, 7 signs), scales[8]: a nibble for 16"},
    {id::kIQ2_S, "d, qs[32], signs[32], qh[8], scales[8]: points of 8 in a grid of 1024"},
    {id::kIQ3_XXS, "d, qs[64], for 32 a u32 of four times 7 signs and a scale: points of 4 in a grid of 256"},
    {id::kIQ3_S, "d, qs[64], qh[8], signs[32], scales[4]: points of 4 in a grid of 512"},
    {id::kIQ4_NL, "d, qs[16] as Q4_0, into a table of 16 values; d table[q]"},
    {id::kIQ4_XS, "d, u16 scales_h, scales_l[4] (8 of 6 bits, - 32), qs[128]; d scale table[q]"},
    {id::kMXFP4, "e (E8M0), qs[16] as Q4_0; 2^(e - 127) e2m1[q]"},
    {id::kNVFP4, "four UE4M3 scales, qs[32]: of 16 elements j low nibble, j + 8 high; scale e2m1[q]; a factor beside it"},
};

const char* Text(uint32_t format) {
  for (const Layout& layout : kLayouts) {
    if (layout.format == format) return layout.text;
  }
  return "?";
}

}  // namespace

int main() {
  std::printf(
      "# Formats\n\n"
      "Made from `include/motley/format_table.inc` by `spec/format_docs.cc`; a test compares the two. Bit by bit they\n"
      "are defined by `include/motley/dequant.hpp`, which equals the Python package gguf on all bits, NaN and infinite\n"
      "scales included: a scale that is not finite makes values that are not.\n\n"
      "A block holds consecutive elements of a tensor's last dim. d and dmin are f16.\n\n"
      "| id | format | elements | bytes | a block |\n|---|---|---|---|---|\n");
  for (const motley::plugin::FormatRow& row : motley::plugin::kFormatRows) {
    std::printf("| %u | %s | %u | %u | %s |\n", row.id, row.name, row.block_elems, row.block_bytes, Text(row.id));
  }
  std::printf(
      "\n## Weights of several parts\n\n"
      "`motley_weight.parts` of a GGUF tensor is one part of role DATA. Where the file holds a factor beside it (the\n"
      "tensor NAME.scale of NVFP4) a second part of role SCALE2 follows: one F32 by which every value of the weight is\n"
      "multiplied, so `linear` gives (x weight^T) scale + bias and `embed` scale weight[token]. Layout STORED has no room\n"
      "for it: `weight_plan` refuses that with UNIMPLEMENTED, and the host asks for the verdict's next layout. A plugin\n"
      "without any refuses the weight, never its factor. INPUT_SCALE is for activations in FP4; the host gives it to\n"
      "nobody yet.\n\n"
      "## Tolerances\n\n"
      "NMSE against double arithmetic over the dequantised values:\n\n"
      "| | at most |\n|---|---|\n"
      "| `embed` | 0 |\n"
      "| `linear`, reference | 1e-13 |\n"
      "| `linear`, any rounding of activations | 5e-4 |\n"
      "| `attention`, pages in F32 | 1e-9 |\n"
      "| F16 | 1e-6 |\n"
      "| BF16 | 5e-5 |\n"
      "| Q8_0 | 2e-4 |\n"
      "| Q4_0 | 5e-2 |\n"
      "\n"
      "Pages in Q8_0 and Q4_0 share a scale among 32 values of one head: head dims must be multiples of 32, and other\n"
      "pairs are refused by `kv_plan`. A value that is not finite makes rows that attend to it NaN, and no others.\n");
  return 0;
}
