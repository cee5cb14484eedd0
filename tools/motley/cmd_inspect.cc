// motley inspect: what a model file says of itself. Structure and vocabulary are checked; whether the
// hyper-parameters make a model is for run, plan and check.
#include <cmath>
#include <map>
#include <memory>

#include <boost/json/array.hpp>

#include "core/base/units.h"
#include "core/engine/vocab_reader.h"
#include "core/model/gguf.h"
#include "core/text/tokenizer.h"
#include "core/text/utf8.h"
#include "tools/motley/launcher.h"

namespace motley {
namespace {

// A vocabulary of a kind that this version does not know is no fault of the file: a note, not an error.
struct VocabularyReport {
  std::string model, pre;
  uint64_t tokens = 0;
  uint64_t merges = 0;
  std::vector<std::pair<std::string, int32_t>> specials;  // role, id
  std::string unsupported;                                // why this version can't use it; "" = it can
};

StatusOr<VocabularyReport> ReportVocabulary(const Metadata& metadata) {
  MOTLEY_ASSIGN_OR_RETURN(const VocabSource source, ReadVocabulary(metadata));
  VocabularyReport report;
  report.model = source.model;
  report.pre = source.pre;
  report.tokens = source.tokens.size();
  report.merges = source.merges.size();
  if (report.model.empty() && report.tokens == 0) return report;
  const auto tokenizer = Tokenizer::Create(source);
  if (!tokenizer.ok() && tokenizer.status().code() != Code::kUnimplemented) {
    return tokenizer.status().WithPrefix(metadata.origin());
  }
  if (!tokenizer.ok()) {
    report.unsupported = tokenizer.status().message();
    return report;
  }
  const std::pair<const char*, std::optional<int32_t>> ids[] = {
      {"bos", tokenizer->bos_id()}, {"eos", tokenizer->eos_id()}, {"eot", tokenizer->eot_id()},
      {"eom", tokenizer->eom_id()}, {"unk", tokenizer->unk_id()}, {"pad", tokenizer->pad_id()}};
  for (const auto& [role, id] : ids) {
    if (id) report.specials.emplace_back(role, *id);
  }
  return report;
}

std::string ShapeText(const StoredTensor& tensor) {
  std::string text = "[";
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(tensor.dims[i]);
  return text + "]";
}

void PrintText(const GgufFile& file, const VocabularyReport& vocabulary, Output& out) {
  for (const std::string& path : file.paths()) out.Print(out.Bold(path) + "\n");
  out.Print("\n" + out.Bold("metadata") + "\n");
  for (const MetaEntry& entry : file.metadata().entries())
    out.Print("  " + ToValidUtf8(entry.key) + " = " + DescribeValue(entry.value) + "\n");

  out.Print("\n" + out.Bold("tokenizer") + "\n");
  if (vocabulary.model.empty() && vocabulary.tokens == 0) {
    out.Print("  none\n");
  } else {
    out.Print("  " + ToValidUtf8(vocabulary.model) + ", pre-tokenizer " + ToValidUtf8(vocabulary.pre) + ", " +
              std::to_string(vocabulary.tokens) + " tokens, " + std::to_string(vocabulary.merges) +
              " merges\n");
    for (const auto& [role, id] : vocabulary.specials)
      out.Print("  " + role + " = " + std::to_string(id) + "\n");
    if (!vocabulary.unsupported.empty())
      out.Print("  not usable by this version: " + vocabulary.unsupported + "\n");
  }

  out.Print("\n" + out.Bold("tensors") + "\n");
  std::vector<std::vector<std::string>> rows{{"name", "shape", "format", "bytes"}};
  std::map<std::string, uint64_t> by_format;
  for (const StoredTensor& tensor : file.tensors()) {
    const std::string format(FormatName(tensor.format));
    rows.push_back({ToValidUtf8(tensor.name), ShapeText(tensor), format, std::to_string(tensor.bytes)});
    by_format[format] += tensor.bytes;
  }
  out.Print(FormatTable(rows));
  std::string total = std::to_string(file.tensors().size()) + " tensors, " + FormatSize(file.tensor_bytes());
  for (const auto& [format, bytes] : by_format)
    total += (format == by_format.begin()->first ? ": " : ", ") + format + " " + FormatSize(bytes);
  out.Print("\n" + total + "\n");
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

void PrintJson(const GgufFile& file, const VocabularyReport& vocabulary, Output& out) {
  boost::json::object metadata;
  for (const MetaEntry& entry : file.metadata().entries())
    metadata[ToValidUtf8(entry.key)] = ValueJson(file.metadata(), entry);
  boost::json::object specials;
  for (const auto& [role, id] : vocabulary.specials) specials[role] = id;
  boost::json::array tensors;
  for (const StoredTensor& tensor : file.tensors()) {
    boost::json::array shape(tensor.dims.begin(), tensor.dims.end());
    tensors.push_back(boost::json::object{{"name", ToValidUtf8(tensor.name)},
                                          {"shape", std::move(shape)},
                                          {"format", FormatName(tensor.format)},
                                          {"bytes", tensor.bytes}});
  }
  boost::json::array files;
  for (const std::string& path : file.paths()) files.emplace_back(ToValidUtf8(path));
  boost::json::object tokenizer{{"model", ToValidUtf8(vocabulary.model)},
                                {"pre", ToValidUtf8(vocabulary.pre)},
                                {"tokens", vocabulary.tokens},
                                {"merges", vocabulary.merges},
                                {"special_ids", std::move(specials)},
                                {"usable", vocabulary.unsupported.empty()}};
  if (!vocabulary.unsupported.empty()) tokenizer["reason"] = ToValidUtf8(vocabulary.unsupported);
  out.PrintJson({{"files", std::move(files)},
                 {"metadata", std::move(metadata)},
                 {"tokenizer", std::move(tokenizer)},
                 {"tensors", std::move(tensors)},
                 {"tensor_bytes", file.tensor_bytes()}});
}

Status Inspect(const std::string& path, Output& out) {
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(path));
  for (const std::string& warning : file->warnings()) out.Note("warning: " + warning);
  MOTLEY_ASSIGN_OR_RETURN(const VocabularyReport vocabulary, ReportVocabulary(file->metadata()));
  if (out.json) {
    PrintJson(*file, vocabulary, out);
  } else {
    PrintText(*file, vocabulary, out);
  }
  return OkStatus();
}

}  // namespace

void AddInspect(CLI::App& app, Launcher& launcher) {
  const auto path = std::make_shared<std::string>();
  CLI::App* command = AddCommand(
      app, launcher, "inspect", "what a model file says of itself: hyper-parameters, tokenizer, tensors",
      "  motley inspect model.gguf\n"
      "  motley inspect model-00001-of-00003.gguf   any shard opens the whole set\n"
      "  motley inspect model.gguf --json",
      [path](Launcher& l) { return Inspect(*path, l.out); });
  command->add_option("MODEL", *path, "a .gguf file")->required();
}

}  // namespace motley
