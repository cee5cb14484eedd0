#include "tests/support/scripted_model.h"

#include <cstring>
#include <exception>
#include <map>

#include "tests/support/gguf_writer.h"

namespace motley::test {
namespace {

constexpr int64_t kHidden = 512;  // at least as many as tokens
constexpr int64_t kFfn = 32, kHeads = 2, kHeadDim = 16;

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else {
    out->push_back(static_cast<char>(0xC0 | code >> 6));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

// How byte-level BPE writes bytes: themselves where they are visible characters of Latin-1, else 256, 257,
// ... in order.
std::string InByteAlphabet(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    uint32_t code = 256;
    const auto visible = [](uint32_t b) {
      return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    };
    for (uint32_t b = 0; b < byte; ++b) code += visible(b) ? 0 : 1;
    AppendUtf8(visible(byte) ? byte : code, &out);
  }
  return out;
}

struct Vocabulary {
  std::vector<std::string> texts;     // as stored
  std::vector<int32_t> types;         // 1 normal, 3 control
  std::map<std::string, size_t> ids;  // by the bytes they stand for

  void Add(const std::string& bytes, bool control) {
    ids.emplace(bytes, texts.size());
    texts.push_back(control ? bytes : InByteAlphabet(bytes));
    types.push_back(control ? 3 : 1);
  }
};

Vocabulary MakeVocabulary(const ScriptedModel& script) {
  Vocabulary vocabulary;
  for (const char* name : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) vocabulary.Add(name, true);
  for (const std::string& name : script.control) vocabulary.Add(name, true);
  for (int byte = 0; byte < 256; ++byte) vocabulary.Add(std::string(1, static_cast<char>(byte)), false);
  for (const std::string& text : script.says) {
    if (!vocabulary.ids.contains(text)) vocabulary.Add(text, false);
  }
  return vocabulary;
}

// The token behind each token; the end of the turn where the script says nothing.
std::vector<size_t> Followers(const ScriptedModel& script, const Vocabulary& vocabulary) {
  std::vector<size_t> next(vocabulary.texts.size(), 2);
  if (script.says.empty()) return next;
  const auto id = [&](const std::string& text) { return vocabulary.ids.at(text); };
  next[id(script.begins_after)] = id(script.says.front());
  for (size_t i = 0; i + 1 < script.says.size(); ++i) next[id(script.says[i])] = id(script.says[i + 1]);
  if (script.forever) next[id(script.says.back())] = id(script.says.front());
  return next;
}

class Matrix {
 public:
  Matrix(int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), values_(static_cast<size_t>(rows * columns)) {}
  float& at(size_t row, size_t column) { return values_[row * static_cast<size_t>(columns_) + column]; }
  void AddTo(GgufWriter* gguf, const std::string& name) const {
    gguf->AddTensor(name, Format::kF32, {static_cast<uint64_t>(columns_), static_cast<uint64_t>(rows_)},
                    {reinterpret_cast<const char*>(values_.data()), values_.size() * sizeof(float)});
  }

 private:
  int64_t rows_, columns_;
  std::vector<float> values_;
};

void AddNorm(const std::string& name, GgufWriter* gguf) {
  const std::vector<float> ones(kHidden, 1.0f);
  gguf->AddTensor(name, Format::kF32, {kHidden},
                  {reinterpret_cast<const char*>(ones.data()), ones.size() * sizeof(float)});
}

void AddTensors(const std::vector<size_t>& next, GgufWriter* gguf) {
  const auto tokens = static_cast<int64_t>(next.size());
  Matrix embedding(tokens, kHidden), head(tokens, kHidden);
  for (size_t token = 0; token < next.size(); ++token) {
    embedding.at(token, token) = 1;
    head.at(next[token], token) = 1;
  }
  embedding.AddTo(gguf, "token_embd.weight");
  AddNorm("blk.0.attn_norm.weight", gguf);
  Matrix(kHeads * kHeadDim, kHidden).AddTo(gguf, "blk.0.attn_q.weight");
  Matrix(kHeads * kHeadDim, kHidden).AddTo(gguf, "blk.0.attn_k.weight");
  Matrix(kHeads * kHeadDim, kHidden).AddTo(gguf, "blk.0.attn_v.weight");
  Matrix(kHidden, kHeads * kHeadDim).AddTo(gguf, "blk.0.attn_output.weight");
  AddNorm("blk.0.ffn_norm.weight", gguf);
  Matrix(kFfn, kHidden).AddTo(gguf, "blk.0.ffn_gate.weight");
  Matrix(kFfn, kHidden).AddTo(gguf, "blk.0.ffn_up.weight");
  Matrix(kHidden, kFfn).AddTo(gguf, "blk.0.ffn_down.weight");
  AddNorm("output_norm.weight", gguf);
  head.AddTo(gguf, "output.weight");
}

void SetMetadata(const ScriptedModel& script, const Vocabulary& vocabulary, GgufWriter* gguf) {
  gguf->SetString("general.architecture", "llama").SetString("general.name", script.name);
  gguf->SetU32("llama.block_count", 1).SetU32("llama.context_length", static_cast<uint32_t>(script.context));
  gguf->SetU32("llama.embedding_length", kHidden).SetU32("llama.feed_forward_length", kFfn);
  gguf->SetU32("llama.attention.head_count", kHeads).SetU32("llama.attention.head_count_kv", kHeads);
  gguf->SetU32("llama.attention.key_length", kHeadDim).SetU32("llama.attention.value_length", kHeadDim);
  gguf->SetU32("llama.rope.dimension_count", kHeadDim).SetF32("llama.rope.freq_base", 10000);
  gguf->SetF32("llama.attention.layer_norm_rms_epsilon", 1e-6f);
  gguf->SetString("tokenizer.ggml.model", "gpt2").SetString("tokenizer.ggml.pre", "smollm");
  gguf->SetStrings("tokenizer.ggml.tokens", vocabulary.texts)
      .SetI32s("tokenizer.ggml.token_type", vocabulary.types);
  gguf->SetStrings("tokenizer.ggml.merges", {});
  gguf->SetU32("tokenizer.ggml.bos_token_id", 1).SetU32("tokenizer.ggml.eos_token_id", 2);
  gguf->SetBool("tokenizer.ggml.add_bos_token", false);
  if (!script.chat_template.empty()) gguf->SetString("tokenizer.chat_template", script.chat_template);
}

}  // namespace

Status WriteScriptedModel(const ScriptedModel& script, const std::filesystem::path& path) {
  const Vocabulary vocabulary = MakeVocabulary(script);
  if (static_cast<int64_t>(vocabulary.texts.size()) > kHidden)
    return InvalidArgumentError("a script of too many tokens");
  try {
    GgufWriter gguf;
    SetMetadata(script, vocabulary, &gguf);
    AddTensors(Followers(script, vocabulary), &gguf);
    gguf.Write(path);
  } catch (const std::exception& error) {
    return UnavailableError(path.string() + ": " + error.what());
  }
  return OkStatus();
}

}  // namespace motley::test
