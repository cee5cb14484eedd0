// The tiny models made here are those that the references ran with.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/support/counter_random.h"
#include "tests/support/golden_case.h"
#include "tests/support/random_blocks.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace motley::test {
namespace {

class TinyModelTest : public testing::TestWithParam<TinyModelSpec> {};

std::string ParamName(const testing::TestParamInfo<TinyModelSpec>& info) {
  std::string name(info.param.name);
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

TEST_P(TinyModelTest, TensorsAreThoseOfThePythonGenerator) {
  const auto golden = LoadGoldenCase(GetParam().name);
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  const auto tensors = MakeTinyTensors(GetParam());
  ASSERT_TRUE(tensors.ok()) << tensors.status().ToString();
  ASSERT_EQ(tensors->size(), golden->tensors.size());
  for (size_t i = 0; i < tensors->size(); ++i) {
    EXPECT_EQ((*tensors)[i].name, golden->tensors[i].name);
    EXPECT_EQ(Checksum((*tensors)[i].bytes), golden->tensors[i].checksum) << (*tensors)[i].name;
  }
}

TEST_P(TinyModelTest, GoldenLogitsAreWhole) {
  const auto golden = LoadGoldenCase(GetParam().name);
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  // Prompts of 63 and 64 tokens are prefixes of those of F32; a model of another format need not be long.
  EXPECT_GE(golden->n_positions(), GetParam().format == Format::kF32 ? 64 : 32);
  double min_gap = 1e9;
  for (int64_t p = 0; p < golden->n_positions(); ++p) {
    const TopTwo top = FindTopTwo(std::span(golden->logits).subspan(p * golden->n_vocab, golden->n_vocab));
    min_gap = std::min(min_gap, top.gap);
    if (p + 1 >= golden->n_prompt && p + 1 < golden->n_positions()) {
      EXPECT_EQ(top.argmax, golden->tokens[p + 1]) << "greedy at position " << p;
    }
  }
  EXPECT_NEAR(min_gap, golden->min_gap, 1e-5);
  // Tests that compare tokens need gaps wider than ten times what F32 kernels may blur.
  if (GetParam().format == Format::kF32) {
    EXPECT_GT(golden->min_gap, 10 * NearTieTolerance("f32").gap);
  }
}

TEST_P(TinyModelTest, FileIsWrittenWithAVocabulary) {
  const TempDir dir;
  const auto path = dir.path() / "tiny.gguf";
  ASSERT_TRUE(WriteTinyModel(GetParam(), path).ok());
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(bytes.substr(0, 4), "GGUF");
  EXPECT_NE(bytes.find("tokenizer.ggml.merges"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(, TinyModelTest, testing::ValuesIn(TinyModels().begin(), TinyModels().end()), ParamName);

TEST(TinyModel, NamesWhatItCannotMake) {
  TinyModelSpec spec = TinyModels()[0];
  spec.format = Format::kQ4_K;  // rows of hidden = 96 elements are no whole blocks of 256
  const auto tensors = MakeTinyTensors(spec);
  ASSERT_FALSE(tensors.ok());
  EXPECT_EQ(tensors.status().code(), Code::kInvalidArgument);
  EXPECT_NE(tensors.status().message().find("token_embd.weight"), std::string::npos) << tensors.status().message();
  spec.format = Format::kI64;
  EXPECT_EQ(MakeTinyTensors(spec).status().code(), Code::kUnimplemented);
  EXPECT_EQ(FindTinyModel("llama-none"), nullptr);
}

TEST(CounterRandom, IsTheDocumentedFunction) {
  // By tests/golden/counter.py.
  EXPECT_EQ(HashName(""), 0xCBF29CE484222325u);
  EXPECT_EQ(HashName("token_embd.weight"), 0x2D85B88E70E67727u);
  const CounterRandom rng(7, "a");
  EXPECT_EQ(rng.At(0), 0xB38BA4FEC8C3FF89u);
  EXPECT_EQ(rng.At(1000000), 0x850FF81EA6BE08D0u);
  const std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  EXPECT_EQ(Checksum(bytes), 0x22812900FF03FB8Eu);
  EXPECT_EQ(Checksum({}), Mix64(0));
}

TEST(CounterRandom, ChecksumSeesOrderLengthAndEveryByte) {
  std::vector<uint8_t> bytes(24);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  const uint64_t sum = Checksum(bytes);
  for (uint8_t& byte : bytes) {
    byte ^= 1;
    EXPECT_NE(Checksum(bytes), sum);
    byte ^= 1;
  }
  std::vector<uint8_t> swapped = bytes;
  std::swap_ranges(swapped.begin(), swapped.begin() + 8, swapped.begin() + 8);
  EXPECT_NE(Checksum(swapped), sum);
  bytes.push_back(0);
  EXPECT_NE(Checksum(bytes), sum);
}

}  // namespace
}  // namespace motley::test
