// Each format of KV pages x grouped heads x head dims x page sizes, against attention without a cache
// in double arithmetic: what the format loses, and no more. The tolerances are those of
// plugin_api/spec/formats.md.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/conformance/attention_rig.h"
#include "tools/conformance/random.h"
#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

struct KvFormat {
  const char* name;
  uint32_t id;
  uint32_t block;  // values that share a scale: head dims are multiples of it
  double nmse;
};
constexpr uint32_t kQ4_0 = 2;
constexpr KvFormat kKvFormats[] = {
    {"F32", kF32, 1, 1e-9},    {"F16", kF16, 1, 1e-6},    {"BF16", kBF16, 1, 5e-5},
    {"Q8_0", kQ8_0, 32, 2e-4}, {"Q4_0", kQ4_0, 32, 5e-2},
};
std::ostream& operator<<(std::ostream& out, const KvFormat& f) {
  return out << f.name;
}

struct Heads {
  int64_t n_heads, n_kv_heads, dim;
};
constexpr Heads kHeads[] = {{4, 1, 64}, {6, 2, 96}, {4, 4, 128}, {4, 2, 80}};
constexpr int64_t kPageTokens[] = {1, 16, 17, 64};
constexpr int64_t kPositions = 50;

// Sums of four uniform numbers: near enough to normal, of variance 1.
std::vector<float> Normal(int64_t count, const char* name) {
  const Random rng(name);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 4; ++j) sum += rng.Unit(4 * i + j);
    values.push_back(static_cast<float>(sum * std::sqrt(0.75)));
  }
  return values;
}

AttentionConfig Config(const KvFormat& format, const Heads& heads, int64_t page_tokens) {
  AttentionConfig c;
  c.n_heads = heads.n_heads;
  c.n_kv_heads = heads.n_kv_heads;
  c.head_dim = c.v_dim = c.rotary_dim = heads.dim;
  c.page_tokens = page_tokens;
  c.kv_format = format.id;
  c.scale = 1 / std::sqrt(static_cast<double>(heads.dim));
  c.max_seqs = 2;
  c.max_pages = (kPositions + page_tokens - 1) / page_tokens;
  c.kv_pages = 2 * c.max_pages;
  return c;
}

struct Inputs {
  std::vector<float> q, k, v;
};
Inputs MakeInputs(const AttentionConfig& c) {
  return {Normal(kPositions * c.n_heads * c.head_dim, "q"),
          Normal(kPositions * c.n_kv_heads * c.head_dim, "k"),
          Normal(kPositions * c.n_kv_heads * c.v_dim, "v")};
}

void Append(const std::vector<float>& from, int64_t width, int64_t begin, int64_t end,
            std::vector<float>* to) {
  to->insert(to->end(), from.begin() + width * begin, from.begin() + width * end);
}

// Adds positions [begin, end) of the sequence in `row`.
void AddSequence(const AttentionRig& rig, const Inputs& in, int64_t row, int64_t begin, int64_t end,
                 AttentionStepData* d) {
  const AttentionConfig& c = rig.c;
  Append(in.q, c.n_heads * c.head_dim, begin, end, &d->q);
  Append(in.k, c.n_kv_heads * c.head_dim, begin, end, &d->k);
  Append(in.v, c.n_kv_heads * c.v_dim, begin, end, &d->v);
  for (int64_t p = begin; p < end; ++p) d->position.push_back(static_cast<int32_t>(p));
  const std::vector<int32_t> slots = rig.Slots(row, begin, end);
  d->slot.insert(d->slot.end(), slots.begin(), slots.end());
  if (d->row_start.empty()) d->row_start = {0};
  d->row_start.push_back(static_cast<int32_t>(d->position.size()));
  d->kv_len.push_back(static_cast<int32_t>(end));
  d->seq_row.push_back(static_cast<int32_t>(row));
}

// A prompt, then one position after the other.
std::vector<float> RunPrompt(AttentionRig& rig, const Inputs& in, int64_t row) {
  std::vector<float> all;
  for (int64_t begin = 0; begin < kPositions;) {
    const int64_t end = begin == 0 ? kPositions - 5 : begin + 1;
    AttentionStepData d;
    AddSequence(rig, in, row, begin, end, &d);
    std::vector<float> y;
    std::string text;
    EXPECT_EQ(rig.Step(d, &y, &text), MOTLEY_OK) << text;
    all.insert(all.end(), y.begin(), y.end());
    begin = end;
  }
  return all;
}

class L2_Kv : public OnTargetOf<testing::TestWithParam<KvFormat>> {
 protected:
  const KvFormat& format() const { return GetParam(); }

  // Whether the device has such pages; "" or its refusal.
  bool Supports(const AttentionConfig& c, std::string* why) {
    motley_kv_plan plan;
    const motley_status status = session.TryKvPlan(
        c.kv_format, static_cast<uint32_t>(c.page_tokens), static_cast<uint32_t>(c.n_kv_heads),
        static_cast<uint32_t>(c.head_dim), static_cast<uint32_t>(c.v_dim), &plan, why);
    if (status == MOTLEY_OK) return true;
    EXPECT_EQ(status, MOTLEY_UNIMPLEMENTED) << *why;
    EXPECT_FALSE(why->empty()) << "a refusal has a reason";
    return false;
  }
};

