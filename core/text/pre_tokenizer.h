// PreTokenizer: cuts text into the words inside which BPE merges.
//
// Each name of tokenizer.ggml.pre has one split rule, a regular expression run by PCRE2 (with JIT where the
// machine allows it). The words, put together, are always the text, byte for byte: what no rule matches is
// a word of its own, and a byte that is not UTF-8 is treated as a symbol is.
//
// Threads: Split may be called from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace motley {

class PreTokenizer {
 public:
  // What a name of tokenizer.ggml.pre stands for.
  struct Rule {
    const char* name;
    const char* pattern;
    bool ignore_merges;  // a word that is in the vocabulary is taken whole, whatever the merges say
    bool add_bos;        // when the file does not say
  };

  // `name` as in tokenizer.ggml.pre. An unknown one is UNIMPLEMENTED, with the names that are known.
  static StatusOr<PreTokenizer> Create(std::string_view name);
  static std::vector<std::string_view> KnownNames();

  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  const Rule& rule() const { return *rule_; }

  // Appends the words of `text` to `words`, as views into it.
  Status Split(std::string_view text, std::vector<std::string_view>* words) const;

 private:
  struct Compiled;  // the PCRE2 handles
  PreTokenizer(const Rule* rule, std::unique_ptr<Compiled> compiled);

  const Rule* rule_;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace motley
