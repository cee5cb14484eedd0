// attention: by hand, against plain double arithmetic, and what must not change its bits.
#include <cmath>
#include <limits>

#include "tools/conformance/allocations.h"
#include "tools/conformance/attention_rig.h"
#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

class L2_Attention : public OnTarget {};
class L3_Attention : public OnTarget {};

std::vector<float> Wave(int64_t count, double step, double phase) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(std::sin(step * static_cast<double>(i) + phase)));
  return values;
}

std::vector<float> Part(const std::vector<float>& values, int64_t width, int64_t begin, int64_t end) {
  return {values.begin() + width * begin, values.begin() + width * end};
}

std::vector<int32_t> Count(int64_t begin, int64_t end) {
  std::vector<int32_t> values;
  for (int64_t i = begin; i < end; ++i) values.push_back(static_cast<int32_t>(i));
  return values;
}

// Positions [begin, end) of one sequence in row 0.
AttentionStepData Chunk(const AttentionRig& rig, const std::vector<float>& q, const std::vector<float>& k,
                        const std::vector<float>& v, int64_t begin, int64_t end) {
  const AttentionConfig& c = rig.c;
  AttentionStepData d;
  d.q = Part(q, c.n_heads * c.head_dim, begin, end);
  d.k = Part(k, c.n_kv_heads * c.head_dim, begin, end);
  d.v = Part(v, c.n_kv_heads * c.v_dim, begin, end);
  d.position = Count(begin, end);
  d.slot = rig.Slots(0, begin, end);
  d.row_start = {0, static_cast<int32_t>(end - begin)};
  d.kv_len = {static_cast<int32_t>(end)};
  d.seq_row = {0};
  return d;
}

// Runs n positions in pieces of `chunk`.
std::vector<float> RunAll(AttentionRig& rig, const std::vector<float>& q, const std::vector<float>& k,
                          const std::vector<float>& v, int64_t n, int64_t chunk) {
  std::vector<float> all;
  for (int64_t begin = 0; begin < n; begin += chunk) {
    std::vector<float> y;
    std::string text;
    EXPECT_EQ(rig.Step(Chunk(rig, q, k, v, begin, std::min(n, begin + chunk)), &y, &text), MOTLEY_OK) << text;
    all.insert(all.end(), y.begin(), y.end());
  }
  return all;
}

// One head of one dim, no rotation, scale 1.
AttentionConfig OneNumber() {
  AttentionConfig c;
  c.n_heads = c.n_kv_heads = 1;
  c.head_dim = c.v_dim = 1;
  c.rotary_dim = 0;
  c.scale = 1;
  return c;
}

// Weights 1, then e^ln2 : e^0 = 2 : 1.
TEST_F(L2_Attention, P49_ByHand) {
  MOTLEY_ATTENTION(OneNumber());
  AttentionRig rig(session, OneNumber());
  rig.MapPages(0, 3);
  const std::vector<float> y = RunAll(rig, {1, 1}, {0.6931471805599453f, 0}, {3, 9}, 2, 2);
  EXPECT_EQ(y[0], 3.0f);
  EXPECT_NEAR(y[1], 5.0, 1e-6);  // (2 * 3 + 1 * 9) / 3
}

// Scores of 2000 and 1000: e to either is beyond every float.
TEST_F(L2_Attention, P49_ScoresWhoseExponentialOverflows) {
  MOTLEY_ATTENTION(OneNumber());
  AttentionRig rig(session, OneNumber());
  rig.MapPages(0, 3);
  EXPECT_EQ(RunAll(rig, {2000, 2000}, {1, 0.5f}, {3, 9}, 2, 2), (std::vector<float>{3, 3}));
}

TEST_F(L2_Attention, P49_EqualsPlainArithmetic) {
  for (const int64_t style : {0, 1}) {
    for (const bool norms : {false, true}) {
      AttentionConfig c;
      c.n_heads = 4;
      c.n_kv_heads = 2;
      c.head_dim = 8;
      c.v_dim = 6;
      c.rotary_dim = 4;
      c.rope_style = style;
      c.page_tokens = 3;
      if (norms) {
        c.q_norm = Wave(8, 0.9, 1);
        c.k_norm = Wave(8, 0.7, 2);
        c.eps = 0.05;  // large enough to be missed
      }
      MOTLEY_ATTENTION(c);
      AttentionRig rig(session, c);
      rig.MapPages(0, 29, -2);
      const int64_t n = 20;
      const auto q = Wave(n * 32, 0.31, 0), k = Wave(n * 16, 0.53, 1), v = Wave(n * 12, 0.77, 2);
      const std::vector<float> y = RunAll(rig, q, k, v, n, n);
      const std::vector<double> expected = PlainAttention(c, q, k, v, n);
      ASSERT_EQ(y.size(), expected.size());
      double error = 0, energy = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        error += (y[i] - expected[i]) * (y[i] - expected[i]);
        energy += expected[i] * expected[i];
      }
      EXPECT_LE(error / energy, 1e-9) << "style " << style << " norms " << norms;
    }
  }
}

