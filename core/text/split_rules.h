// The split rules that names of tokenizer.ggml.pre stand for.
//
// A rule is a list of stages. Each stage cuts every piece that the one before left: what its pattern matches
// is a piece, and so is what lies between two matches. A pattern sees its piece alone; beside it is nothing.
//
// The patterns are those of the models' own tokenizers (the pre_tokenizer of their tokenizer.json), in the
// notation of PCRE2. Every one of them must be linear in the length of the text: see
// PreTokenizer.LongRunsAreSplit.
#pragma once

#include <span>
#include <string_view>

namespace motley {

struct SplitStage {
  const char* pattern;
  // Of runs of digits, counted from their end: the pattern matches a run, and the piece is cut before each
  // third character from the run's end, and nowhere else.
  bool cut_before_triples = false;
};

struct SplitRule {
  const char* name;
  std::span<const SplitStage> stages;
  bool ignore_merges;  // a word that is in the vocabulary is taken whole, whatever the merges say
  bool add_bos;        // when the file does not say
};

// For files that do not name their rule.
inline constexpr std::string_view kDefaultSplitRule = "default";

// Every name, once.
std::span<const SplitRule> SplitRules();

}  // namespace motley
