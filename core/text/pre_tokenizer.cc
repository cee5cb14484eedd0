#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/text/pre_tokenizer.h"

#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/text/utf8.h"

namespace motley {
namespace {

// \p{White_Space} is what the models' own tokenizers mean by \s; PCRE2's \s takes U+180E besides.
#define SPACE "\\p{White_Space}"
#define NOT_SPACE "\\P{White_Space}"

// Two characters of a contraction in either case, and only in ASCII: U+017F is no s here.
#define CONTRACTION "'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"
#define WORDS_AND_SPACES(number)                                                              \
  CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" number "| ?[^" SPACE "\\p{L}\\p{N}]+[\\r\\n]*|" \
  SPACE "*[\\r\\n]+|" SPACE "+(?!" NOT_SPACE ")|" SPACE "+"

constexpr char kGpt2[] =
    "'(?:[stmd]|re|ve|ll)| ?\\p{L}+| ?\\p{N}+| ?[^" SPACE "\\p{L}\\p{N}]+|"
    SPACE "+(?!" NOT_SPACE ")|" SPACE "+";
// Every digit is cut off first and the rest is split as gpt-2 does, so a run of spaces sees a digit as the
// end of the text: that is the lookahead here.
constexpr char kSmollm[] =
    "\\p{N}|'(?:[stmd]|re|ve|ll)| ?\\p{L}+| ?[^" SPACE "\\p{L}\\p{N}]+|"
    SPACE "+(?![^" SPACE "\\p{N}])|" SPACE "+";
constexpr char kDigitTriples[] = WORDS_AND_SPACES("\\p{N}{1,3}");
constexpr char kSingleDigits[] = WORDS_AND_SPACES("\\p{N}");

constexpr PreTokenizer::Rule kRules[] = {
    // name, pattern, ignore_merges, add_bos
    {"smollm", kSmollm, false, false},
    {"gpt-2", kGpt2, false, false},
    {"llama-bpe", kDigitTriples, true, true},
    {"llama3", kDigitTriples, true, true},
    {"llama-v3", kDigitTriples, true, true},
    {"qwen2", kSingleDigits, false, false},
    {"glm4", kDigitTriples, true, false},
    {"glm5", kDigitTriples, true, false},
    {"chatglm-bpe", kDigitTriples, true, false},
};

std::string Pcre2Message(int code) {
  char buffer[256];
  const int n = pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(buffer), sizeof(buffer));
  return n < 0 ? "PCRE2 error " + std::to_string(code) : std::string(buffer);
}

// A copy in which every byte that is not part of a character is one that the rules treat as a symbol.
std::string ReplaceInvalid(std::string_view text);

}  // namespace

struct PreTokenizer::Compiled {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;
  ~Compiled() {
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
};

PreTokenizer::PreTokenizer(const Rule* rule, std::unique_ptr<Compiled> compiled)
    : rule_(rule), compiled_(std::move(compiled)) {}
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

std::vector<std::string_view> PreTokenizer::KnownNames() {
  std::vector<std::string_view> names;
  for (const Rule& rule : kRules) names.push_back(rule.name);
  return names;
}

StatusOr<PreTokenizer> PreTokenizer::Create(std::string_view name) {
  const Rule* rule = nullptr;
  std::string known;
  for (const Rule& candidate : kRules) {
    if (candidate.name == name) rule = &candidate;
    known += (known.empty() ? "" : ", ") + std::string(candidate.name);
  }
  if (rule == nullptr) {
    const std::string what = name.empty() ? " is missing" : " = \"" + ToValidUtf8(name.substr(0, 64)) + "\" is unknown";
    return UnimplementedError("tokenizer.ggml.pre" + what + ": the split rules known are " + known);
  }
  auto compiled = std::make_unique<Compiled>();
  int error = 0;
  PCRE2_SIZE offset = 0;
  compiled->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rule->pattern), PCRE2_ZERO_TERMINATED,
                                 PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
  if (compiled->code == nullptr) {
    return InternalError("split rule " + std::string(rule->name) + " at " + std::to_string(offset) + ": " +
                         Pcre2Message(error));
  }
  // Without JIT (a hardened kernel, another CPU) the same code is interpreted.
  (void)pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE);
  compiled->context = pcre2_match_context_create(nullptr);
  if (compiled->context == nullptr) return ResourceExhaustedError("no memory for a PCRE2 match context");
  // The rules backtrack at most once over a run, so that a limit would only refuse long texts.
  pcre2_set_match_limit(compiled->context, UINT32_MAX);
  return PreTokenizer(rule, std::move(compiled));
}

Status PreTokenizer::Split(std::string_view text, std::vector<std::string_view>* words) const {
  std::string replaced;
  std::string_view subject = text;
  if (!IsValidUtf8(text)) {
    replaced = ReplaceInvalid(text);
    subject = replaced;
  }
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  if (match == nullptr) return ResourceExhaustedError("no memory for PCRE2 match data");
  const auto* begin = reinterpret_cast<PCRE2_SPTR>(subject.data());
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(match.get());
  // The text was checked once above; PCRE2 would check all of it again for every word.
  uint32_t options = PCRE2_NO_UTF_CHECK;
  for (size_t at = 0; at < text.size();) {
    int rc = pcre2_match(compiled_->code, begin, subject.size(), at, options, match.get(), compiled_->context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {
      options |= PCRE2_NO_JIT;
      continue;
    }
    if (rc == PCRE2_ERROR_NOMATCH) {
      words->push_back(text.substr(at));
      break;
    }
    if (rc < 0) return InternalError("split rule " + std::string(rule_->name) + ": " + Pcre2Message(rc));
    if (found[0] > at) words->push_back(text.substr(at, found[0] - at));
    words->push_back(text.substr(found[0], found[1] - found[0]));
    at = found[1];
  }
  return OkStatus();
}

namespace {

std::string ReplaceInvalid(std::string_view text) {
  std::string out(text);
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = NextUtf8(text.substr(at));
    if (step.kind != Utf8Step::kCharacter) std::fill_n(out.begin() + at, step.size, '\x01');
    at += step.size;
  }
  return out;
}

}  // namespace
}  // namespace motley
