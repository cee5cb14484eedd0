#include "core/text/split_rules.h"

namespace motley {
namespace {

// \p{White_Space} is what the models' own tokenizers mean by \s; PCRE2's \s takes U+180E besides.
#define SPACE "\\p{White_Space}"
#define NOT_SPACE "\\P{White_Space}"
#define SPACES_AT_END SPACE "+(?!" NOT_SPACE ")"

// Contractions in either case, and only in ASCII: U+017F is no s here.
#define CONTRACTION "'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"

// The family of GPT-4: words with one symbol in front, numbers, symbols, lines.
#define LETTERS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SYMBOLS " ?[^" SPACE "\\p{L}\\p{N}]+"
#define LINES SPACE "*[\\r\\n]+"
#define WORDS(number) LETTERS "|" number "|" SYMBOLS "[\\r\\n]*|" LINES "|" SPACES_AT_END "|" SPACE "+"

// The family of GPT-4o: capitals begin a word. `upper` and `lower` are classes of characters; those of
// neither case are in both.
#define CASED(upper, lower, end) \
  "[^\\r\\n\\p{L}\\p{N}]?" upper "*" lower "+" end "|[^\\r\\n\\p{L}\\p{N}]?" upper "+" lower "*" end
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED_WORDS(number, end) \
  CASED(UPPER, LOWER, end) "|" number "|" SYMBOLS "[\\r\\n/]*|" LINES "|" SPACES_AT_END "|" SPACE "+"
// The same without Han, by listing every other category: classes have no intersection here. sc: the script
// itself; PCRE2's \p{Han} takes the marks that are used with it besides.
#define UPPER_NOT_HAN "[^\\p{sc:Han}\\p{Ll}\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}]"
#define LOWER_NOT_HAN "[^\\p{sc:Han}\\p{Lu}\\p{Lt}\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}]"

#define GPT2 "'(?:[stmd]|re|ve|ll)| ?\\p{L}+| ?\\p{N}+|" SYMBOLS "|" SPACES_AT_END "|" SPACE "+"

// What the DeepSeek V3 family does with what is neither a number nor Chinese or Japanese.
#define V3_WORDS(symbols)                                                                              \
  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|" \
  " ?[\\p{P}\\p{S}]+" symbols "|" SPACES_AT_END "|" SPACE "+"
#define HAN_AND_KANA "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"
// U+0800 to U+9FA5 and Hangul, of the first DeepSeek models.
#define EAST_ASIAN "[\\x{4E00}-\\x{9FA5}\\x{0800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"

// The letters of two cases that deepseek-llm's tokenizer lists; not all that Unicode has.
#define DEEPSEEK_LETTERS                                                                              \
  "A-Za-z\\x{00B5}\\x{00C0}-\\x{00D6}\\x{00D8}-\\x{00F6}\\x{00F8}-\\x{01BA}\\x{01BC}-\\x{01BF}"       \
  "\\x{01C4}-\\x{0293}\\x{0295}-\\x{02AF}\\x{0370}-\\x{0373}\\x{0376}\\x{0377}\\x{037B}-\\x{037D}"    \
  "\\x{037F}\\x{0386}\\x{0388}-\\x{038A}\\x{038C}\\x{038E}-\\x{03A1}\\x{03A3}-\\x{03F5}"              \
  "\\x{03F7}-\\x{0481}\\x{048A}-\\x{052F}\\x{0531}-\\x{0556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}"   \
  "\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}"   \
  "\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}"   \
  "\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}"              \
  "\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}"             \
  "\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}"    \
  "\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}"     \
  "\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}"     \
  "\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}"    \
  "\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}"   \
  "\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}" \
  "\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}"              \
  "\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}"

#define NO_SENTENCE_MARKS \
  " ?[^(" SPACE "|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{0964}\\x{06D4}\\x{060C})]+"

constexpr SplitStage kGpt2[] = {{GPT2}};
// Every digit is cut off first and the rest is split as gpt-2 does, so a run of spaces sees a digit as the
// end of the text: that is the lookahead here. One pattern for two stages, for speed.
constexpr SplitStage kDigitsThenGpt2[] = {
    {"\\p{N}|'(?:[stmd]|re|ve|ll)| ?\\p{L}+|" SYMBOLS "|" SPACE "+(?![^" SPACE "\\p{N}])|" SPACE "+"}};
constexpr SplitStage kLlama3[] = {{CONTRACTION "|" WORDS("\\p{N}{1,3}")}};
constexpr SplitStage kQwen2[] = {{CONTRACTION "|" WORDS("\\p{N}")}};
constexpr SplitStage kQwen35[] = {{CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^" SPACE
                                               "\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" LINES "|" SPACES_AT_END
                                               "|" SPACE "+"}};
constexpr SplitStage kGpt4o[] = {{CASED_WORDS("\\p{N}{1,3}", "(?:" CONTRACTION ")?")}};
constexpr SplitStage kTekken[] = {{CASED_WORDS("\\p{N}", "")}};
constexpr SplitStage kFalcon[] = {{"[\\p{P}$+<=>^~|`]+"}, {GPT2}, {"[0-9][0-9][0-9]"}};
constexpr SplitStage kDefault[] = {{"[\\p{P}$+<=>^~|]+"}, {GPT2}, {"\\p{N}+"}, {"[0-9][0-9][0-9]"}};
constexpr SplitStage kDeepseekLlm[] = {
    {"[\\r\\n]"},
    {SPACE "?[" DEEPSEEK_LETTERS "]+"},
    {SPACE "?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+"},
    // The white space at the end. Looking behind first keeps a long run elsewhere from being tried at each of
    // its characters.
    {"(?<!" SPACE ")" SPACE "++\\z"},
    {EAST_ASIAN},
    {"\\p{N}+"},
};
constexpr SplitStage kDeepseekCoder[] = {
    {"[\\r\\n]"}, {SPACE "?\\p{L}+"}, {SPACE "?\\p{P}+"}, {EAST_ASIAN}, {"\\p{N}"}};
constexpr SplitStage kDeepseekV3[] = {{"\\p{N}{1,3}"}, {HAN_AND_KANA}, {V3_WORDS("[\\r\\n]*|" LINES)}};
constexpr SplitStage kSpark[] = {{"\\p{N}{1,3}"}, {HAN_AND_KANA}, {V3_WORDS("|[\\r\\n]")}, {"\\p{N}"}};
constexpr SplitStage kKimi[] = {{"\\p{sc:Han}+|" CASED(
    UPPER_NOT_HAN, LOWER_NOT_HAN, "(?:" CONTRACTION ")?") "|\\p{N}{1,3}|" SYMBOLS "[\\r\\n]*|" LINES
                                                          "|" SPACES_AT_END "|" SPACE "+"}};
constexpr SplitStage kSuperBpe[] = {{"\\p{N}+"}, {"\\p{Nd}+", /*cut_before_triples=*/true}};
constexpr SplitStage kBailing[] = {
    {CONTRACTION "|" LETTERS "|\\p{N}|" SYMBOLS "[\\r\\n]*|" SPACE "*[\\r\\n]|" SPACES_AT_END "|" SPACE "+"}};
constexpr SplitStage kSeedCoder[] = {{CONTRACTION "|" LETTERS "|\\p{N}| ?[^" SPACE
                                                  "\\p{L}\\p{N}\\r\\n]+|" LINES "|" SPACES_AT_END "|" SPACE
                                                  "+"}};
constexpr SplitStage kExaoneMoe[] = {
    {CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*+(?: \\p{L}\\p{M}*+)*+)++|\\p{N}|" SYMBOLS
                 "[\\r\\n/]?|" SPACE "*[\\r\\n]|" SPACES_AT_END "|" SPACE "+"}};
constexpr SplitStage kBloom[] = {{NO_SENTENCE_MARKS}};
constexpr SplitStage kViking[] = {{NO_SENTENCE_MARKS}, {"\\p{N}"}};
// Runs of white space are cut into powers of two. Lines are not looked for behind such a piece: had there
// been one, it would have been taken before, and a long run is not searched again for each of its pieces.
#define JAIS_RUN(n) SPACE "{" n "}(?!" NOT_SPACE ")|"
#define JAIS_RUNS                                                                                          \
  JAIS_RUN("512")                                                                                          \
  JAIS_RUN("256") JAIS_RUN("128") JAIS_RUN("64") JAIS_RUN("32") JAIS_RUN("16") JAIS_RUN("8") JAIS_RUN("4") \
      JAIS_RUN("1,2") SPACE
constexpr SplitStage kJais2[] = {{CONTRACTION "|" LETTERS "|\\p{N}{1,3}|" SYMBOLS "[\\r\\n]*|(?<![^" NOT_SPACE
                                              "\\r\\n])" LINES "|" JAIS_RUNS}};
constexpr SplitStage kYoutu[] = {{"[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+|"
                                  "[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}\\x{2014}\\x{FF1A}"
                                  "\\x{FF1B}\\x{FF0C}\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+|"
                                  "[\\x{3105}-\\x{312F}]+|" HAN_AND_KANA},
                                 {CASED_WORDS("\\p{N}", "(?:" CONTRACTION ")?")}};
constexpr SplitStage kMinicpm5[] = {{"\\p{N}{1,3}"}, {CONTRACTION "|" WORDS("\\p{N}+")}};
constexpr SplitStage kLaguna[] = {{"[^\\n]+|\\n+"}, {CONTRACTION "|" WORDS("\\p{N}")}};
constexpr SplitStage kUfakzeka[] = {{WORDS("\\p{N}")}};

constexpr SplitRule kRules[] = {
    // name, stages, ignore_merges, add_bos
    {"default", kDefault, false, false},
    {"gpt-2", kGpt2, false, false},
    {"phi-2", kGpt2, false, false},
    {"mpt", kGpt2, false, false},
    {"olmo", kGpt2, false, false},
    {"jais", kGpt2, false, false},
    {"trillion", kGpt2, false, false},
    {"exaone4", kGpt2, false, false},
    {"gigachat", kGpt2, false, false},
    {"a.x-4.0", kGpt2, false, false},
    {"mellum", kGpt2, false, false},
    {"granite-docling", kGpt2, false, false},
    {"modern-bert", kGpt2, false, false},
    {"roberta-bpe", kGpt2, false, false},
    {"jina-es", kGpt2, false, false},
    {"jina-de", kGpt2, false, false},
    {"jina-v1-en", kGpt2, false, false},
    {"jina-v2-es", kGpt2, false, false},
    {"jina-v2-de", kGpt2, false, false},
    {"jina-v2-code", kGpt2, false, false},
    {"smollm", kDigitsThenGpt2, false, false},
    {"starcoder", kDigitsThenGpt2, false, false},
    {"refact", kDigitsThenGpt2, false, false},
    {"command-r", kDigitsThenGpt2, false, false},
    {"codeshell", kDigitsThenGpt2, false, false},
    {"exaone", kDigitsThenGpt2, false, false},
    {"minerva-7b", kDigitsThenGpt2, false, false},
    {"mellum2", kDigitsThenGpt2, false, false},
    {"llama-bpe", kLlama3, true, true},
    {"llama3", kLlama3, true, true},
    {"llama-v3", kLlama3, true, true},
    {"falcon3", kLlama3, true, true},
    {"falcon-h1", kLlama3, true, true},
    {"pixtral", kLlama3, true, true},
    {"midm-2.0", kLlama3, true, true},
    {"lfm2", kLlama3, true, true},
    {"jina-v5-nano", kLlama3, true, true},
    {"glm4", kLlama3, true, false},
    {"glm5", kLlama3, true, false},
    {"chatglm-bpe", kLlama3, true, false},
    {"dbrx", kLlama3, false, false},
    {"smaug-bpe", kLlama3, false, false},
    {"qwen2", kQwen2, false, false},
    {"deepseek-r1-qwen", kQwen2, false, false},
    {"stablelm2", kQwen2, false, false},
    {"hunyuan", kQwen2, false, false},
    {"megrez", kQwen2, false, false},
    {"solar-open", kQwen2, false, false},
    {"grok-2", kQwen2, false, false},
    {"kormo", kQwen2, false, false},
    {"f2llmv2", kQwen2, false, false},
    {"qwen35", kQwen35, false, false},
    {"gpt-4o", kGpt4o, false, false},
    {"llama4", kGpt4o, false, false},
    {"kanana2", kGpt4o, false, false},
    {"minimax-m2", kGpt4o, false, false},
    {"talkie", kGpt4o, false, false},
    {"tekken", kTekken, true, true},
    {"falcon", kFalcon, false, false},
    {"deepseek-llm", kDeepseekLlm, false, false},
    {"deepseek-coder", kDeepseekCoder, false, false},
    {"deepseek-v3", kDeepseekV3, false, false},
    {"hunyuan-dense", kDeepseekV3, false, false},
    {"hy_v4", kDeepseekV3, false, false},
    {"joyai-llm", kDeepseekV3, false, false},
    {"spark2_5", kSpark, false, false},
    {"kimi-k2", kKimi, false, false},
    {"superbpe", kSuperBpe, false, false},
    {"bailingmoe", kBailing, false, false},
    {"bailingmoe2", kBailing, false, false},
    {"llada-moe", kBailing, false, false},
    {"seed-coder", kSeedCoder, false, false},
    {"exaone-moe", kExaoneMoe, false, false},
    {"bloom", kBloom, false, false},
    {"gpt3-finnish", kBloom, false, false},
    {"poro-chat", kBloom, false, false},
    {"viking", kViking, false, false},
    {"jais-2", kJais2, false, false},
    {"youtu", kYoutu, true, false},
    {"minicpm5", kMinicpm5, true, false},
    {"laguna", kLaguna, false, false},
    {"ufakzeka", kUfakzeka, false, false},
};

}  // namespace

std::span<const SplitRule> SplitRules() {
  return kRules;
}

}  // namespace motley
