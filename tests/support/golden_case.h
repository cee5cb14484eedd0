// The golden data of tests/golden, loaded. What it is and how it was made: tests/golden/README.md.
//
//   const GoldenCase golden = *LoadGoldenCase("llama-tied-f32");
//   WriteTinyModel(*golden.spec, path);            // the model these logits belong to
//   ... run golden.tokens[0 .. n) through it; got [n, golden.n_vocab] ...
//   CompareLogits(golden.Rows(n), got, n, golden.n_vocab, NearTieTolerance("f32"));
//
// The models are causal, so the first n rows are the logits of the first n tokens, whatever n.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/format.h"
#include "tests/support/near_tie.h"
#include "tests/support/tiny_model.h"

namespace motley::test {

// tests/golden of the source tree.
std::filesystem::path GoldenFolder();

struct GoldenCase {
  const TinyModelSpec* spec = nullptr;
  std::vector<int32_t> tokens;      // [n_positions]
  int64_t n_prompt = 0;             // tokens behind these are the reference's own greedy choices
  int64_t n_vocab = 0;
  double min_gap = 0;               // the smallest top-2 gap over all positions
  double min_gap_generated = 0;     // the same over the positions that chose a token: n_prompt - 1 .. n_positions - 2
  std::vector<double> logits;       // [n_positions, n_vocab]
  struct TensorSum { std::string name; uint64_t checksum; };
  std::vector<TensorSum> tensors;   // Checksum() of each tensor's stored bytes

  int64_t n_positions() const { return static_cast<int64_t>(tokens.size()); }
  std::span<const double> Rows(int64_t n) const { return std::span(logits).first(static_cast<size_t>(n * n_vocab)); }
};

// name: one of TinyModels().
StatusOr<GoldenCase> LoadGoldenCase(std::string_view name);

// Blocks of one format with their values by the `gguf` package, for tests of a dequantiser, bit for bit.
struct GoldenDequant {
  Format format = Format::kF32;
  std::vector<uint8_t> blocks;      // n_blocks whole blocks, made on the spot and checked against their checksum
  int64_t n_elems = 0;              // that `blocks` hold
  std::vector<float> first;         // the values of the first elements: compare the bits, -0 is not +0
  uint64_t values_checksum = 0;     // Checksum() of the bytes of all n_elems float32 values, NaNs as 0x7fc00000
};

// Formats that have dequantisation goldens.
StatusOr<std::vector<Format>> GoldenDequantFormats();
StatusOr<GoldenDequant> LoadGoldenDequant(Format format);
// Likewise of RawBlocks, whose scales are NaN, infinite and subnormal too; `first` is empty.
StatusOr<GoldenDequant> LoadRawGoldenDequant(Format format);
// OK where `values` are, bit for bit, what the package makes of golden.blocks; else names the first that is not,
// as far as the committed values tell. Any NaN is as good as another.
Status CheckDequant(const GoldenDequant& golden, std::span<const float> values);

// SmolLM2-135M-Instruct by a float32 torch model with the same dequantised weights.
struct SmolPrompt {
  std::string text;
  std::vector<int32_t> tokens;      // [n_positions]: the prompt, then 64 greedy tokens
  int64_t n_prompt = 0;
  std::vector<float> gap;           // [n_positions] the top-2 gap of the logits at each position
  std::vector<int32_t> argmax;      // [n_positions]
  std::vector<float> mean;          // [n_positions] of the whole row
  std::vector<float> variance;      // [n_positions] of the whole row
  std::vector<float> sample;        // [n_positions, sample_ids] logits at those ids
};
struct SmolGolden {
  int64_t n_vocab = 0;
  std::vector<int32_t> sample_ids;  // ascending
  std::vector<SmolPrompt> prompts;
  std::string text;                 // of the perplexity
  std::vector<int32_t> text_tokens;
  struct Perplexity { int64_t context; int64_t scored; double value; };
  std::vector<Perplexity> perplexity;  // of text_tokens in windows of `context` tokens
};
StatusOr<SmolGolden> LoadSmolGolden();

// Near-tie-same by the committed sample: got [n_positions, n_vocab]. NMSE is estimated from the sampled ids, centred
// by the whole rows' means and scaled by the whole row's variance.
NearTieReport CompareSmol(const SmolGolden& golden, const SmolPrompt& prompt, std::span<const float> got,
                          Tolerance tolerance);

}  // namespace motley::test
