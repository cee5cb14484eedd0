// PreTokenizer: cuts text into the words inside which BPE merges.
//
// Each name of tokenizer.ggml.pre has one split rule (split_rules.h), regular expressions run by PCRE2 (with
// JIT where the machine allows it), with the character classes of Unicode 14. The words, put together, are
// always the text, byte for byte: what no pattern matches is a word of its own, and a byte that is not UTF-8
// counts as a control character.
//
// Threads: Split may be called from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/text/split_rules.h"

namespace motley {

class PreTokenizer {
 public:
  // `name` as in tokenizer.ggml.pre. An unknown one is UNIMPLEMENTED, with the names that are known.
  static StatusOr<PreTokenizer> Create(std::string_view name);
  static std::vector<std::string_view> KnownNames();

  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  const SplitRule& rule() const { return *rule_; }

  // Appends the words of `text` to `words`, as views into it. Time is linear in the text, whatever it is.
  Status Split(std::string_view text, std::vector<std::string_view>* words) const;

 private:
  class Pattern;  // what PCRE2 compiled of a stage
  explicit PreTokenizer(const SplitRule* rule);

  const SplitRule* rule_;
  std::vector<Pattern> patterns_;  // one a stage
};

}  // namespace motley
