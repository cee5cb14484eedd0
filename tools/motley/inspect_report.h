// What a person asks of a model file, gathered: how large, of what shape, in which formats, what it speaks,
// what its cache takes, and what this version cannot do with it.
//
// What can be read off the metadata is told of any architecture; "0" is what the file does not say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/model/weights_file.h"

namespace motley {

struct ShapeReport {
  std::string name;  // general.name
  std::string architecture;
  uint64_t layers = 0;        // without those that predict further tokens
  uint64_t extra_layers = 0;  // these (nextn_predict_layers)
  uint64_t hidden = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0;
  uint64_t context = 0;  // tokens for which it was trained
  uint64_t experts = 0, used_experts = 0, shared_experts = 0, expert_ffn = 0;
  bool tied_head = false;  // the embedding is the head too
};

struct FormatShare {
  std::string format;
  uint64_t tensors = 0, bytes = 0, weights = 0;
};

struct SizeReport {
  uint64_t file_bytes = 0;           // of all shards
  uint64_t parameters = 0;           // every element of every tensor
  uint64_t active_parameters = 0;    // what one token passes through: of routed experts the used ones
  std::vector<FormatShare> formats;  // most bytes first
};

struct KvReport {
  bool known = false;
  uint64_t values_per_token = 0;  // elements, of all layers
  uint64_t Bytes(uint64_t tokens, bool q8) const;
};

struct SpecialToken {
  std::string role;  // "bos", "eos", …; "end" = ends a turn without a role of its own
  int32_t id = -1;
  std::string text;
};

// A vocabulary of a kind that this version does not know is told of with all the rest, and is an error then.
struct VocabularyReport {
  std::string model, pre;
  uint64_t tokens = 0, merges = 0;
  std::vector<SpecialToken> specials;
  std::optional<bool> add_bos;
  std::vector<std::string> warnings;
  std::string unsupported;  // why this version can't use it; "" = it can
};

struct TemplateReport {
  uint64_t bytes = 0;                    // 0 = the file has none
  std::string family;                    // "ChatML", …; "" = none that is known
  bool thinking = false, tools = false;  // the template mentions them
};

struct InspectReport {
  ShapeReport shape;
  SizeReport size;
  KvReport kv;
  VocabularyReport vocabulary;
  TemplateReport chat;
  std::vector<std::string> unused;    // tensors that the model does not use
  std::vector<std::string> problems;  // why it cannot run, or not as a chat
  bool has_model = false;             // not a vocabulary alone
};

// Fails where the vocabulary is broken.
StatusOr<InspectReport> InspectModel(const WeightsFile& file);

// The family of a template, by the marks that it writes.
TemplateReport InspectTemplate(std::string_view chat_template);

}  // namespace motley
