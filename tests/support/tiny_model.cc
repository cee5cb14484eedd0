#include "tests/support/tiny_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <numbers>

#include "tests/support/counter_random.h"
#include "tests/support/random_blocks.h"

namespace motley::test {
namespace {

// The models of the F32 goldens differ in shape; those of the other formats are of one shape an architecture, with
// rows that K-quants divide.
constexpr TinyModelSpec Shaped(std::string_view name, std::string_view arch, int64_t hidden, int64_t ffn,
                               int64_t layers, int64_t heads, int64_t kv_heads, int64_t head_dim, bool tied,
                               TinyRope rope, float theta, float eps, std::string_view pre, uint64_t seed) {
  TinyModelSpec spec;
  spec.name = name;
  spec.arch = arch;
  spec.hidden = hidden;
  spec.ffn = ffn;
  spec.layers = layers;
  spec.heads = heads;
  spec.kv_heads = kv_heads;
  spec.head_dim = head_dim;
  spec.tied = tied;
  spec.key_length = name != "llama-tied-f32";  // one without, as SmolLM2 is
  spec.rope = rope;
  spec.rope_theta = theta;
  spec.rms_eps = eps;
  spec.pre = pre;
  spec.seed = seed;
  return spec;
}

constexpr TinyModelSpec InFormat(std::string_view name, std::string_view arch, Format format, uint64_t seed) {
  TinyModelSpec spec = arch == "llama"
      ? Shaped(name, arch, 256, 512, 2, 8, 2, 32, false, TinyRope::kPlain, 1e4f, 1e-5f, "llama-bpe", seed)
      : Shaped(name, arch, 256, 512, 2, 8, 4, 64, true, TinyRope::kPlain, 1e6f, 1e-6f, "qwen2", seed);
  spec.format = format;
  return spec;
}

constexpr TinyModelSpec kModels[] = {
    Shaped("llama-tied-f32", "llama", 96, 160, 3, 6, 2, 16, true, TinyRope::kPlain, 1e4f, 1e-5f, "smollm", 10101),
    Shaped("llama-untied-f32", "llama", 64, 192, 4, 4, 1, 16, false, TinyRope::kPlain, 1e5f, 1e-6f, "gpt-2", 47102),
    Shaped("llama-linear-f32", "llama", 128, 224, 2, 4, 4, 32, false, TinyRope::kLinear, 1e4f, 1e-5f, "smollm", 2103),
    Shaped("llama-rope3-f32", "llama", 128, 256, 2, 4, 2, 32, true, TinyRope::kLlama3, 5e5f, 1e-5f, "llama-bpe", 9104),
    Shaped("qwen3-f32", "qwen3", 128, 320, 3, 6, 2, 32, false, TinyRope::kPlain, 1e6f, 1e-6f, "qwen2", 4105),
    InFormat("llama-f16", "llama", Format::kF16, 201),    InFormat("qwen3-f16", "qwen3", Format::kF16, 301),
    InFormat("llama-bf16", "llama", Format::kBF16, 202),  InFormat("qwen3-bf16", "qwen3", Format::kBF16, 302),
    InFormat("llama-q8_0", "llama", Format::kQ8_0, 203),  InFormat("qwen3-q8_0", "qwen3", Format::kQ8_0, 303),
    InFormat("llama-q4_0", "llama", Format::kQ4_0, 204),  InFormat("qwen3-q4_0", "qwen3", Format::kQ4_0, 304),
    InFormat("llama-q4_1", "llama", Format::kQ4_1, 205),  InFormat("qwen3-q4_1", "qwen3", Format::kQ4_1, 305),
    InFormat("llama-q4_k", "llama", Format::kQ4_K, 206),  InFormat("qwen3-q4_k", "qwen3", Format::kQ4_K, 306),
    InFormat("llama-q6_k", "llama", Format::kQ6_K, 207),  InFormat("qwen3-q6_k", "qwen3", Format::kQ6_K, 307),
    InFormat("llama-q5_0", "llama", Format::kQ5_0, 400),
    InFormat("llama-q5_1", "llama", Format::kQ5_1, 401),
    InFormat("llama-q2_k", "llama", Format::kQ2_K, 402),
    InFormat("llama-q3_k", "llama", Format::kQ3_K, 403),
    InFormat("llama-q5_k", "llama", Format::kQ5_K, 404),
    InFormat("llama-iq4_nl", "llama", Format::kIQ4_NL, 405),
    InFormat("llama-iq4_xs", "llama", Format::kIQ4_XS, 406),
    InFormat("llama-mxfp4", "llama", Format::kMXFP4, 407),
    InFormat("llama-nvfp4", "llama", Format::kNVFP4, 408),
    InFormat("llama-iq1_s", "llama", Format::kIQ1_S, 409),
    InFormat("llama-iq1_m", "llama", Format::kIQ1_M, 410),
    InFormat("llama-iq2_xxs", "llama", Format::kIQ2_XXS, 411),
    InFormat("llama-iq2_xs", "llama", Format::kIQ2_XS, 412),
    InFormat("llama-iq2_s", "llama", Format::kIQ2_S, 413),
    InFormat("llama-iq3_xxs", "llama", Format::kIQ3_XXS, 414),
    InFormat("llama-iq3_s", "llama", Format::kIQ3_S, 415),
};

// A matrix of n_in inputs: weights in (-2^this, 2^this), so that unit inputs give outputs a little above unit size.
int AmplitudeLog2(int64_t n_in) { return 1 - (std::bit_width(static_cast<uint64_t>(n_in)) - 1) / 2; }

// llama3's rule with factor 8, low 1, high 4, original context 64: divisors of the frequencies. Double until the
// end: the bytes must not depend on a libm's last bit of float.
std::vector<uint8_t> Llama3Divisors(double theta, int64_t head_dim) {
  std::vector<uint8_t> out(static_cast<size_t>(head_dim / 2) * 4);
  for (int64_t i = 0; i < head_dim / 2; ++i) {
    const double wavelength = 2 * std::numbers::pi * std::pow(theta, 2.0 * i / head_dim);
    double divisor = 1;
    if (wavelength > 64) {
      divisor = 8;
    } else if (wavelength >= 16) {
      const double smooth = (64 / wavelength - 1) / 3;
      divisor = 1 / ((1 - smooth) / 8 + smooth);
    }
    const float value = static_cast<float>(divisor);
    std::memcpy(&out[i * 4], &value, 4);
  }
  return out;
}

constexpr int kScaledLog2 = 6;  // RandomScale is in [2^-7, 2^-6)

class TensorMaker {
 public:
  explicit TensorMaker(const TinyModelSpec& spec) : spec_(spec) {}