TEST_F(L3_Attention, P65_ChunksAndPageSizesDoNotChangeABit) {
  if (!Has(MOTLEY_FEATURE_ROW_INVARIANT)) MOTLEY_UNSUPPORTED("it does not claim ROW_INVARIANT");
  for (const uint32_t format : {kF32, kF16, kQ8_0}) {
    AttentionConfig c;
    c.kv_format = format;
    if (format == kQ8_0) c.head_dim = c.v_dim = 32;
    MOTLEY_ATTENTION(c);
    const int64_t n = 24, width = c.head_dim;
    const auto q = Wave(n * 2 * width, 0.31, 0), k = Wave(n * width, 0.53, 1), v = Wave(n * width, 0.77, 2);
    std::vector<float> first;
    for (const int64_t page_tokens : {1, 2, 5, 16, 17, 64}) {
      for (const int64_t chunk : {int64_t{24}, int64_t{7}, int64_t{1}}) {
        c.page_tokens = page_tokens;
        c.max_pages = 24;
        AttentionRig rig(session, c);
        rig.MapPages(0, 31, -1);
        const std::vector<float> y = RunAll(rig, q, k, v, n, chunk);
        if (first.empty()) first = y;
        ASSERT_EQ(y.size(), first.size());
        EXPECT_EQ(std::memcmp(y.data(), first.data(), y.size() * sizeof(float)), 0)
            << "pages of " << page_tokens << ", chunks of " << chunk;
      }
    }
  }
}

// Sequences of unlike lengths in one step have the bits that they have alone; NaN in one stays there.
TEST_F(L3_Attention, P66_SequencesDoNotSeeEachOther) {
  AttentionConfig c;
  c.kv_pages = 48;
  const auto q = Wave(12 * 8, 0.31, 0), k = Wave(12 * 4, 0.53, 1), v = Wave(12 * 4, 0.77, 2);
  MOTLEY_ATTENTION(c);
  AttentionRig alone_rig(session, c);
  alone_rig.MapPages(0, 0);
  const std::vector<float> alone = RunAll(alone_rig, q, k, v, 7, 7);

  MOTLEY_ATTENTION(c);
  AttentionRig rig(session, c);
  rig.MapPages(0, 40, -3);
  rig.MapPages(1, 41, -3);
  rig.MapPages(2, 42, -3);
  AttentionStepData d;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const int64_t lengths[3] = {3, 7, 2};
  const int64_t rows[3] = {2, 0, 1};
  d.row_start = {0};
  for (int s = 0; s < 3; ++s) {
    std::vector<float> qs = Part(q, 8, 0, lengths[s]), ks = Part(k, 4, 0, lengths[s]),
                       vs = Part(v, 4, 0, lengths[s]);
    if (s == 0) ks[0] = nan;
    if (s == 2) vs[1] = nan;
    d.q.insert(d.q.end(), qs.begin(), qs.end());
    d.k.insert(d.k.end(), ks.begin(), ks.end());
    d.v.insert(d.v.end(), vs.begin(), vs.end());
    for (int64_t p = 0; p < lengths[s]; ++p) d.position.push_back(static_cast<int32_t>(p));
    const std::vector<int32_t> slots = rig.Slots(rows[s], 0, lengths[s]);
    d.slot.insert(d.slot.end(), slots.begin(), slots.end());
    d.row_start.push_back(d.row_start.back() + static_cast<int32_t>(lengths[s]));
    d.kv_len.push_back(static_cast<int32_t>(lengths[s]));
    d.seq_row.push_back(static_cast<int32_t>(rows[s]));
  }
  std::vector<float> y;
  std::string text;
  ASSERT_EQ(rig.Step(d, &y, &text), MOTLEY_OK) << text;
  EXPECT_EQ(std::memcmp(y.data() + 3 * 8, alone.data(), 7 * 8 * sizeof(float)), 0);
  EXPECT_TRUE(std::isnan(y[0]));
}

