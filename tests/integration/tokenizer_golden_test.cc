// The tokenizer over small vocabularies that others trained, against the ids that others gave
// (tests/golden/tokenizer, made by tokenizer_golden.py): every split rule, and SentencePiece with and without
// bytes, prefix and white space.
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>

#include "core/engine/vocab_reader.h"
#include "core/model/gguf.h"
#include "core/text/detokenizer.h"
#include "core/text/split_rules.h"
#include "core/text/tokenizer.h"

namespace motley {
namespace {

using Ids = std::vector<int32_t>;

const std::string kFolder = std::string(MOTLEY_SOURCE_DIR) + "/tests/golden/tokenizer/";

boost::json::array ReadRows(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  EXPECT_TRUE(!error && value.is_array()) << name << ": " << error.message();
  return value.is_array() ? std::move(value.as_array()) : boost::json::array();
}

std::vector<std::string> Texts() {
  std::vector<std::string> texts;
  for (const auto& text : ReadRows("texts.json")) texts.push_back(boost::json::value_to<std::string>(text));
  return texts;
}

std::unique_ptr<GgufFile> Open(const std::string& name) {
  auto file = GgufFile::Open(kFolder + name);
  EXPECT_TRUE(file.ok()) << file.status().ToString();
  return file.ok() ? *std::move(file) : nullptr;
}

StatusOr<Tokenizer> Make(const GgufFile& file, std::string_view pre) {
  MOTLEY_ASSIGN_OR_RETURN(VocabSource source, ReadVocabulary(file.metadata()));
  source.pre = pre;
  return Tokenizer::Create(source);
}

Ids Encode(const Tokenizer& tokenizer, const std::string& text) {
  EncodeOptions options;
  options.add_bos = false;
  const auto ids = tokenizer.Encode(text, options);
  EXPECT_TRUE(ids.ok()) << ids.status().ToString();
  return ids.ok() ? *ids : Ids{};
}

std::string Pieces(const Tokenizer& tokenizer, const Ids& ids) {
  std::string text;
  for (const int32_t id : ids) text += "[" + tokenizer.TokenPiece(id) + "]";
  return text;
}

// How many of the golden file's names were compared.
TEST(TokenizerGolden, EverySplitRuleGivesTheIdsOfAnIndependentTokenizer) {
  const auto file = Open("byte_level.gguf");
  ASSERT_NE(file, nullptr);
  const std::vector<std::string> texts = Texts();
  const boost::json::array rows = ReadRows("byte_level.json");
  ASSERT_EQ(rows.size(), texts.size());
  std::map<std::string, Tokenizer> tokenizers;
  std::map<std::string, int> compared;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const auto& row : rows[i].as_array()) {
      const Ids expected = boost::json::value_to<Ids>(row.at(1));
      std::istringstream names(boost::json::value_to<std::string>(row.at(0)));
      for (std::string name; names >> name;) {
        if (!tokenizers.contains(name)) {
          auto made = Make(*file, name);
          ASSERT_TRUE(made.ok()) << made.status().ToString();
          tokenizers.emplace(name, *std::move(made));
        }
        const Tokenizer& tokenizer = tokenizers.at(name);
        const Ids ids = Encode(tokenizer, texts[i]);
        EXPECT_EQ(ids, expected) << name << ", text " << i << ": " << Pieces(tokenizer, ids) << ", not "
                                 << Pieces(tokenizer, expected);
        EXPECT_EQ(Decode(tokenizer, ids), texts[i]) << name;
        ++compared[name];
      }
    }
  }
  for (const auto& [name, count] : compared) EXPECT_EQ(count, static_cast<int>(texts.size())) << name;
  // Each rule stands in the file under one of its names; the others share its stages.
  for (const SplitRule& rule : SplitRules()) {
    bool covered = false;
    for (const SplitRule& other : SplitRules()) {
      covered = covered || (other.stages.data() == rule.stages.data() && compared.contains(other.name));
    }
    EXPECT_TRUE(covered) << rule.name;
  }
}

struct SpmCase {
  const char* name;
  bool whole;  // every text comes back
};
void PrintTo(const SpmCase& c, std::ostream* out) {
  *out << c.name;
}

class SentencePieceGolden : public testing::TestWithParam<SpmCase> {};

TEST_P(SentencePieceGolden, TheIdsAreSentencePiecesOwn) {
  const auto file = Open(GetParam().name + std::string(".gguf"));
  ASSERT_NE(file, nullptr);
  const auto tokenizer = Make(*file, "");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
  EXPECT_TRUE(tokenizer->warnings().empty());
  const std::vector<std::string> texts = Texts();
  const boost::json::array rows = ReadRows(GetParam().name + std::string(".json"));
  ASSERT_EQ(rows.size(), texts.size());
  int returned = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Ids expected = boost::json::value_to<Ids>(rows[i]);
    const Ids ids = Encode(*tokenizer, texts[i]);
    EXPECT_EQ(ids, expected) << "text " << i << ": " << Pieces(*tokenizer, ids) << ", not "
                             << Pieces(*tokenizer, expected);
    const bool has_mark = texts[i].find("\u2581") != std::string::npos;  // a space to SentencePiece
    if (!GetParam().whole || has_mark) continue;
    EXPECT_EQ(Decode(*tokenizer, ids), texts[i]);
    ++returned;
  }
  EXPECT_EQ(returned > 200, GetParam().whole);
}

INSTANTIATE_TEST_SUITE_P(, SentencePieceGolden,
                         testing::Values(SpmCase{"spm_bytes", true}, SpmCase{"spm_plain", true},
                                         SpmCase{"spm_unknown", false}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace motley
