#include "core/sched/step_data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/model/gguf.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_dir.h"

namespace motley {
namespace {

// Two sequences of up to four pages of four tokens, eight tokens a step; every step tensor by its number.
class StepDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::GgufWriter writer;
    writer.SetString("general.architecture", "llama").SetF32("llama.rope.freq_base", 100.0f);
    writer.Write(dir_.path() / "rope.gguf");
    file_ = *GgufFile::Open((dir_.path() / "rope.gguf").string());
    rope_ = std::make_unique<RopeTable>(*RopeTable::Create(*file_, "llama", 4));
    limits_.max_tokens = 8;
    limits_.max_seqs = 2;
    limits_.max_outputs = 3;
    limits_.max_pages = 4;
    limits_.kv_pages = 8;
    limits_.page_tokens = 4;
    tensors_ = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};  // counts, token, position, slot, row_start, kv_len, seq_row, ...
    step_ = std::make_unique<StepData>(limits_, tensors_, *rope_);
  }

  std::vector<int32_t> Field(TensorId tensor, size_t count) const {
    std::vector<int32_t> values(count);
    for (const StepField& field : step_->fields()) {
      if (field.tensor == tensor) std::memcpy(values.data(), step_->block() + field.offset, count * sizeof(int32_t));
    }
    return values;
  }

  using Ids = std::vector<int32_t>;
  test::TempDir dir_;
  std::unique_ptr<WeightsFile> file_;
  std::unique_ptr<RopeTable> rope_;
  GraphLimits limits_;
  StepTensors tensors_;
  std::unique_ptr<StepData> step_;
};

TEST_F(StepDataTest, BytesAreKnownWithoutMakingOne) {
  EXPECT_EQ(StepData::Bytes(limits_, rope_->rotary_dim()), step_->block_bytes() + step_->pages().size_bytes());
  // What no memory holds is only counted: 2^40 pages of 4 bytes.
  limits_.max_seqs = int64_t{1} << 12;
  limits_.max_pages = int64_t{1} << 28;
  EXPECT_GT(StepData::Bytes(limits_, rope_->rotary_dim()), uint64_t{1} << 42);
}

TEST_F(StepDataTest, LaysOutTwoSequences) {
  for (int64_t page = 0; page < 2; ++page) step_->SetPage(1, page, static_cast<int32_t>(5 - page));
  step_->SetPage(0, 0, 2);
  const Ids first = {11, 12, 13}, second = {21};
  ASSERT_TRUE(step_->AddSequence(1, 3, first, StepData::Outputs::kLast).ok());
  ASSERT_TRUE(step_->AddSequence(0, 0, second, StepData::Outputs::kAll).ok());
  EXPECT_EQ(step_->dims(), (SymbolValues{4, 2, 2, 2, 3}));
  EXPECT_EQ(Field(tensors_.counts, 5), (Ids{4, 2, 2, 2, 3}));
  EXPECT_EQ(Field(tensors_.token, 4), (Ids{11, 12, 13, 21}));
  EXPECT_EQ(Field(tensors_.position, 4), (Ids{3, 4, 5, 0}));
  // Position 3 is the last of page 5, 4 and 5 the first of page 4.
  EXPECT_EQ(Field(tensors_.slot, 4), (Ids{5 * 4 + 3, 4 * 4, 4 * 4 + 1, 2 * 4}));
  EXPECT_EQ(Field(tensors_.row_start, 3), (Ids{0, 3, 4}));
  EXPECT_EQ(Field(tensors_.kv_len, 2), (Ids{6, 1}));
  EXPECT_EQ(Field(tensors_.seq_row, 2), (Ids{1, 0}));
  EXPECT_EQ(Field(tensors_.out_row, 2), (Ids{2, 3}));
}

TEST_F(StepDataTest, WritesCosinesAndSinesOfThePosition) {
  const Ids tokens = {1, 1};
  ASSERT_TRUE(step_->AddSequence(0, 0, tokens, StepData::Outputs::kNone).ok());
  const Ids bits = Field(tensors_.rope, 8);
  float values[8];
  std::memcpy(values, bits.data(), sizeof(values));
  // Base 100 over 4 dims: frequencies 1 and 0.1.
  const double expected[8] = {1, 1, 0, 0, std::cos(1.0), std::cos(0.1), std::sin(1.0), std::sin(0.1)};
  for (int i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(values[i], static_cast<float>(expected[i])) << i;
}

TEST_F(StepDataTest, RefusesWhatExceedsTheStepAndAddsNothing) {
  const Ids nine(9, 1), four(4, 1);
  EXPECT_EQ(step_->AddSequence(0, 0, nine, StepData::Outputs::kNone).code(), Code::kFailedPrecondition);
  EXPECT_EQ(step_->AddSequence(0, 0, four, StepData::Outputs::kAll).code(), Code::kFailedPrecondition);
  EXPECT_EQ(step_->AddSequence(0, 13, four, StepData::Outputs::kNone).code(), Code::kFailedPrecondition);
  EXPECT_EQ(step_->AddSequence(2, 0, four, StepData::Outputs::kNone).code(), Code::kFailedPrecondition);
  EXPECT_EQ(step_->dims(), (SymbolValues{0, 0, 0, 0, 1}));
}

TEST_F(StepDataTest, SendsOnlyPagesThatChanged) {
  step_->ClearPageUpdates();
  step_->SetPage(1, 0, 3);
  step_->SetPage(1, 1, 4);
  step_->SetPage(0, 2, 5);
  ASSERT_EQ(step_->page_updates().size(), 2u);
  EXPECT_EQ(step_->page_updates()[0].begin, 4u);
  EXPECT_EQ(step_->page_updates()[0].count, 2u);
  EXPECT_EQ(step_->page_updates()[1].begin, 2u);
  step_->MarkPagesLost();
  ASSERT_EQ(step_->page_updates().size(), 1u);
  EXPECT_EQ(step_->page_updates()[0].count, 8u);
}

TEST_F(StepDataTest, AStepOfOneTokenWritesLittle) {
  GraphLimits large = limits_;
  large.max_tokens = 512;
  StepData step(large, tensors_, *rope_);
  const Ids one = {1};
  ASSERT_TRUE(step.AddSequence(0, 0, one, StepData::Outputs::kNone).ok());
  EXPECT_LT(step.used_bytes(), 8192u);
  EXPECT_GT(step.block_bytes(), step.used_bytes());
}

}  // namespace
}  // namespace motley
