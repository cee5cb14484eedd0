#include "tools/motley/inspect_report.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/engine/vocab_reader.h"
#include "core/model/model.h"
#include "core/model/printable.h"
#include "core/text/chat_template.h"
#include "core/text/tokenizer.h"

namespace motley {
namespace {

// A number of the metadata, by its name behind the architecture's; 0 where it is none. A list (a value a
// layer) counts as its largest.
uint64_t Number(const Metadata& metadata, const std::string& key) {
  if (const auto one = metadata.FindU64(key); one.ok()) return one->value_or(0);
  const auto list = metadata.FindInts(key);
  if (!list.ok() || !list->has_value() || (*list)->empty()) return 0;
  return static_cast<uint64_t>(std::max<int64_t>(*std::max_element((*list)->begin(), (*list)->end()), 0));
}

std::string Text(const Metadata& metadata, const char* key) {
  const auto text = metadata.FindString(key);
  return text.ok() && text->has_value() ? std::string(**text) : "";
}

ShapeReport InspectShape(const WeightsFile& file) {
  const Metadata& metadata = file.metadata();
  ShapeReport shape;
  shape.name = Text(metadata, "general.name");
  shape.architecture = Text(metadata, "general.architecture");
  const auto number = [&](const char* key) { return Number(metadata, shape.architecture + "." + key); };
  const uint64_t blocks = number("block_count");
  shape.extra_layers = std::min(number("nextn_predict_layers"), blocks);
  shape.layers = blocks - shape.extra_layers;
  shape.hidden = number("embedding_length");
  shape.ffn = number("feed_forward_length");
  shape.heads = number("attention.head_count");
  shape.kv_heads = number("attention.head_count_kv");
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
  shape.head_dim = number("attention.key_length");
  if (shape.head_dim == 0 && shape.heads > 0) shape.head_dim = shape.hidden / shape.heads;
  shape.context = number("context_length");
  shape.experts = number("expert_count");
  shape.used_experts = number("expert_used_count");
  shape.shared_experts = number("expert_shared_count");
  shape.expert_ffn = number("expert_feed_forward_length");
  shape.tied_head =
      file.FindTensor("token_embd.weight") != nullptr && file.FindTensor("output.weight") == nullptr;
  return shape;
}

// The layer of "blk.7.attn_q.weight"; nullopt of a tensor outside the layers.
std::optional<uint64_t> LayerOf(std::string_view name) {
  if (name.substr(0, 4) != "blk.") return std::nullopt;
  uint64_t layer = 0;
  size_t i = 4;
  for (; i < name.size() && name[i] >= '0' && name[i] <= '9' && i < 12; ++i)
    layer = layer * 10 + static_cast<uint64_t>(name[i] - '0');
  return i > 4 && i < name.size() && name[i] == '.' ? std::optional(layer) : std::nullopt;
}

uint64_t ActiveOf(const StoredTensor& tensor, const ShapeReport& shape) {
  const auto layer = LayerOf(tensor.name);
  if (shape.extra_layers > 0 && layer && *layer >= shape.layers) return 0;
  const bool routed = tensor.name.find("_exps.") != std::string_view::npos;
  if (!routed || shape.experts == 0) return tensor.elems;
  return tensor.elems / shape.experts * std::min(shape.used_experts, shape.experts);
}

SizeReport InspectSize(const WeightsFile& file, const ShapeReport& shape) {
  SizeReport size;
  for (const std::string& path : file.paths()) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (!error) size.file_bytes += bytes;
  }
  std::map<std::string, FormatShare> shares;
  for (const StoredTensor& tensor : file.tensors()) {
    size.parameters += tensor.elems;
    size.active_parameters += ActiveOf(tensor, shape);
    FormatShare& share = shares[std::string(FormatName(tensor.format))];
    ++share.tensors;
    share.bytes += tensor.bytes;
    share.weights += tensor.elems;
  }
  for (auto& [format, share] : shares) {
    share.format = format;
    size.formats.push_back(share);
  }
  std::stable_sort(size.formats.begin(), size.formats.end(),
                   [](const FormatShare& a, const FormatShare& b) { return a.bytes > b.bytes; });
  return size;
}

// What is kept of a token: keys and values of every layer, or of MLA the latent and the rotated part of the
// key.
KvReport InspectKv(const WeightsFile& file, const ShapeReport& shape) {
  const Metadata& metadata = file.metadata();
  const std::string attention = shape.architecture + ".attention.";
  KvReport kv;
  uint64_t a_layer = 0;
  if (const uint64_t latent = Number(metadata, attention + "kv_lora_rank"); latent > 0) {
    a_layer = latent + Number(metadata, shape.architecture + ".rope.dimension_count");
  } else {
    const uint64_t values = Number(metadata, attention + "value_length");
    a_layer = shape.kv_heads * (shape.head_dim + (values == 0 ? shape.head_dim : values));
  }
  // The factors are bounded so that the product is one; a file that says more says nothing that can be true.
  kv.known = a_layer > 0 && a_layer < (1u << 24) && shape.layers > 0 && shape.layers < (1u << 16) &&
             shape.context < (uint64_t{1} << 32);
  kv.values_per_token = kv.known ? a_layer * shape.layers : 0;
  return kv;
}

std::string TokenText(const VocabSource& source, int64_t id) {
  if (id < 0 || static_cast<size_t>(id) >= source.tokens.size()) return "";
  return std::string(source.tokens[static_cast<size_t>(id)]);
}

StatusOr<VocabularyReport> InspectVocabulary(const Metadata& metadata) {
  MOTLEY_ASSIGN_OR_RETURN(const VocabSource source, ReadVocabulary(metadata));
  VocabularyReport report;
  report.model = source.model;
  report.pre = source.pre;
  report.tokens = source.tokens.size();
  report.merges = source.merges.size();
  report.add_bos = source.add_bos;
  const bool has_none = report.model.empty() || report.model == "no_vocab" || report.model == "none";
  if (has_none && report.tokens == 0) return report;
  const std::pair<const char*, std::optional<int64_t>> ids[] = {
      {"bos", source.bos_id}, {"eos", source.eos_id}, {"eot", source.eot_id}, {"eom", source.eom_id},
      {"unk", source.unk_id}, {"sep", source.sep_id}, {"pad", source.pad_id}};
  for (const auto& [role, id] : ids) {
    if (id) report.specials.push_back({role, static_cast<int32_t>(*id), TokenText(source, *id)});
  }
  const auto tokenizer = Tokenizer::Create(source);
  if (!tokenizer.ok() && tokenizer.status().code() != Code::kUnimplemented)
    return tokenizer.status().WithPrefix(metadata.origin());
  if (!tokenizer.ok()) {
    report.unsupported = tokenizer.status().message();
    return report;
  }
  report.warnings = tokenizer->warnings();
  report.add_bos = tokenizer->add_bos();
  for (int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
    const bool known = std::any_of(report.specials.begin(), report.specials.end(),
                                   [&](const SpecialToken& token) { return token.id == id; });
    if (!known && tokenizer->IsEndOfTurn(id))
      report.specials.push_back({"end", id, std::string(tokenizer->TokenBytes(id))});
  }
  return report;
}

void InspectUse(const WeightsFile& file, InspectReport* report) {
  const auto model = Model::Read(file);
  if (!model.ok()) {
    report->problems.push_back(model.status().message());
    return;
  }
  const auto graph = model->BuildGraph({});
  if (!graph.ok()) {
    report->problems.push_back(graph.status().message());
    return;
  }
  report->unused = model->UnusedTensors(graph->graph);
  uint64_t values = 0;
  for (const KvLayer& layer : graph->kv)
    values += static_cast<uint64_t>(layer.n_kv_heads) * static_cast<uint64_t>(layer.k_dim + layer.v_dim);
  if (values > 0) report->kv = {true, values};
}

void InspectChat(const WeightsFile& file, InspectReport* report) {
  const std::string text = Text(file.metadata(), "tokenizer.chat_template");
  report->chat = InspectTemplate(text);
  if (report->vocabulary.tokens == 0 || !report->vocabulary.unsupported.empty()) return;
  const auto source = ReadVocabulary(file.metadata());
  if (!source.ok()) return;
  const auto tokenizer = Tokenizer::Create(*source);
  if (!tokenizer.ok()) return;
  std::string warning;
  const auto chat = ChatTemplate::ForModel(text, *tokenizer, &warning);
  if (!warning.empty()) report->problems.push_back(warning);
  if (!chat.ok()) report->problems.push_back("no chat: " + chat.status().message() + "; --raw works");
}

}  // namespace

