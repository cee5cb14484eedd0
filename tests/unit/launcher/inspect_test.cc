// Figures of inspect, from files whose figures are known by hand.
#include "tools/motley/inspect_report.h"

#include <gtest/gtest.h>

#include "core/model/gguf.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace motley {
namespace {

using test::GgufWriter;

class Inspect : public testing::Test {
 protected:
  InspectReport Of(const GgufWriter& gguf) {
    const auto path = dir_.path() / "model.gguf";
    gguf.Write(path);
    auto file = GgufFile::Open(path.string());
    EXPECT_TRUE(file.ok()) << file.status().message();
    if (!file.ok()) return {};
    auto report = InspectModel(**file);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? *report : InspectReport{};
  }
  static void AddF32(GgufWriter* gguf, const std::string& name, std::vector<uint64_t> dims_ne) {
    uint64_t elements = 1;
    for (const uint64_t dim : dims_ne) elements *= dim;
    gguf->AddTensor(name, Format::kF32, dims_ne, std::string(elements * 4, '\0'));
  }

  test::TempDir dir_;
};

TEST_F(Inspect, TellsSizeShapeAndCacheOfAModelThatRuns) {
  const test::TinyModelSpec* spec = test::FindTinyModel("llama-tied-f32");
  ASSERT_NE(spec, nullptr);
  auto gguf = test::MakeTinyModel(*spec);
  ASSERT_TRUE(gguf.ok());
  gguf->SetString("tokenizer.chat_template", "{{'<|im_start|>'}}{% if tools %}{% endif %}");
  AddF32(&*gguf, "blk.0.surplus.weight", {32, 2});
  const InspectReport report = Of(*gguf);
  // hidden 96, ffn 160, 3 layers, 6 heads, 2 of keys and values, of 16; 320 rows of embedding, which is the
  // head too.
  const uint64_t layer = 96 * 96 + 2 * 96 * 32 + 96 * 96 + 3 * 96 * 160 + 2 * 96;
  EXPECT_EQ(report.size.parameters, 320 * 96 + 3 * layer + 96 + 64);
  EXPECT_EQ(report.size.active_parameters, report.size.parameters);
  EXPECT_EQ(report.shape.layers, 3u);
  EXPECT_EQ(report.shape.heads, 6u);
  EXPECT_EQ(report.shape.kv_heads, 2u);
  EXPECT_EQ(report.shape.head_dim, 16u);
  EXPECT_EQ(report.shape.context, 512u);
  EXPECT_TRUE(report.shape.tied_head);
  EXPECT_EQ(report.kv.Bytes(1, false), 3u * 2 * (16 + 16) * 2);
  EXPECT_EQ(report.kv.Bytes(512, true), 512u * 3 * 2 * (16 + 16) / 32 * 34);
  EXPECT_EQ(report.unused, std::vector<std::string>{"blk.0.surplus.weight"});
  EXPECT_TRUE(report.problems.empty()) << report.problems[0];
  EXPECT_EQ(report.vocabulary.tokens, 320u);
  ASSERT_EQ(report.vocabulary.specials.size(), 3u);
  EXPECT_EQ(report.vocabulary.specials[1].role, "eos");
  EXPECT_EQ(report.vocabulary.specials[1].text, "<|im_end|>");
  EXPECT_EQ(report.vocabulary.specials[2].role, "end");  // <|endoftext|> ends an answer too
  EXPECT_EQ(report.chat.family, "ChatML");
  EXPECT_TRUE(report.chat.tools);
  EXPECT_FALSE(report.chat.thinking);
  ASSERT_EQ(report.size.formats.size(), 1u);
  EXPECT_EQ(report.size.formats[0].bytes, report.size.parameters * 4);
}

// A mixture of experts of an architecture that may not be known: 3 layers and one that predicts further
// tokens.
TEST_F(Inspect, CountsWhatATokenUsesOfAMixture) {
  GgufWriter gguf;
  gguf.SetString("general.architecture", "somemoe").SetU32("somemoe.block_count", 4);
  gguf.SetU32("somemoe.nextn_predict_layers", 1).SetU32("somemoe.expert_count", 8);
  gguf.SetU32("somemoe.expert_used_count", 2).SetU32("somemoe.expert_shared_count", 1);
  gguf.SetU32("somemoe.attention.head_count", 4).SetU32("somemoe.attention.head_count_kv", 1);
  gguf.SetU32("somemoe.attention.key_length", 16).SetU32("somemoe.attention.value_length", 32);
  gguf.SetU32("somemoe.embedding_length", 32).SetU32("somemoe.context_length", 1000);
  AddF32(&gguf, "token_embd.weight", {32, 10});
  AddF32(&gguf, "output.weight", {32, 10});
  for (int layer = 0; layer < 4; ++layer) {
    const std::string p = "blk." + std::to_string(layer) + ".";
    AddF32(&gguf, p + "attn_q.weight", {32, 64});
    AddF32(&gguf, p + "ffn_up_exps.weight", {32, 16, 8});
    AddF32(&gguf, p + "ffn_up_shexp.weight", {32, 16});
  }
  const InspectReport report = Of(gguf);
  EXPECT_EQ(report.size.parameters, 2u * 320 + 4 * (2048 + 4096 + 512));
  EXPECT_EQ(report.size.active_parameters, 2u * 320 + 3 * (2048 + 1024 + 512));
  EXPECT_EQ(report.shape.layers, 3u);
  EXPECT_EQ(report.shape.extra_layers, 1u);
  EXPECT_FALSE(report.shape.tied_head);
  EXPECT_EQ(report.kv.Bytes(1, false), 3u * (16 + 32) * 2);
  ASSERT_FALSE(report.problems.empty());
  EXPECT_NE(report.problems[0].find("somemoe"), std::string::npos) << report.problems[0];
}

// The sums of field-failures' P01, and the latent of MLA: 61 layers of 512 + 64.
TEST_F(Inspect, CacheFiguresAreThoseOfLargeModels) {
  GgufWriter dense;
  dense.SetString("general.architecture", "a")
      .SetU32("a.block_count", 92)
      .SetU32("a.attention.head_count", 96);
  dense.SetU32("a.attention.head_count_kv", 8).SetU32("a.attention.key_length", 128);
  dense.SetU32("a.context_length", 65536).SetU32("a.embedding_length", 5120);
  const InspectReport gqa = Of(dense);
  EXPECT_EQ(gqa.kv.Bytes(65536, false), 23552ull << 20);
  EXPECT_EQ(gqa.kv.Bytes(65536, true), 12512ull << 20);
  EXPECT_FALSE(gqa.has_model);

  GgufWriter mla;
  mla.SetString("general.architecture", "b")
      .SetU32("b.block_count", 61)
      .SetU32("b.attention.kv_lora_rank", 512);
  mla.SetU32("b.rope.dimension_count", 64).SetU32("b.attention.head_count", 128);
  EXPECT_EQ(Of(mla).kv.values_per_token, 61u * 576);

  GgufWriter absurd;
  absurd.SetString("general.architecture", "c").SetU64("c.block_count", uint64_t{1} << 40);
  absurd.SetU64("c.attention.head_count", uint64_t{1} << 40).SetU64("c.embedding_length", uint64_t{1} << 50);
  EXPECT_FALSE(Of(absurd).kv.known);
}

TEST(InspectTemplate, KnowsFamiliesByTheirMarks) {
  const struct {
    const char* text;
    const char* family;
  } rows[] = {
      {"", ""},
      {"{{'<|im_start|>' + role}}", "ChatML"},
      {"<|start_header_id|>user", "Llama 3"},
      {"[gMASK]<sop><|user|>", "GLM-4"},
      {"[INST] {{x}} [/INST]", "Mistral"},
      {"<start_of_turn>user", "Gemma"},
      {"{{x}}", ""},
  };
  for (const auto& row : rows) EXPECT_EQ(InspectTemplate(row.text).family, row.family) << row.text;
  EXPECT_TRUE(InspectTemplate("{% if enable_thinking %}").thinking);
}

}  // namespace
}  // namespace motley