// Slot -1 writes nothing, and nothing but the slots is written.
TEST_F(L3_Attention, P67_WritesOnlyItsSlots) {
  AttentionConfig c;
  MOTLEY_ATTENTION(c);
  AttentionRig rig(session, c);
  rig.MapPages(0, 5);
  const auto q = Wave(8 * 8, 0.31, 0), k = Wave(8 * 4, 0.53, 1), v = Wave(8 * 4, 0.77, 2);
  RunAll(rig, q, k, v, 4, 4);
  const std::vector<uint8_t> before = session.Download<uint8_t>(rig.kv);
  AttentionStepData d = Chunk(rig, q, k, v, 0, 4);
  d.slot = {-1, -1, -1, -1};
  std::vector<float> y, again;
  std::string text;
  ASSERT_EQ(rig.Step(d, &y, &text), MOTLEY_OK) << text;
  EXPECT_EQ(session.Download<uint8_t>(rig.kv), before);
  // Two pages of two tokens are written; every other byte still is as it was made.
  for (size_t i = 0; i < before.size(); ++i) {
    if (i / rig.page_bytes != 5 && i / rig.page_bytes != 6) {
      ASSERT_EQ(before[i], 0xff) << "page " << i / rig.page_bytes;
    }
  }
}

// After warm-up an execute takes nothing from the heap; the test device is no example in this.
TEST_F(L3_Attention, P71_AStepAllocatesNothing) {
  if (!Has(MOTLEY_FEATURE_DEVICE_SYNC) || !CountsAllocations()) GTEST_SKIP() << "skipped: not counted here";
  AttentionConfig c;
  c.q_norm = Wave(4, 0.9, 1);
  MOTLEY_ATTENTION(c);
  AttentionRig rig(session, c);
  rig.MapPages(0, 0);
  const auto q = Wave(8 * 8, 0.31, 0), k = Wave(8 * 4, 0.53, 1), v = Wave(8 * 4, 0.77, 2);
  const AttentionRig::Bound bound = rig.Bind(Chunk(rig, q, k, v, 0, 8));
  motley_bind bind{};
  bind.size = sizeof bind;
  bind.slices = {bound.slices.data(), bound.slices.size(), sizeof(motley_slice), 0};
  bind.workspace = session.Workspace(rig.program);
  bind.dims = bound.dims.data();
  bind.dim_count = bound.dims.size();
  Error err;
  const auto step = [&] {
    return session.api->execute(session.queue, rig.program, &bind, session.Next(), &err);
  };
  ASSERT_EQ(step(), MOTLEY_OK) << err.Text();
  const int64_t at_first = Allocations();
  const motley_slice nowhere = {bound.slices[0].buffer, 1ull << 40, 1};
  ASSERT_NE(session.api->copy(session.queue, nowhere, nowhere, nullptr, &err), MOTLEY_OK);
  ASSERT_GT(Allocations(), at_first) << "the plugin's own are counted: it has made a text";
  const int64_t before = Allocations();
  for (int i = 0; i < 20; ++i) static_cast<void>(step());
  // The test's host starts threads for each run of a team: those are its own.
  const auto threads = TheTarget().options.find("threads");
  if (threads != TheTarget().options.end() && threads->second == OptionValue(int64_t{1})) {
    EXPECT_EQ(Allocations() - before, 0);
  }
  EXPECT_EQ(session.Wait(), MOTLEY_OK);
}