  void Norm(const std::string& name, int64_t n) {
    tensors_.push_back({name, Format::kF32, {n}, RandomNormWeights(n, CounterRandom(spec_.seed, name))});
  }

  void Matrix(const std::string& name, int64_t n_out, int64_t n_in, int amplitude_log2) {
    // What lies in ue4m3's range is small; the factors bring it down.
    const bool scaled = spec_.format == Format::kNVFP4 && name != "token_embd.weight";
    Stored(name, n_out, n_in, amplitude_log2 + (scaled ? kScaledLog2 : 0));
    if (scaled) Scales(name.substr(0, name.size() - std::string_view("weight").size()));
  }
  void Matrix(const std::string& name, int64_t n_out, int64_t n_in) { Matrix(name, n_out, n_in, AmplitudeLog2(n_in)); }

  void Stored(const std::string& name, int64_t n_out, int64_t n_in, int amplitude_log2) {
    if (status_.ok()) status_ = FormatBytes(spec_.format, n_in).status().WithPrefix(name);  // whole blocks in a row
    if (!status_.ok()) return;
    auto bytes = RandomWeights(spec_.format, n_out * n_in, amplitude_log2, CounterRandom(spec_.seed, name));
    if (!bytes.ok()) {
      status_ = bytes.status().WithPrefix(name);
      return;
    }
    tensors_.push_back({name, spec_.format, {n_out, n_in}, *std::move(bytes)});
  }

