// Tiny random models of the supported architectures, made on the spot: GGUF files that load and run, with weights
// that are a function of a seed (random_blocks.h). Their logits by another implementation are in tests/golden/tiny.
//
//   const TinyModelSpec* spec = FindTinyModel("llama-tied-f32");
//   ASSERT_TRUE(WriteTinyModel(*spec, dir.path() / "tiny.gguf").ok());
//
// A test may also copy a spec and change it; only the named ones have golden logits.
// Vocabulary: 320 tokens of a byte-level BPE (model gpt2): 0 <|endoftext|>, 1 <|im_start|>, 2 <|im_end|> (control
// tokens; BOS, EOS as in SmolLM2, add_bos_token false), the 256 bytes, and 61 merges. Any text tokenizes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/format.h"
#include "tests/support/gguf_writer.h"

namespace motley::test {

enum class TinyRope : uint8_t {
  kPlain,
  kLinear,  // scaling.type = linear, factor 4
  kLlama3,  // rope_freqs.weight: llama3's rule with factor 8, low 1, high 4, original context 64
};

struct TinyModelSpec {
  std::string_view name;
  std::string_view arch;           // "llama" or "qwen3"
  Format format = Format::kF32;    // of embedding, head and linear weights; norms are F32
  int64_t hidden = 0;
  int64_t ffn = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  bool tied = false;               // no output.weight
  bool key_length = true;          // writes attention.key_length and value_length; else head_dim = hidden / heads
  TinyRope rope = TinyRope::kPlain;
  float rope_theta = 10000;
  float rms_eps = 1e-5f;
  std::string_view pre = "smollm"; // tokenizer.ggml.pre
  uint64_t seed = 0;
};

inline constexpr int64_t kTinyVocab = 320;
inline constexpr int64_t kTinyContext = 512;  // context_length in the file

// The models that have golden logits.
std::span<const TinyModelSpec> TinyModels();
// nullptr where there is none of that name.
const TinyModelSpec* FindTinyModel(std::string_view name);

struct TinyTensor {
  std::string name;
  Format format = Format::kF32;
  std::vector<int64_t> dims;   // outermost first: [n_out, n_in] or [n]
  std::vector<uint8_t> bytes;  // as stored
};

StatusOr<std::vector<TinyTensor>> MakeTinyTensors(const TinyModelSpec& spec);
// The whole file before it is written, so that a test may break it first.
StatusOr<GgufWriter> MakeTinyModel(const TinyModelSpec& spec);
Status WriteTinyModel(const TinyModelSpec& spec, const std::filesystem::path& path);

}  // namespace motley::test
