// Sequence: a request on its way, from waiting to its last token. Plain state, moved forward by the engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/text/detokenizer.h"
#include "core/text/stop_matcher.h"

namespace motley {

struct Sequence {
  uint64_t id = 0;
  Request request;
  uint64_t token_limit = 0;       // tokens to make at most: max_tokens, or what the context leaves
  std::vector<int32_t> tokens;    // prompt, then what was made; room for all of them from the start
  int64_t kv_len = 0;             // tokens whose keys and values are cached
  int32_t row = -1;               // in the page table; -1 = waits
  std::vector<int32_t> pages;
  int64_t logits_given = 0;       // positions below were told to request.on_logits
  std::vector<bool> seen;         // a token id; for the repeat penalty alone
  std::unique_ptr<Detokenizer> detokenizer;
  StopMatcher stops;
  std::string raw_text, text;     // of the last token: before and behind the stop matcher
  std::string last_text;          // what was held back, at the end
  bool ended = false;
  RequestStats stats;

  // Of the step that is being made.
  int64_t step_tokens = 0;        // how many of `tokens` take part
  int64_t step_outputs = 0;       // rows of logits

  bool waits() const { return row < 0; }
  bool prefilling() const { return kv_len + 1 < static_cast<int64_t>(tokens.size()) || made() == 0; }
  // To be computed again from its tokens.
  void Rewind() {
    kv_len = 0;
    row = -1;
    pages.clear();
  }
  int64_t made() const { return static_cast<int64_t>(tokens.size() - request.prompt.size()); }
};

}  // namespace motley