TEST_P(L2_Kv, P53_LosesWhatTheFormatLoses) {
  int supported = 0;
  std::string last_refusal;
  for (const Heads& heads : kHeads) {
    for (const int64_t page_tokens : kPageTokens) {
      const AttentionConfig c = Config(format(), heads, page_tokens);
      SCOPED_TRACE("head dim " + std::to_string(heads.dim) + ", pages of " + std::to_string(page_tokens));
      std::string why;
      if (!Supports(c, &why)) {
        last_refusal = why;
        continue;
      }
      ++supported;
      ASSERT_EQ(heads.dim % format().block, 0) << "scales would be shared by two heads";
      AttentionRig rig(session, c);
      rig.MapPages(0, static_cast<int32_t>(c.kv_pages - 1), -1);
      const Inputs in = MakeInputs(c);
      const std::vector<float> y = RunPrompt(rig, in, 0);
      const std::vector<double> expected = PlainAttention(c, in.q, in.k, in.v, kPositions);
      ASSERT_EQ(y.size(), expected.size());
      double error = 0, energy = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        error += (y[i] - expected[i]) * (y[i] - expected[i]);
        energy += expected[i] * expected[i];
      }
      EXPECT_LE(error / energy, format().nmse);
      if (format().id != kF32) {
        EXPECT_GE(error / energy, format().nmse / 1000) << "as if it were not cached in this format";
      }
    }
  }
  if (supported == 0) MOTLEY_UNSUPPORTED(last_refusal);
}

// M13. One sequence's values are not finite: the other's rows have the bits that they have alone.
TEST_P(L2_Kv, P51_NanOfOneSequenceStaysThere) {
  const AttentionConfig c = Config(format(), kHeads[0], 16);
  std::string why;
  if (!Supports(c, &why)) MOTLEY_UNSUPPORTED(why);
  AttentionRig rig(session, c);
  rig.MapPages(0, 0, 2);
  rig.MapPages(1, 1, 2);
  const Inputs clean = MakeInputs(c);
  const int64_t n = 20, width = c.n_heads * c.v_dim;
  AttentionStepData alone;
  AddSequence(rig, clean, 1, 0, n, &alone);
  std::vector<float> expected;
  std::string text;
  ASSERT_EQ(rig.Step(alone, &expected, &text), MOTLEY_OK) << text;
  for (const float poison :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const bool in_values : {false, true}) {
      SCOPED_TRACE(std::to_string(poison) + (in_values ? " in v" : " in k"));
      Inputs broken = clean;
      (in_values ? broken.v : broken.k)[static_cast<size_t>(3 * c.head_dim + 7)] = poison;  // position 3
      AttentionStepData both;
      AddSequence(rig, broken, 0, 0, n, &both);
      AddSequence(rig, clean, 1, 0, n, &both);
      std::vector<float> y;
      ASSERT_EQ(rig.Step(both, &y, &text), MOTLEY_OK) << text;
      const auto row = [&](int64_t t) { return y.data() + t * width; };
      EXPECT_EQ(std::memcmp(row(n), expected.data(), expected.size() * sizeof(float)), 0);
      for (int64_t i = 0; i < 3 * width; ++i)
        ASSERT_TRUE(std::isfinite(y[static_cast<size_t>(i)])) << "before it, " << i;
      EXPECT_FALSE(std::all_of(row(3), row(4), [](float v) { return std::isfinite(v); }))
          << "it must be seen";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, L2_Kv, testing::ValuesIn(kKvFormats),
                         [](const testing::TestParamInfo<KvFormat>& info) {
                           return std::string(info.param.name);
                         });

class L3_LongPrompt : public OnTarget {};

// 32,768 positions, in one step or in pieces: memory grows with n, not with n^2 (4 GiB for one head in
// floats).
TEST_F(L3_LongPrompt, P69_WorkspaceOf32kPositionsIsSmall) {
  for (const int64_t step_tokens : {512, 32768}) {
    AttentionConfig c = Config(kKvFormats[1], kHeads[0], 64);
    c.max_pages = c.kv_pages = 32768 / 64;
    motley_kv_plan plan;
    std::string text;
    MOTLEY_ATTENTION(c);
    ASSERT_EQ(session.TryKvPlan(kF16, 64, 1, 64, 64, &plan, &text), MOTLEY_OK) << text;
    TestGraph g = AttentionGraph(c, plan);
    g.dims[MOTLEY_DIM_N_TOKENS].max = step_tokens;
    g.dims[MOTLEY_DIM_N_PAGES].max = c.max_pages;
    motley_program* program = nullptr;
    Error err;
    ASSERT_EQ(
        session.api->compile(session.device, g.Abi(), {nullptr, 0, sizeof(motley_value), 0}, &program, &err),
        MOTLEY_OK)
        << err.Text();
    motley_program_info info{};
    info.size = sizeof info;
    EXPECT_EQ(session.api->program_info(program, &info, &err), MOTLEY_OK) << err.Text();
    EXPECT_GT(info.workspace, 0u);
    EXPECT_LE(info.workspace, 64ull << 20) << step_tokens << " tokens a step";
    session.api->program_destroy(program);
  }
}

}  // namespace
}  // namespace motley::conformance
