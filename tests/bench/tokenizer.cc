// How long 100 KB of text take to tokenize, by vocabulary and kind of text, and a megabyte of one character.
//
//   bench_tokenizer VOCABULARY.gguf... [--benchmark_filter=REGEX]
//
// The public vocabularies are where tools/scripts/fetch_public_texts puts them. Times are CPU time.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/vocab_reader.h"
#include "core/model/gguf.h"
#include "core/text/tokenizer.h"

namespace motley {
namespace {

constexpr size_t kBytes = 100'000, kMegabyte = 1 << 20;

void AppendCharacter(char32_t c, std::string* text) {
  if (c < 0x80) {
    text->push_back(static_cast<char>(c));
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr int kLead[] = {0, 0xC0, 0xE0, 0xF0};
  text->push_back(static_cast<char>(kLead[more] | static_cast<int>(c >> (6 * more))));
  for (int i = more - 1; i >= 0; --i) text->push_back(static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3F)));
}

// Words of characters of [first, last], with `marks` between them: nothing is repeated, so that no cache
// flatters.
std::string Words(char32_t first, char32_t last, int longest, const std::vector<std::string>& marks) {
  std::mt19937 random(1);
  std::string text;
  while (text.size() < kBytes) {
    for (size_t n = 1 + random() % static_cast<unsigned>(longest); n > 0; --n) {
      AppendCharacter(first + random() % (last - first + 1), &text);
    }
    text += marks[random() % marks.size()];
  }
  text.resize(kBytes);
  return text;
}

std::string Repeated(const std::string& unit) {
  std::string text;
  while (text.size() < kMegabyte) text += unit;
  return text;
}

std::vector<std::pair<std::string, std::string>> Texts() {
  return {
      {"latin", Words('a', 'z', 9, {" ", " ", " ", ", ", ". ", "'s ", "\n\n"})},
      {"capitals", Words('A', 'z', 9, {" ", "_", "("})},
      {"code",
       Words('a', 'z', 7, {"(", ");\n    ", " = ", "->", "::", " {\n\t", "}\n\n", ", ", "[0]", " // "})},
      {"digits", Words('0', '9', 12, {" ", ".", ", "})},
      {"cyrillic", Words(0x430, 0x44F, 9, {" ", " ", ", ", ". "})},
      {"han", Words(0x4E00, 0x57FF, 12, {"，", "。", "！"})},
      {"emoji", Words(0x1F600, 0x1F64F, 4, {" ", "!"})},
      {"1MB_a", Repeated("a")},
      {"1MB_spaces", Repeated(" ")},
      {"1MB_newlines", Repeated("\n")},
      {"1MB_emoji", Repeated("\U0001F999")},
      {"1MB_invalid", Repeated("\xFF")},
  };
}

void Encode(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  size_t ids = 0;
  for (auto _ : state) {
    const auto encoded = tokenizer.Encode(text);
    if (!encoded.ok()) return state.SkipWithError(encoded.status().ToString().c_str());
    ids = encoded->size();
  }
  state.counters["ids"] = static_cast<double>(ids);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}

StatusOr<Tokenizer> Load(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(const auto file, GgufFile::Open(path));
  MOTLEY_ASSIGN_OR_RETURN(const VocabSource source, ReadVocabulary(file->metadata()));
  return Tokenizer::Create(source);
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) {
  using namespace motley;
  benchmark::Initialize(&argc, argv);
  const auto texts = Texts();
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  for (int i = 1; i < argc; ++i) {
    auto tokenizer = Load(argv[i]);
    if (!tokenizer.ok()) {
      std::fprintf(stderr, "%s\n", tokenizer.status().ToString().c_str());
      return 2;
    }
    tokenizers.push_back(std::make_unique<Tokenizer>(*std::move(tokenizer)));
    const std::string stem = std::filesystem::path(argv[i]).stem();
    for (const auto& text : texts) {
      benchmark::RegisterBenchmark((stem + "/" + text.first).c_str(), [&text,
                                                                       tokenizer = tokenizers.back().get()](
                                                                          benchmark::State& state) {
        Encode(state, *tokenizer, text.second);
      })->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
