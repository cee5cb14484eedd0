// embed, rms_norm, linear, swiglu, add, gather_rows against figures worked out by hand.
#include <cmath>
#include <limits>

#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

class L2_Ops : public OnTarget {};
class L3_Ops : public OnTarget {};

constexpr int64_t kMaxTokens = 64;  // TestGraph's

std::vector<uint8_t> Bytes(const std::vector<float>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Uploads a tensor whose first dim is a symbol, with room for its max.
template <class T>
motley_slice Rows(Session& session, std::vector<T> values, int64_t width, int64_t max_rows = kMaxTokens) {
  values.resize(static_cast<size_t>(width * max_rows));
  return session.Upload(values);
}

std::vector<float> Result(Session& session, motley_slice slice, size_t count) {
  std::vector<float> values(count);
  session.Read(values.data(), {slice.buffer, slice.offset, count * sizeof(float)});
  return values;
}

TestGraph LinearGraph(int64_t n_in, uint32_t format, int64_t n_out) {
  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, n_in}, 0, "x");
  const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, format, {n_out, n_in}, MOTLEY_LAYOUT_STORED, "w");
  g.Node(Op::kLINEAR, {x, w, MOTLEY_NO_TENSOR},
         {g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, n_out}, 0, "y")});
  return g;
}

// A linear without bias, which the device supports; returns [n_tokens, n_out].
std::vector<float> RunLinear(Session& session, const std::vector<float>& x, int64_t n_tokens, int64_t n_in,
                             const std::vector<uint8_t>& weight, uint32_t format, int64_t n_out) {
  TestGraph g = LinearGraph(n_in, format, n_out);
  EXPECT_EQ(session.Settle(g).code, MOTLEY_OK);
  motley_program* program = session.Compile(g);
  const motley_slice y = session.Alloc(static_cast<uint64_t>(kMaxTokens * n_out) * sizeof(float));
  const motley_slice w = session.LoadWeight(weight, format, {n_out, n_in}, g.tensors[1].layout);
  std::string text;
  EXPECT_EQ(session.Run(program, {Rows(session, x, n_in), w, y}, {n_tokens, 1, 0, 1, 2}, &text), MOTLEY_OK)
      << text;
  return Result(session, y, static_cast<size_t>(n_tokens * n_out));
}

// 4096 products of 8 * 8: the sum overflows f16, and must not be one.
TEST_F(L2_Ops, P50_M03_DotOf4096Eights) {
  const int64_t n_in = 4096;
  for (const uint32_t format : {kF32, kF16, kBF16, kQ8_0}) {
    TestGraph g = LinearGraph(n_in, format, 1);
    MOTLEY_SETTLE(g);
  }
  std::vector<uint8_t> f16, q8, bf16;
  for (int64_t i = 0; i < n_in; ++i) {
    f16.insert(f16.end(), {0x00, 0x48});    // 8.0
    bf16.insert(bf16.end(), {0x00, 0x41});  // 8.0
  }
  for (int64_t block = 0; block < n_in / 32; ++block) {
    q8.insert(q8.end(), {0x00, 0x3c});  // d = 1.0
    q8.insert(q8.end(), 32, 8);
  }
  const std::vector<uint8_t> f32 = Bytes(std::vector<float>(n_in, 8.0f));
  for (const int64_t n_tokens : {1, 63, 64}) {
    const std::vector<float> x(static_cast<size_t>(n_tokens * n_in), 8.0f);
    for (const auto& [format, weight] : {std::pair{kF32, f32}, {kF16, f16}, {kBF16, bf16}, {kQ8_0, q8}}) {
      for (const float y : RunLinear(session, x, n_tokens, n_in, weight, format, 1))
        EXPECT_NEAR(y, 262144, 300) << format;
    }
  }
}

TEST_F(L2_Ops, P45_LinearWithBias) {
  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 3}, 0, "x");
  const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {2, 3}, MOTLEY_LAYOUT_STORED, "w");
  const uint32_t b = g.Tensor(MOTLEY_ROLE_WEIGHT, kF16, {2}, MOTLEY_LAYOUT_F32, "b");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 2}, 0, "y");
  g.Node(Op::kLINEAR, {x, w, b}, {y});
  MOTLEY_SETTLE(g);
  motley_program* program = session.Compile(g);
  const std::vector<uint8_t> weight = Bytes({1, 2, 3, -4, 5, 0.5f}),
                             bias = {0x00, 0x3c, 0x00, 0xc0};  // 1, -2
  const motley_slice out = session.Alloc(kMaxTokens * 2 * 4);
  std::string text;
  ASSERT_EQ(session.Run(program,
                        {Rows<float>(session, {1, 1, 1, 2, 0, -2}, 3),
                         session.LoadWeight(weight, kF32, {2, 3}, g.tensors[w].layout),
                         session.LoadWeight(bias, kF16, {2}, MOTLEY_LAYOUT_F32), out},
                        {2, 1, 0, 1, 2}, &text),
            MOTLEY_OK)
      << text;
  EXPECT_EQ(Result(session, out, 4), (std::vector<float>{7, -0.5f, -3, -11}));
}