TEST_F(L2_Attention, P49_M06_DimsBehindTheRotatedOnesAreUnchanged) {
  AttentionConfig c;
  c.n_heads = c.n_kv_heads = 1;
  c.head_dim = 128;
  c.v_dim = 1;
  c.rotary_dim = 64;
  c.page_tokens = 16;
  c.max_pages = 64;
  c.kv_pages = 64;
  MOTLEY_ATTENTION(c);
  AttentionRig rig(session, c);
  rig.MapPages(0, 0);
  // The page itself tells what was stored at position 1000.
  AttentionStepData d;
  d.q = std::vector<float>(128, 0.0f);
  d.k = Wave(128, 0.7, 0.3);
  d.v = {1};
  d.position = {1000};
  d.slot = rig.Slots(0, 1000, 1001);
  d.row_start = {0, 1};
  d.kv_len = {1001};
  d.seq_row = {0};
  std::vector<float> y;
  std::string text;
  ASSERT_EQ(rig.Step(d, &y, &text), MOTLEY_OK) << text;
  const uint64_t page = 1000 / 16, begin = page * rig.page_bytes;
  const std::vector<float> values =
      session.Download<float>({rig.kv.buffer, begin, rig.page_bytes / sizeof(float) * sizeof(float)});
  const std::vector<double> expected = PreparedHead(c, d.k.data(), {}, 1000);
  // 128 consecutive floats somewhere in the page (the layout is the device's): the unrotated half bit for
  // bit.
  bool found = false;
  for (size_t at = 0; at + 128 <= values.size() && !found; ++at) {
    if (std::memcmp(values.data() + at + 64, d.k.data() + 64, 64 * sizeof(float)) != 0) continue;
    found = true;
    double moved = 0;
    for (size_t i = 0; i < 64; ++i) {
      EXPECT_NEAR(values[at + i], expected[i], 1e-6) << i;
      moved = std::max(moved, std::abs(static_cast<double>(values[at + i]) - d.k[i]));
    }
    EXPECT_GT(moved, 0.1) << "the first 64 must be rotated";
  }
  if (!found) MOTLEY_UNSUPPORTED("the values of a head do not lie side by side in its pages");
}

struct BadStep {
  const char* what;
  void (*break_it)(AttentionStepData*);
};

TEST_F(L2_Attention, P52_R03_StepDataOutOfRangePoisonTheStep) {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max(), kMin = std::numeric_limits<int32_t>::min();
  static constexpr BadStep kBad[] = {
      {"position", [](AttentionStepData* d) { d->position[1] = -1; }},
      {"position", [](AttentionStepData* d) { d->position[1] = kMax; }},
      {"position", [](AttentionStepData* d) { d->position[1] = d->kv_len[0]; }},
      {"slot", [](AttentionStepData* d) { d->slot[0] = 32 * 2; }},
      {"slot", [](AttentionStepData* d) { d->slot[0] = -2; }},
      {"slot", [](AttentionStepData* d) { d->slot[0] = kMin; }},
      {"row_start", [](AttentionStepData* d) { d->row_start[0] = 1; }},
      {"row_start", [](AttentionStepData* d) { d->row_start[1] = 3; }},
      {"row_start", [](AttentionStepData* d) { d->row_start[1] = -1; }},
      {"row_start", [](AttentionStepData* d) { d->row_start[1] = 1; }},
      {"kv_len", [](AttentionStepData* d) { d->kv_len[0] = -1; }},
      {"kv_len", [](AttentionStepData* d) { d->kv_len[0] = 33; }},
      {"seq_row", [](AttentionStepData* d) { d->seq_row[0] = 4; }},
      {"seq_row", [](AttentionStepData* d) { d->seq_row[0] = -1; }},
      {"pages", [](AttentionStepData* d) { d->seq_row[0] = 1; }},  // a row of the table that says -1
  };
  AttentionConfig c;
  MOTLEY_ATTENTION(c);
  AttentionRig rig(session, c);
  rig.MapPages(0, 0);
  const auto q = Wave(8 * 2, 0.31, 0), k = Wave(4 * 2, 0.53, 1), v = Wave(4 * 2, 0.77, 2);
  for (const BadStep& bad : kBad) {
    AttentionStepData d = Chunk(rig, q, k, v, 0, 2);
    bad.break_it(&d);
    d.rope = RopeTable({0, 1}, c.rotary_dim);
    std::vector<float> y;
    std::string text;
    EXPECT_EQ(rig.Step(d, &y, &text), MOTLEY_INVALID_ARGUMENT) << bad.what;
    EXPECT_NE(text.find(bad.what), std::string::npos) << text;
  }
  const std::vector<uint8_t> cache = session.Download<uint8_t>(rig.kv);
  EXPECT_EQ(cache, std::vector<uint8_t>(cache.size(), 0xff)) << "a refused step writes nothing";
  std::vector<float> y;
  std::string text;
  EXPECT_EQ(rig.Step(Chunk(rig, q, k, v, 0, 2), &y, &text), MOTLEY_OK) << text;
}

}  // namespace
}  // namespace motley::conformance