  // The factors that stand beside a matrix in NVFP4. The second is of activations in FP4: it changes nothing where
  // they are not.
  void Scales(const std::string& base) {
    tensors_.push_back({base + "scale", Format::kF32, {1}, RandomScale(CounterRandom(spec_.seed, base + "scale"))});
    tensors_.push_back({base + "input_scale", Format::kF32, {1}, {0, 0, 0x80, 0x3e}});  // 0.25
  }

  void Layer(int64_t index) {
    const std::string p = "blk." + std::to_string(index) + ".";
    const int64_t q = spec_.heads * spec_.head_dim, kv = spec_.kv_heads * spec_.head_dim;
    Norm(p + "attn_norm.weight", spec_.hidden);
    // llama's queries one octave lower: its scores aren't normalised, and a peaky softmax amplifies rounding.
    Matrix(p + "attn_q.weight", q, spec_.hidden, AmplitudeLog2(spec_.hidden) - (spec_.arch == "llama" ? 1 : 0));
    Matrix(p + "attn_k.weight", kv, spec_.hidden);
    Matrix(p + "attn_v.weight", kv, spec_.hidden);
    Matrix(p + "attn_output.weight", spec_.hidden, q);
    if (spec_.arch == "qwen3") {
      Norm(p + "attn_q_norm.weight", spec_.head_dim);
      Norm(p + "attn_k_norm.weight", spec_.head_dim);
    }
    Norm(p + "ffn_norm.weight", spec_.hidden);
    Matrix(p + "ffn_gate.weight", spec_.ffn, spec_.hidden);
    Matrix(p + "ffn_up.weight", spec_.ffn, spec_.hidden);
    Matrix(p + "ffn_down.weight", spec_.hidden, spec_.ffn);
  }

  StatusOr<std::vector<TinyTensor>> Make() {
    Matrix("token_embd.weight", kTinyVocab, spec_.hidden);
    if (spec_.rope == TinyRope::kLlama3) {
      tensors_.push_back({"rope_freqs.weight", Format::kF32, {spec_.head_dim / 2},
                          Llama3Divisors(spec_.rope_theta, spec_.head_dim)});
    }
    for (int64_t i = 0; i < spec_.layers; ++i) Layer(i);
    Norm("output_norm.weight", spec_.hidden);
    if (!spec_.tied) Matrix("output.weight", kTinyVocab, spec_.hidden);
    if (!status_.ok()) return status_;
    return std::move(tensors_);
  }