TEST_F(L3_Ops, P64_LinearRowsDoNotDependOnTheBatch) {
  if (!Has(MOTLEY_FEATURE_ROW_INVARIANT)) MOTLEY_UNSUPPORTED("it does not claim ROW_INVARIANT");
  const int64_t n_in = 96, n_out = 5;
  TestGraph asked = LinearGraph(n_in, kF32, n_out);
  MOTLEY_SETTLE(asked);
  std::vector<float> x, w;
  for (int i = 0; i < 64 * n_in; ++i) x.push_back(std::sin(0.37f * static_cast<float>(i)));
  for (int i = 0; i < n_out * n_in; ++i) w.push_back(std::cos(1.1f * static_cast<float>(i)));
  const std::vector<float> all = RunLinear(session, x, 64, n_in, Bytes(w), kF32, n_out);
  for (const int64_t t : {0, 17, 63}) {
    const std::vector<float> row(x.begin() + t * n_in, x.begin() + (t + 1) * n_in);
    const std::vector<float> alone = RunLinear(session, row, 1, n_in, Bytes(w), kF32, n_out);
    EXPECT_EQ(std::memcmp(alone.data(), all.data() + t * n_out, n_out * sizeof(float)), 0) << t;
  }
}

struct EmbedRig {
  explicit EmbedRig(Session& session) : session(session) {
    const uint32_t token = g.Tensor(MOTLEY_ROLE_STEP, kI32, {kTokens}, 0, "token");
    const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, kF16, {3, 2}, MOTLEY_LAYOUT_STORED, "w");
    const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 2}, 0, "y");
    g.Node(Op::kEMBED, {token, w}, {y});
    refusal = session.Settle(g);
    if (refusal.code != MOTLEY_OK) return;
    program = session.Compile(g);
    weight = session.LoadWeight(bytes, kF16, {3, 2}, g.tensors[w].layout);
    out = session.Upload(std::vector<float>(kMaxTokens * 2, -7.0f));
  }
  motley_status Run(std::vector<int32_t> tokens, std::string* text) {
    const int64_t n = static_cast<int64_t>(tokens.size());
    return session.Run(program, {Rows(session, tokens, 1), weight, out}, {n, 1, 0, 1, 2}, text);
  }

  Session& session;
  TestGraph g;
  std::vector<uint8_t> bytes = {0x00, 0x3c, 0x00, 0x40, 0x00, 0x42, 0x00, 0x44, 0x00, 0xbc, 0x00, 0x38};
  Refusal refusal;
  motley_program* program = nullptr;
  motley_slice weight{}, out{};
};

TEST_F(L2_Ops, P46_EmbedTakesRows) {
  EmbedRig rig(session);
  if (rig.refusal.code != MOTLEY_OK) MOTLEY_UNSUPPORTED(rig.refusal.text);
  std::string text;
  ASSERT_EQ(rig.Run({2, 0, 1, 2}, &text), MOTLEY_OK) << text;
  EXPECT_EQ(Result(session, rig.out, 8), (std::vector<float>{-1, 0.5f, 1, 2, 3, 4, -1, 0.5f}));
}

TEST_F(L2_Ops, P52_R03_TokenOutOfRangePoisonsTheStep) {
  EmbedRig rig(session);
  if (rig.refusal.code != MOTLEY_OK) MOTLEY_UNSUPPORTED(rig.refusal.text);
  for (const int32_t bad :
       {3, -1, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    std::string text;
    EXPECT_EQ(rig.Run({0, bad}, &text), MOTLEY_INVALID_ARGUMENT);
    EXPECT_NE(text.find(std::to_string(bad)), std::string::npos) << text << ": a refusal names the value";
  }
  // A refused step's own rows are undefined; what lies behind them is not its business.
  const std::vector<float> behind = session.Download<float>({rig.out.buffer, 16, kMaxTokens * 8 - 16});
  EXPECT_EQ(behind, std::vector<float>(behind.size(), -7.0f));
  std::string text;
  EXPECT_EQ(rig.Run({1}, &text), MOTLEY_OK) << "the device goes on: " << text;
}

TEST_F(L2_Ops, P48_P52_R03_GatherRowOutOfRangePoisonsTheStep) {
  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 2}, 0, "x");
  const uint32_t row = g.Tensor(MOTLEY_ROLE_STEP, kI32, {kOut}, 0, "row");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kOut, 2}, 0, "y");
  g.Node(Op::kGATHER_ROWS, {x, row}, {y});
  MOTLEY_SETTLE(g);
  motley_program* program = session.Compile(g);
  const motley_slice in = Rows<float>(session, {1, 2, 3, 4, 5, 6}, 2);
  const motley_slice out = session.Upload(std::vector<float>(kMaxTokens * 2, -7.0f));
  std::string text;
  ASSERT_EQ(session.Run(program, {in, Rows<int32_t>(session, {2, 0}, 1), out}, {3, 1, 2, 1, 2}, &text),
            MOTLEY_OK)
      << text;
  EXPECT_EQ(Result(session, out, 6), (std::vector<float>{5, 6, 1, 2, -7, -7}));
  // The row after the last of this step, though the slice has room for it.
  EXPECT_EQ(session.Run(program, {in, Rows<int32_t>(session, {0, 3}, 1), out}, {3, 1, 2, 1, 2}, &text),
            MOTLEY_INVALID_ARGUMENT);
  EXPECT_NE(text.find("3"), std::string::npos) << text << ": a refusal names the value";
}

