// Prompter: how a conversation becomes tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "core/engine/engine.h"
#include "tools/motley/conversation.h"

namespace motley {

class Prompter {
 public:
  // Made before the weights are loaded, so that a template that cannot be used is told of at once.
  static StatusOr<Prompter> Create(const ModelFiles& files, bool raw);

  // Raw: the last turn's text as it is.
  StatusOr<std::vector<int32_t>> Encode(const Conversation& conversation, const Tokenizer& tokenizer) const;

  Prompter() = default;

 private:
  bool raw_ = false;
  std::shared_ptr<const ChatFormat> format_;
};

}  // namespace motley