 private:
  const TinyModelSpec& spec_;
  std::vector<TinyTensor> tensors_;
  Status status_;
};

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else {
    out->push_back(static_cast<char>(0xC0 | code >> 6));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

// How byte-level BPE writes a byte: itself where it is a visible character of Latin-1, else 256, 257, … in order.
std::vector<std::string> ByteTokens() {
  std::vector<std::string> tokens;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    tokens.emplace_back();
    AppendUtf8(visible ? byte : next++, &tokens.back());
  }
  return tokens;
}

// 61 merges, each of two tokens that are there by then. "_" stands for the space's token.
constexpr std::string_view kMerges[] = {
    "_ t", "_ a", "h e", "i n", "r e", "o n", "_t he", "e r", "_ s", "a t", "_ w", "_ o", "e n", "_ c",
    "i t", "i s", "a n", "o r", "e s", "_ b", "e d", "_ f", "in g", "_ p", "o u", "_a n", "a l", "a r",
    "_t o", "_ m", "_o f", "_ in", "_ d", "_ h", "_an d", "i c", "a s", "l e", "_t h", "i on", "o m", "l l",
    "en t", "_ n", "_ l", "s t", "_ re", "v e", "_ e", "r o", "l y", "_b e", "_ g", "_ T", "c t", "_ S",
    "i d", "o t", "_ I", "u t", "e t"};
static_assert(3 + 256 + std::size(kMerges) == kTinyVocab);

void SetTokenizer(const TinyModelSpec& spec, GgufWriter* gguf) {
  std::vector<std::string> tokens = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  std::vector<int32_t> types(kTinyVocab, 1);
  std::fill_n(types.begin(), tokens.size(), 3);
  for (std::string& token : ByteTokens()) tokens.push_back(std::move(token));
  std::vector<std::string> merges;
  for (std::string_view merge : kMerges) {
    std::string text;
    for (char c : merge) c == '_' ? text += "\u0120" : text += c;
    merges.push_back(text);
    text.erase(text.find(' '), 1);
    tokens.push_back(text);
  }
  gguf->SetString("tokenizer.ggml.model", "gpt2").SetString("tokenizer.ggml.pre", spec.pre);
  gguf->SetStrings("tokenizer.ggml.tokens", tokens).SetI32s("tokenizer.ggml.token_type", types);
  gguf->SetStrings("tokenizer.ggml.merges", merges);
  gguf->SetU32("tokenizer.ggml.bos_token_id", 1).SetU32("tokenizer.ggml.eos_token_id", 2);
  gguf->SetBool("tokenizer.ggml.add_bos_token", false);
}

void SetHyperParameters(const TinyModelSpec& spec, GgufWriter* gguf) {
  const std::string p = std::string(spec.arch) + ".";
  gguf->SetString("general.architecture", spec.arch).SetString("general.name", spec.name);
  gguf->SetU32(p + "block_count", spec.layers).SetU32(p + "context_length", kTinyContext);
  gguf->SetU32(p + "embedding_length", spec.hidden).SetU32(p + "feed_forward_length", spec.ffn);
  gguf->SetU32(p + "attention.head_count", spec.heads).SetU32(p + "attention.head_count_kv", spec.kv_heads);
  if (spec.key_length) {
    gguf->SetU32(p + "attention.key_length", spec.head_dim).SetU32(p + "attention.value_length", spec.head_dim);
    gguf->SetU32(p + "rope.dimension_count", spec.head_dim);
  }
  gguf->SetF32(p + "attention.layer_norm_rms_epsilon", spec.rms_eps);
  gguf->SetF32(p + "rope.freq_base", spec.rope_theta).SetU32(p + "vocab_size", kTinyVocab);
  if (spec.rope == TinyRope::kLinear) {
    gguf->SetString(p + "rope.scaling.type", "linear").SetF32(p + "rope.scaling.factor", 4);
  }
}

}  // namespace

std::span<const TinyModelSpec> TinyModels() { return kModels; }

const TinyModelSpec* FindTinyModel(std::string_view name) {
  const auto model = std::find_if(std::begin(kModels), std::end(kModels), [&](const TinyModelSpec& spec) {
    return spec.name == name;
  });
  return model == std::end(kModels) ? nullptr : model;
}

StatusOr<std::vector<TinyTensor>> MakeTinyTensors(const TinyModelSpec& spec) {
  auto tensors = TensorMaker(spec).Make();
  if (!tensors.ok()) return tensors.status().WithPrefix(spec.name);
  return tensors;
}

StatusOr<GgufWriter> MakeTinyModel(const TinyModelSpec& spec) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<TinyTensor> tensors, MakeTinyTensors(spec));
  GgufWriter gguf;
  SetHyperParameters(spec, &gguf);
  SetTokenizer(spec, &gguf);
  for (const TinyTensor& tensor : tensors) {
    const std::vector<uint64_t> dims_ne(tensor.dims.rbegin(), tensor.dims.rend());
    gguf.AddTensor(tensor.name, tensor.format, dims_ne,
                   {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
  }
  return gguf;
}

Status WriteTinyModel(const TinyModelSpec& spec, const std::filesystem::path& path) {
  MOTLEY_ASSIGN_OR_RETURN(const GgufWriter gguf, MakeTinyModel(spec));
  try {
    gguf.Write(path);
  } catch (const std::exception& error) {
    return UnavailableError(path.string() + ": " + error.what());
  }
  return OkStatus();
}

}  // namespace motley::test