TEST_F(L2_Ops, P57_EmbedAndGatherRowsKeepDenormals) {
  const std::vector<float> tiny = {std::numeric_limits<float>::denorm_min(), -0x1p-130f, 0x1p-127f, 0};
  TestGraph embed;
  const uint32_t token = embed.Tensor(MOTLEY_ROLE_STEP, kI32, {kTokens}, 0, "token");
  const uint32_t w = embed.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {2, 2}, MOTLEY_LAYOUT_STORED, "w");
  embed.Node(Op::kEMBED, {token, w}, {embed.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 2}, 0, "y")});
  TestGraph gather;
  const uint32_t x = gather.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 2}, 0, "x");
  const uint32_t row = gather.Tensor(MOTLEY_ROLE_STEP, kI32, {kOut}, 0, "row");
  gather.Node(Op::kGATHER_ROWS, {x, row}, {gather.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kOut, 2}, 0, "y")});
  MOTLEY_SETTLE(embed);
  MOTLEY_SETTLE(gather);
  const std::vector<uint8_t> bytes = Bytes(tiny);
  const motley_slice weight = session.LoadWeight(bytes, kF32, {2, 2}, embed.tensors[w].layout);
  const motley_slice y = session.Alloc(kMaxTokens * 2 * 4), rows = Rows<int32_t>(session, {0, 1}, 1);
  std::string text;
  ASSERT_EQ(session.Run(session.Compile(embed), {rows, weight, y}, {2, 1, 0, 1, 2}, &text), MOTLEY_OK)
      << text;
  EXPECT_EQ(Result(session, y, 4), tiny);
  ASSERT_EQ(session.Run(session.Compile(gather), {Rows(session, tiny, 2), rows, y}, {2, 1, 2, 1, 2}, &text),
            MOTLEY_OK)
      << text;
  EXPECT_EQ(Result(session, y, 4), tiny);
}

TEST_F(L2_Ops, P47_RmsNorm) {
  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 2}, 0, "x");
  const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {2}, MOTLEY_LAYOUT_F32, "w");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 2}, 0, "y");
  g.Node(Op::kRMS_NORM, {x, w}, {y}, {{"eps", 0.5}});
  MOTLEY_SETTLE(g);
  motley_program* program = session.Compile(g);
  const std::vector<uint8_t> weight = Bytes({1, 0.5f});
  const motley_slice out = session.Alloc(kMaxTokens * 2 * 4);
  std::string text;
  // Squares whose f32 sum overflows: 1e20^2 = 1e40.
  ASSERT_EQ(session.Run(program,
                        {Rows<float>(session, {3, 4, 1e20f, -1e20f}, 2),
                         session.LoadWeight(weight, kF32, {2}, MOTLEY_LAYOUT_F32), out},
                        {2, 1, 0, 1, 2}, &text),
            MOTLEY_OK)
      << text;
  const std::vector<float> got = Result(session, out, 4);
  EXPECT_FLOAT_EQ(got[0], 0.8320502943378437f);  // 3 / sqrt(13)
  EXPECT_FLOAT_EQ(got[1], 0.5547001962252291f);  // 4 / sqrt(13) / 2
  EXPECT_FLOAT_EQ(got[2], 1.0f);
  EXPECT_FLOAT_EQ(got[3], -0.5f);
}

TEST_F(L3_Ops, P60_SwigluAndAddThroughATemp) {
  TestGraph g;
  const uint32_t gate = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 4}, 0, "gate");
  const uint32_t up = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 4}, 0, "up");
  const uint32_t temp = g.Tensor(MOTLEY_ROLE_TEMP, kF32, {kTokens, 4}, 0, "temp");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 4}, 0, "y");
  g.Node(Op::kSWIGLU, {gate, up}, {temp});
  g.Node(Op::kADD, {temp, up}, {y});
  MOTLEY_SETTLE(g);
  motley_program* program = session.Compile(g);
  const motley_slice out = session.Alloc(kMaxTokens * 4 * 4);
  std::string text;
  ASSERT_EQ(session.Run(program,
                        {Rows<float>(session, {0, 1, -1000, 1000}, 4),
                         Rows<float>(session, {5, 2, 3, 0.5f}, 4), motley_slice{}, out},
                        {1, 1, 0, 1, 2}, &text),
            MOTLEY_OK)
      << text;
  const std::vector<float> got = Result(session, out, 4);
  EXPECT_EQ(got[0], 5.0f);
  EXPECT_FLOAT_EQ(got[1], 2 + 1.4621171572600098f);  // 2 / (1 + 1/e)
  EXPECT_EQ(got[2], 3.0f);
  EXPECT_EQ(got[3], 500.5f);
}

}  // namespace
}  // namespace motley::conformance
