#include "tools/motley/inspect_print.h"

#include <cmath>
#include <cstdio>
#include <map>

#include "core/base/suggest.h"
#include "core/base/units.h"
#include "core/model/printable.h"
#include "core/text/utf8.h"

namespace motley {
namespace {

constexpr size_t kListedNames = 6;

std::string Number(double value, const char* format) {
  char buffer[48];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

// "134.5 M", "355 B".
std::string Count(uint64_t count) {
  const auto number = static_cast<double>(count);
  if (number >= 1e12) return Number(number / 1e12, "%.3g T");
  if (number >= 1e9) return Number(number / 1e9, "%.3g B");
  if (number >= 1e6) return Number(number / 1e6, "%.4g M");
  if (number >= 1e4) return Number(number / 1e3, "%.4g K");
  return std::to_string(count);
}

std::string Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-" : Number(100.0 * static_cast<double>(part) / static_cast<double>(whole), "%.1f %%");
}

double BytesAWeight(uint64_t bytes, uint64_t weights) {
  return weights == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(weights);
}

std::string Plural(uint64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

using Rows = std::vector<std::vector<std::string>>;

// Rows of "label  value".
class Facts {
 public:
  explicit Facts(Output& out) : out_(out) {}

  void Add(const std::string& label, const std::string& value) {
    if (!value.empty()) rows_.push_back({label, value});
  }
  void Print(const std::string& heading) {
    out_.Print(out_.Bold(heading) + "\n" + out_.Table(rows_) + "\n");
    rows_.clear();
  }

 private:
  Output& out_;
  Rows rows_;
};

std::string ShapeLine(const ShapeReport& shape) {
  std::string line = Plural(shape.layers, "layer");
  if (shape.extra_layers > 0)
    line += " and " + std::to_string(shape.extra_layers) + " that predict" +
            (shape.extra_layers == 1 ? "s" : "") + " further tokens";
  line += ", hidden " + std::to_string(shape.hidden);
  if (shape.ffn > 0) line += ", feed-forward " + std::to_string(shape.ffn);
  return line;
}

std::string AttentionLine(const ShapeReport& shape) {
  return Plural(shape.heads, "head") + ", " + std::to_string(shape.kv_heads) + " of keys and values, of " +
         std::to_string(shape.head_dim);
}

std::string ExpertsLine(const ShapeReport& shape) {
  if (shape.experts == 0) return "";
  std::string line =
      std::to_string(shape.experts) + ", " + std::to_string(shape.used_experts) + " used a token";
  if (shape.shared_experts > 0) line += ", and " + std::to_string(shape.shared_experts) + " shared";
  if (shape.expert_ffn > 0) line += ", feed-forward " + std::to_string(shape.expert_ffn);
  return line;
}

std::string SpecialsLine(const VocabularyReport& vocabulary) {
  std::string line;
  for (const SpecialToken& token : vocabulary.specials) {
    line += (line.empty() ? "" : ", ") + token.role + " " + std::to_string(token.id) + " " +
            Printable(token.text, 40);
  }
  return line;
}

std::string TemplateLine(const TemplateReport& chat) {
  if (chat.bytes == 0) return "none";
  std::string line = chat.family.empty() ? "of a family that is not known" : chat.family;
  if (chat.tools) line += ", tools";
  if (chat.thinking) line += ", thinking";
  return line + " (" + std::to_string(chat.bytes) + " bytes)";
}

std::string KvLine(const InspectReport& report, uint64_t tokens) {
  if (!report.kv.known || tokens == 0) return "";
  return "f16 " + FormatSize(report.kv.Bytes(tokens, false)) + ", q8 " +
         FormatSize(report.kv.Bytes(tokens, true));
}

void PrintModel(const WeightsFile& file, const InspectReport& report, Output& out) {
  const ShapeReport& shape = report.shape;
  Facts facts(out);
  facts.Add("name", Printable(shape.name, 200));
  facts.Add("architecture", Printable(shape.architecture, 60));
  facts.Add("size", FormatSize(report.size.file_bytes) + " in " + Plural(file.paths().size(), "file"));
  if (report.has_model) {
    const SizeReport& size = report.size;
    facts.Add("parameters", Count(size.parameters) +
                                (size.active_parameters == size.parameters
                                     ? ", all of them for every token"
                                     : ", of which " + Count(size.active_parameters) + " for a token"));
    facts.Add("bytes a weight", Number(BytesAWeight(file.tensor_bytes(), size.parameters), "%.3f") + " (" +
                                    Number(8 * BytesAWeight(file.tensor_bytes(), size.parameters), "%.2f") +
                                    " bits)");
  }
  if (shape.layers > 0) facts.Add("shape", ShapeLine(shape));
  if (shape.heads > 0) facts.Add("attention", AttentionLine(shape));
  facts.Add("experts", ExpertsLine(shape));
  if (report.has_model) facts.Add("head", shape.tied_head ? "the embedding" : "its own");
  if (shape.context > 0) facts.Add("context", std::to_string(shape.context) + " tokens");
  facts.Add("cache a token", KvLine(report, 1));
  facts.Add("cache in full", KvLine(report, shape.context));
  facts.Print("model");
}

void PrintVocabulary(const InspectReport& report, Output& out) {
  const VocabularyReport& vocabulary = report.vocabulary;
  Facts facts(out);
  if (vocabulary.model.empty() && vocabulary.tokens == 0) {
    facts.Add("vocabulary", "none");
  } else {
    facts.Add("vocabulary", Printable(vocabulary.model, 60) + ", pre-tokenizer " +
                                (vocabulary.pre.empty() ? "not named" : Printable(vocabulary.pre, 60)) +
                                ", " + std::to_string(vocabulary.tokens) + " tokens, " +
                                std::to_string(vocabulary.merges) + " merges");
    facts.Add("special tokens", SpecialsLine(vocabulary));
    if (vocabulary.add_bos) facts.Add("bos in front", *vocabulary.add_bos ? "yes" : "no");
  }
  facts.Add("chat template", TemplateLine(report.chat));
  facts.Print("text");
}

void PrintUse(const InspectReport& report, Output& out) {
  out.Print(out.Bold("use") + "\n");
  for (const std::string& problem : report.problems)
    out.Print("  not usable by this version: " + problem + "\n");
  if (!report.unused.empty())
    out.Print("  not used: " + Plural(report.unused.size(), "tensor") + ": " +
              ListNames(report.unused, kListedNames) + "\n");
  if (report.has_model && report.problems.empty())
    out.Print("  this version knows what is in it; motley plan -m says whether it fits the devices here\n");
  if (!report.has_model) out.Print("  a vocabulary alone: motley tokenize takes it\n");
}

std::string ShapeText(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + "]";
}

// "blk.7.attn_q.weight" as "blk.*.attn_q.weight".
std::string WithoutLayer(std::string_view name) {
  const size_t end = name.find('.', 4);
  if (name.substr(0, 4) != "blk." || end == std::string_view::npos) return std::string(name);
  return "blk.*" + std::string(name.substr(end));
}

void PrintFormats(const WeightsFile& file, const InspectReport& report, Output& out) {
  Rows rows{{"format", "tensors", "bytes", "share", "bytes a weight"}};
  for (const FormatShare& share : report.size.formats) {
    rows.push_back({share.format, std::to_string(share.tensors), FormatSize(share.bytes),
                    Percent(share.bytes, file.tensor_bytes()),
                    Number(BytesAWeight(share.bytes, share.weights), "%.3f")});
  }
  out.Print("\n" + out.Bold("formats") + "\n" + out.Table(rows));
}

void PrintEveryTensor(const WeightsFile& file, Output& out) {
  Rows rows{{"name", "shape", "format", "bytes"}};
  for (const StoredTensor& tensor : file.tensors())
    rows.push_back({ToValidUtf8(tensor.name), ShapeText(tensor.dims), std::string(FormatName(tensor.format)),
                    std::to_string(tensor.bytes)});
  out.Print(out.Table(rows));
}

void PrintTensorKinds(const WeightsFile& file, Output& out) {
  struct Kind {
    std::string name, shape, format;
    uint64_t tensors = 0, bytes = 0;
  };
  std::vector<Kind> kinds;
  std::map<std::string, size_t> index;
  for (const StoredTensor& tensor : file.tensors()) {
    Kind kind{WithoutLayer(ToValidUtf8(tensor.name)), ShapeText(tensor.dims),
              std::string(FormatName(tensor.format))};
    const auto [at, is_new] = index.emplace(kind.name + "\n" + kind.shape + "\n" + kind.format, kinds.size());
    if (is_new) kinds.push_back(std::move(kind));
    ++kinds[at->second].tensors;
    kinds[at->second].bytes += tensor.bytes;
  }
  Rows rows{{"name", "shape", "format", "tensors", "bytes"}};
  for (const Kind& kind : kinds)
    rows.push_back(
        {kind.name, kind.shape, kind.format, std::to_string(kind.tensors), std::to_string(kind.bytes)});
  out.Print(out.Table(rows));
}

void PrintTensors(const WeightsFile& file, const InspectReport& report, bool every_tensor, Output& out) {
  PrintFormats(file, report, out);
  out.Print("\n" + out.Bold("tensors") + "\n");
  if (every_tensor) {
    PrintEveryTensor(file, out);
  } else {
    PrintTensorKinds(file, out);
  }
  out.Print("\n" + Plural(file.tensors().size(), "tensor") + ", " + FormatSize(file.tensor_bytes()) +
            (every_tensor ? "" : "; --tensors lists each") + "\n");
}

// A number, text or truth as such; an array as `DescribeValue` shows it, for a vocabulary is megabytes.
boost::json::value ValueJson(const Metadata& metadata, const MetaEntry& entry) {
  switch (entry.value.type) {
    case ValueType::kArray: break;
    case ValueType::kString: return boost::json::value(ToValidUtf8(entry.value.bytes));
    case ValueType::kBool:
      if (const auto yes = metadata.GetBool(entry.key); yes.ok()) return *yes;
      break;
    case ValueType::kF32:
    case ValueType::kF64:
      if (const auto number = metadata.GetF64(entry.key); number.ok() && std::isfinite(*number))
        return *number;
      break;
    default:
      if (const auto whole = metadata.GetI64(entry.key); whole.ok()) return *whole;
      if (const auto whole = metadata.GetU64(entry.key); whole.ok()) return *whole;
      break;
  }
  return boost::json::value(ToValidUtf8(DescribeValue(entry.value)));
}

boost::json::object ModelJson(const WeightsFile& file, const InspectReport& report) {
  const ShapeReport& shape = report.shape;
  boost::json::object model{{"name", ToValidUtf8(shape.name)},
                            {"architecture", ToValidUtf8(shape.architecture)},
                            {"file_bytes", report.size.file_bytes},
                            {"parameters", report.size.parameters},
                            {"active_parameters", report.size.active_parameters},
                            {"bytes_per_weight", BytesAWeight(file.tensor_bytes(), report.size.parameters)},
                            {"layers", shape.layers},
                            {"extra_layers", shape.extra_layers},
                            {"hidden", shape.hidden},
                            {"ffn", shape.ffn},
                            {"heads", shape.heads},
                            {"kv_heads", shape.kv_heads},
                            {"head_dim", shape.head_dim},
                            {"context", shape.context},
                            {"experts", shape.experts},
                            {"used_experts", shape.used_experts},
                            {"shared_experts", shape.shared_experts},
                            {"expert_ffn", shape.expert_ffn},
                            {"tied_head", shape.tied_head}};
  if (report.kv.known) {
    const auto bytes = [&](uint64_t tokens) {
      return boost::json::object{{"f16", report.kv.Bytes(tokens, false)},
                                 {"q8", report.kv.Bytes(tokens, true)}};
    };
    model["kv_bytes_per_token"] = bytes(1);
    model["kv_bytes_full_context"] = bytes(shape.context);
  }
  return model;
}

boost::json::object TokenizerJson(const VocabularyReport& vocabulary) {
  boost::json::object ids;
  boost::json::array tokens;
  for (const SpecialToken& token : vocabulary.specials) {
    if (token.role != "end") ids[token.role] = token.id;
    tokens.push_back(
        boost::json::object{{"role", token.role}, {"id", token.id}, {"text", ToValidUtf8(token.text)}});
  }
  boost::json::object tokenizer{{"model", ToValidUtf8(vocabulary.model)},
                                {"pre", ToValidUtf8(vocabulary.pre)},
                                {"tokens", vocabulary.tokens},
                                {"merges", vocabulary.merges},
                                {"special_ids", std::move(ids)},
                                {"special_tokens", std::move(tokens)},
                                {"usable", vocabulary.unsupported.empty()}};
  if (vocabulary.add_bos) tokenizer["add_bos"] = *vocabulary.add_bos;
  if (!vocabulary.unsupported.empty()) tokenizer["reason"] = ToValidUtf8(vocabulary.unsupported);
  return tokenizer;
}

boost::json::array TextsJson(const std::vector<std::string>& texts) {
  boost::json::array array;
  for (const std::string& text : texts) array.emplace_back(ToValidUtf8(text));
  return array;
}

}  // namespace

void PrintInspection(const WeightsFile& file, const InspectReport& report, bool every_tensor, Output& out) {
  for (const std::string& path : file.paths()) out.Print(out.Bold(Printable(path, 4096)) + "\n");
  out.Print("\n");
  PrintModel(file, report, out);
  PrintVocabulary(report, out);
  PrintUse(report, out);
  if (report.has_model) PrintTensors(file, report, every_tensor, out);
  out.Print("\n" + out.Bold("metadata") + "\n");
  for (const MetaEntry& entry : file.metadata().entries())
    out.Print("  " + Printable(entry.key, 256) + " = " + DescribeValue(entry.value) + "\n");
}

boost::json::object InspectionJson(const WeightsFile& file, const InspectReport& report) {
  boost::json::object metadata;
  for (const MetaEntry& entry : file.metadata().entries())
    metadata[ToValidUtf8(entry.key)] = ValueJson(file.metadata(), entry);
  boost::json::array tensors, formats;
  for (const StoredTensor& tensor : file.tensors()) {
    tensors.push_back(
        boost::json::object{{"name", ToValidUtf8(tensor.name)},
                            {"shape", boost::json::array(tensor.dims.begin(), tensor.dims.end())},
                            {"format", FormatName(tensor.format)},
                            {"bytes", tensor.bytes}});
  }
  for (const FormatShare& share : report.size.formats) {
    formats.push_back(boost::json::object{{"format", share.format},
                                          {"tensors", share.tensors},
                                          {"bytes", share.bytes},
                                          {"weights", share.weights}});
  }
  const TemplateReport& chat = report.chat;
  return {
      {"files", TextsJson({file.paths().begin(), file.paths().end()})},
      {"model", ModelJson(file, report)},
      {"metadata", std::move(metadata)},
      {"tokenizer", TokenizerJson(report.vocabulary)},
      {"chat_template",
       {{"bytes", chat.bytes}, {"family", chat.family}, {"thinking", chat.thinking}, {"tools", chat.tools}}},
      {"formats", std::move(formats)},
      {"unused_tensors", TextsJson(report.unused)},
      {"usable", report.problems.empty()},
      {"problems", TextsJson(report.problems)},
      {"tensors", std::move(tensors)},
      {"tensor_bytes", file.tensor_bytes()}};
}

}  // namespace motley
