// The tokenizer's part of the metadata.
#include <gtest/gtest.h>

#include "tests/unit/model/gguf_reject.h"

namespace motley {
namespace {

using test::ExpectReject;
using test::GgufWriter;
using test::TempDir;

GgufWriter Sound() {
  GgufWriter w;
  w.SetString("tokenizer.ggml.model", "gpt2").SetString("tokenizer.ggml.pre", "smollm");
  w.SetStrings("tokenizer.ggml.tokens", {"<unk>", "a", "b", "ab"});
  w.SetI32s("tokenizer.ggml.token_type", {2, 1, 1, 1});
  w.SetF32s("tokenizer.ggml.scores", {0, -1, -2, -3});
  w.SetStrings("tokenizer.ggml.merges", {"a b"});
  w.SetU32("tokenizer.ggml.bos_token_id", 3).SetBool("tokenizer.ggml.add_bos_token", true);
  return w;
}

void ExpectOpens(const GgufWriter& writer) {
  const TempDir dir;
  writer.Write(dir.path() / "v.gguf");
  const auto file = GgufFile::Open(dir.path() / "v.gguf");
  EXPECT_TRUE(file.ok()) << file.status().ToString();
}

TEST(GgufVocabulary, ASoundOneOpens) {
  ExpectOpens(Sound());
  ExpectOpens(Sound().Remove("tokenizer.ggml.token_type").Remove("tokenizer.ggml.scores"));
  ExpectOpens(Sound().SetU32s("tokenizer.ggml.token_type", {2, 1, 3, 4}));
  ExpectOpens(Sound().SetU8("tokenizer.ggml.bos_token_id", 0));
  ExpectOpens(Sound().SetStrings("tokenizer.ggml.tokens", {"<unk>", "<0x0A>", "<0xff>", "<0x"}));
  ExpectOpens(Sound().SetStrings("tokenizer.ggml.merges", {"  b", "a b"}));  // a token may begin with a space
}

TEST(FieldFailure, G08_TypesOfTheVocabularysArrays) {
  ExpectReject(Sound().SetU8s("tokenizer.ggml.token_type", {2, 1, 1, 1}), {"tokenizer.ggml.token_type", "u8", "i32"});
  ExpectReject(Sound().SetF32s("tokenizer.ggml.token_type", {2, 1, 1, 1}), {"tokenizer.ggml.token_type", "f32"});
  ExpectReject(Sound().SetI32("tokenizer.ggml.token_type", 1), {"tokenizer.ggml.token_type"});
  ExpectReject(Sound().SetU8s("tokenizer.ggml.scores", {0, 0, 0, 0}), {"tokenizer.ggml.scores", "u8", "f32"});
  ExpectReject(Sound().SetStrings("tokenizer.ggml.scores", {"0", "0", "0", "0"}), {"tokenizer.ggml.scores", "string"});
  ExpectReject(Sound().SetU8s("tokenizer.ggml.tokens", {0, 0, 0, 0}), {"tokenizer.ggml.tokens", "u8"});
  ExpectReject(Sound().SetString("tokenizer.ggml.tokens", "abc"), {"tokenizer.ggml.tokens", "string"});
  ExpectReject(Sound().SetI32s("tokenizer.ggml.merges", {1}), {"tokenizer.ggml.merges", "i32"});
  ExpectReject(Sound().SetU32("tokenizer.ggml.pre", 1), {"tokenizer.ggml.pre", "u32"});
  ExpectReject(Sound().SetU32("tokenizer.ggml.add_bos_token", 1), {"tokenizer.ggml.add_bos_token", "u32"});
  ExpectReject(Sound().SetU32("tokenizer.chat_template", 1), {"tokenizer.chat_template", "u32"});
}

TEST(FieldFailure, G08_LengthsOfTheVocabularysArrays) {
  ExpectReject(Sound().SetI32s("tokenizer.ggml.token_type", {1, 1, 1}), {"tokenizer.ggml.token_type", "3", "4 tokens"});
  ExpectReject(Sound().SetI32s("tokenizer.ggml.token_type", {}), {"tokenizer.ggml.token_type", "0", "4 tokens"});
  ExpectReject(Sound().SetF32s("tokenizer.ggml.scores", {1, 1, 1, 1, 1}), {"tokenizer.ggml.scores", "5", "4 tokens"});
  ExpectReject(Sound().SetStrings("tokenizer.ggml.tokens", {}), {"tokenizer.ggml.tokens", "empty"});
  ExpectReject(Sound().Remove("tokenizer.ggml.tokens"), {"tokenizer.ggml.tokens", "missing"});
}

TEST(FieldFailure, G08_ValuesOfTheVocabulary) {
  ExpectReject(Sound().SetI32s("tokenizer.ggml.token_type", {2, 1, 7, 1}), {"tokenizer.ggml.token_type [2] = 7"});
  ExpectReject(Sound().SetI32s("tokenizer.ggml.token_type", {2, -1, 1, 1}), {"tokenizer.ggml.token_type [1] = -1"});
  ExpectReject(Sound().SetStrings("tokenizer.ggml.tokens", {"<unk>", "a", "<0x-1>", "b"}),
               {"tokenizer.ggml.tokens [2]", "<0x-1>"});
  ExpectReject(Sound().SetI32s("tokenizer.ggml.token_type", {2, 1, 1, 6}), {"tokenizer.ggml.tokens [3]", "byte"});
  ExpectReject(Sound().SetStrings("tokenizer.ggml.merges", {"a b", "ab"}), {"tokenizer.ggml.merges [1]", "\"ab\""});
  ExpectReject(Sound().SetStrings("tokenizer.ggml.merges", {""}), {"tokenizer.ggml.merges [0]"});
  ExpectReject(Sound().SetStrings("tokenizer.ggml.merges", {"a "}), {"tokenizer.ggml.merges [0]"});
  ExpectReject(Sound().SetStrings("tokenizer.ggml.merges", {" "}), {"tokenizer.ggml.merges [0]"});
}

TEST(FieldFailure, G08_IdsAreThoseOfTokens) {
  ExpectReject(Sound().SetU32("tokenizer.ggml.bos_token_id", 4), {"tokenizer.ggml.bos_token_id = 4"});
  ExpectReject(Sound().SetU32("tokenizer.ggml.eot_token_id", UINT32_MAX), {"tokenizer.ggml.eot_token_id", "4294967295"});
  ExpectReject(Sound().SetI32("tokenizer.ggml.eos_token_id", -1), {"tokenizer.ggml.eos_token_id = -1"});
  ExpectReject(Sound().SetF32("tokenizer.ggml.padding_token_id", 0), {"tokenizer.ggml.padding_token_id", "f32"});
}

}  // namespace
}  // namespace motley