uint64_t KvReport::Bytes(uint64_t tokens, bool q8) const {
  const uint64_t values = values_per_token * tokens;
  return q8 ? values / 32 * 34 : values * 2;
}

TemplateReport InspectTemplate(std::string_view chat_template) {
  TemplateReport report;
  report.bytes = chat_template.size();
  const auto has = [&](std::string_view mark) { return chat_template.find(mark) != std::string_view::npos; };
  // The more particular first: several write <|user|>.
  const std::pair<const char*, const char*> families[] = {{"[gMASK]", "GLM-4"},
                                                          {"<|im_start|>", "ChatML"},
                                                          {"<|start_header_id|>", "Llama 3"},
                                                          {"<|header_start|>", "Llama 4"},
                                                          {"<start_of_turn>", "Gemma"},
                                                          {"<｜User｜>", "DeepSeek"},
                                                          {"<|START_OF_TURN_TOKEN|>", "Command R"},
                                                          {"<|channel|>", "Harmony"},
                                                          {"<|im_middle|>", "Kimi"},
                                                          {"[INST]", "Mistral"},
                                                          {"<|end|>", "Phi-3"},
                                                          {"<|user|>", "Zephyr"},
                                                          {"### Instruction", "Alpaca"}};
  for (const auto& [mark, family] : families) {
    if (!has(mark)) continue;
    report.family = family;
    break;
  }
  report.thinking = has("enable_thinking") || has("<think>") || has("reasoning_content") || has("thinking");
  report.tools = has("tools") || has("tool_calls");
  return report;
}

StatusOr<InspectReport> InspectModel(const WeightsFile& file) {
  InspectReport report;
  report.shape = InspectShape(file);
  report.size = InspectSize(file, report.shape);
  report.kv = InspectKv(file, report.shape);
  MOTLEY_ASSIGN_OR_RETURN(report.vocabulary, InspectVocabulary(file.metadata()));
  report.has_model = !file.tensors().empty();
  if (report.has_model) InspectUse(file, &report);
  if (!report.vocabulary.unsupported.empty())
    report.problems.push_back("no text: " + report.vocabulary.unsupported);
  InspectChat(file, &report);
  return report;
}

}  // namespace motley
