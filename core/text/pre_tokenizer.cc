#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/text/pre_tokenizer.h"

#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/text/utf8.h"

namespace motley {
namespace {

using Words = std::vector<std::string_view>;

std::string Pcre2Message(int code) {
  char buffer[256];
  const int n = pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(buffer), sizeof(buffer));
  return n < 0 ? "PCRE2 error " + std::to_string(code) : std::string(buffer);
}

// A copy in which every byte that is not part of a character is one that no rule has a use for.
std::string ReplaceInvalid(std::string_view text);

void AddPiece(std::string_view piece, Words* words) {
  if (!piece.empty()) words->push_back(piece);
}

// Cuts `text` from `begin` on before each third character that `run`, a part of it, has counted from its end.
// Returns where the last cut was.
const char* CutBeforeTriples(const char* begin, std::string_view run, Words* words);

}  // namespace

class PreTokenizer::Pattern {
 public:
  static StatusOr<Pattern> Compile(const SplitStage& stage, const char* rule_name);

  // Appends the pieces of `piece`, which is valid UTF-8.
  Status Split(std::string_view piece, pcre2_match_data* match, Words* words) const;

 private:
  struct FreeCode {
    void operator()(pcre2_code* c) const { pcre2_code_free(c); }
  };
  struct FreeContext {
    void operator()(pcre2_match_context* c) const { pcre2_match_context_free(c); }
  };

  const char* rule_name_ = "";
  bool cut_before_triples_ = false;
  std::unique_ptr<pcre2_code, FreeCode> code_;
  std::unique_ptr<pcre2_match_context, FreeContext> context_;
};

PreTokenizer::PreTokenizer(const SplitRule* rule) : rule_(rule) {}
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

std::vector<std::string_view> PreTokenizer::KnownNames() {
  std::vector<std::string_view> names;
  for (const SplitRule& rule : SplitRules()) names.push_back(rule.name);
  return names;
}

StatusOr<PreTokenizer> PreTokenizer::Create(std::string_view name) {
  const auto rules = SplitRules();
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const SplitRule& r) { return r.name == name; });
  if (rule == rules.end()) {
    std::string known;
    for (const SplitRule& r : rules) known += (known.empty() ? "" : ", ") + std::string(r.name);
    return UnimplementedError("tokenizer.ggml.pre = \"" + ToValidUtf8(name.substr(0, 64)) +
                              "\" is unknown: the split rules known are " + known);
  }
  PreTokenizer made(&*rule);
  for (const SplitStage& stage : rule->stages) {
    MOTLEY_ASSIGN_OR_RETURN(Pattern pattern, Pattern::Compile(stage, rule->name));
    made.patterns_.push_back(std::move(pattern));
  }
  return made;
}

Status PreTokenizer::Split(std::string_view text, Words* words) const {
  std::string replaced;
  std::string_view subject = text;
  if (!IsValidUtf8(text)) {
    replaced = ReplaceInvalid(text);
    subject = replaced;
  }
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  if (match == nullptr) return ResourceExhaustedError("no memory for PCRE2 match data");
  const size_t before = words->size();
  Words pieces, next;  // of the stages before the last
  AddPiece(subject, &pieces);
  for (const Pattern& pattern : patterns_) {
    const bool last = &pattern == &patterns_.back();
    next.clear();
    for (const std::string_view piece : pieces) {
      MOTLEY_RETURN_IF_ERROR(pattern.Split(piece, match.get(), last ? words : &next));
    }
    pieces.swap(next);
  }
  if (subject.data() == text.data()) return OkStatus();
  for (size_t i = before; i < words->size(); ++i) {
    std::string_view& word = (*words)[i];
    word = text.substr(static_cast<size_t>(word.data() - subject.data()), word.size());
  }
  return OkStatus();
}

StatusOr<PreTokenizer::Pattern> PreTokenizer::Pattern::Compile(const SplitStage& stage,
                                                               const char* rule_name) {
  Pattern made;
  made.rule_name_ = rule_name;
  made.cut_before_triples_ = stage.cut_before_triples;
  int error = 0;
  PCRE2_SIZE offset = 0;
  made.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(stage.pattern), PCRE2_ZERO_TERMINATED,
                                 PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
  if (made.code_ == nullptr) {
    return InternalError("split rule " + std::string(rule_name) + " at " + std::to_string(offset) + ": " +
                         Pcre2Message(error));
  }
  // Without JIT (a hardened kernel, another CPU) the same code is interpreted.
  (void)pcre2_jit_compile(made.code_.get(), PCRE2_JIT_COMPLETE);
  made.context_.reset(pcre2_match_context_create(nullptr));
  if (made.context_ == nullptr) return ResourceExhaustedError("no memory for a PCRE2 match context");
  // The rules backtrack at most once over a run, so that a limit would only refuse long texts.
  pcre2_set_match_limit(made.context_.get(), UINT32_MAX);
  return made;
}

Status PreTokenizer::Pattern::Split(std::string_view piece, pcre2_match_data* match, Words* words) const {
  const auto* begin = reinterpret_cast<PCRE2_SPTR>(piece.data());
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(match);
  // The text was checked once; PCRE2 would check all of it again for every word.
  uint32_t options = PCRE2_NO_UTF_CHECK;
  size_t at = 0;       // where the search goes on
  size_t pending = 0;  // where the piece that is not appended yet begins
  while (at < piece.size()) {
    const int rc = pcre2_match(code_.get(), begin, piece.size(), at, options, match, context_.get());
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {
      options |= PCRE2_NO_JIT;
      continue;
    }
    if (rc == PCRE2_ERROR_NOMATCH) break;
    if (rc < 0) return InternalError("split rule " + std::string(rule_name_) + ": " + Pcre2Message(rc));
    at = found[1];
    const std::string_view matched = piece.substr(found[0], found[1] - found[0]);
    if (cut_before_triples_) {
      pending = static_cast<size_t>(CutBeforeTriples(piece.data() + pending, matched, words) - piece.data());
      continue;
    }
    AddPiece(piece.substr(pending, found[0] - pending), words);
    AddPiece(matched, words);
    pending = at;
  }
  AddPiece(piece.substr(pending), words);
  return OkStatus();
}

namespace {

std::string ReplaceInvalid(std::string_view text) {
  std::string out(text);
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = NextUtf8(text.substr(at));
    if (step.kind != Utf8Step::kCharacter)
      std::fill_n(out.begin() + static_cast<ptrdiff_t>(at), step.size, '\x01');
    at += step.size;
  }
  return out;
}

const char* CutBeforeTriples(const char* begin, std::string_view run, Words* words) {
  const auto begins_character = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; };
  auto left = static_cast<size_t>(std::count_if(run.begin(), run.end(), begins_character));
  for (const char& c : run) {
    if (!begins_character(c)) continue;
    if (left-- % 3 != 0) continue;
    AddPiece({begin, static_cast<size_t>(&c - begin)}, words);
    begin = &c;
  }
  return begin;
}

}  // namespace
}  // namespace motley
