// embed, rms_norm, linear, swiglu, add, gather_rows through the ABI, against figures worked out by hand.
#include <cmath>
#include <limits>

#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

class Ops : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, Ops, testing::ValuesIn(AllDevices()), DeviceName);

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

// A linear without bias; returns [n_tokens, n_out].
std::vector<float> RunLinear(Session& session, const std::vector<float>& x, int64_t n_tokens, int64_t n_in,
                             const std::vector<uint8_t>& weight, uint32_t format, int64_t n_out) {
  TestGraph g;
  const uint32_t xi = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, n_in}, 0, "x");
  const uint32_t wi = g.Tensor(MOTLEY_ROLE_WEIGHT, format, {n_out, n_in}, MOTLEY_LAYOUT_STORED, "w");
  const uint32_t yi = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, n_out}, 0, "y");
  g.Node(Op::kLINEAR, {xi, wi, MOTLEY_NO_TENSOR}, {yi});
  motley_program* program = session.Compile(g);
  const motley_slice y = session.Alloc(static_cast<uint64_t>(kMaxTokens * n_out) * sizeof(float));
  const motley_slice w = session.LoadWeight(weight, format, {n_out, n_in}, MOTLEY_LAYOUT_STORED);
  std::string text;
  EXPECT_EQ(session.Run(program, {Rows(session, x, n_in), w, y}, {n_tokens, 1, 0, 1, 2}, &text), MOTLEY_OK)
      << text;
  return Result(session, y, static_cast<size_t>(n_tokens * n_out));
}

// 4096 products of 8 * 8: the sum overflows f16, and must not be one.
TEST_P(FieldFailure, M03_DotOf4096Eights) {
  const int64_t n_in = 4096;
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
    const std::vector<float> expected(static_cast<size_t>(n_tokens), 262144.0f);
    EXPECT_EQ(RunLinear(session, x, n_tokens, n_in, f32, kF32, 1), expected);
    EXPECT_EQ(RunLinear(session, x, n_tokens, n_in, f16, kF16, 1), expected);
    EXPECT_EQ(RunLinear(session, x, n_tokens, n_in, bf16, kBF16, 1), expected);
    EXPECT_EQ(RunLinear(session, x, n_tokens, n_in, q8, kQ8_0, 1), expected);
  }
}

TEST_P(Ops, LinearWithBias) {
  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 3}, 0, "x");
  const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {2, 3}, MOTLEY_LAYOUT_STORED, "w");
  const uint32_t b = g.Tensor(MOTLEY_ROLE_WEIGHT, kF16, {2}, MOTLEY_LAYOUT_F32, "b");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 2}, 0, "y");
  g.Node(Op::kLINEAR, {x, w, b}, {y});
  motley_program* program = session.Compile(g);
  const std::vector<uint8_t> weight = Bytes({1, 2, 3, -4, 5, 0.5f}),
                             bias = {0x00, 0x3c, 0x00, 0xc0};  // 1, -2
  const motley_slice out = session.Alloc(kMaxTokens * 2 * 4);
  std::string text;
  ASSERT_EQ(session.Run(program,
                        {Rows<float>(session, {1, 1, 1, 2, 0, -2}, 3),
                         session.LoadWeight(weight, kF32, {2, 3}, MOTLEY_LAYOUT_STORED),
                         session.LoadWeight(bias, kF16, {2}, MOTLEY_LAYOUT_F32), out},
                        {2, 1, 0, 1, 2}, &text),
            MOTLEY_OK)
      << text;
  EXPECT_EQ(Result(session, out, 4), (std::vector<float>{7, -0.5f, -3, -11}));
}

TEST_P(Ops, LinearRowsDoNotDependOnTheBatch) {
  const int64_t n_in = 96, n_out = 5;
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
    program = session.Compile(g);
    weight = session.LoadWeight(bytes, kF16, {3, 2}, MOTLEY_LAYOUT_STORED);
    out = session.Upload(std::vector<float>(kMaxTokens * 2, -7.0f));
  }
  motley_status Run(std::vector<int32_t> tokens, std::string* text) {
    const int64_t n = static_cast<int64_t>(tokens.size());
    return session.Run(program, {Rows(session, tokens, 1), weight, out}, {n, 1, 0, 1, 2}, text);
  }

  Session& session;
  TestGraph g;
  std::vector<uint8_t> bytes = {0x00, 0x3c, 0x00, 0x40, 0x00, 0x42, 0x00, 0x44, 0x00, 0xbc, 0x00, 0x38};
  motley_program* program;
  motley_slice weight, out;
};

TEST_P(Ops, EmbedTakesRows) {
  EmbedRig rig(session);
  std::string text;
  ASSERT_EQ(rig.Run({2, 0, 1, 2}, &text), MOTLEY_OK) << text;
  EXPECT_EQ(Result(session, rig.out, 8), (std::vector<float>{-1, 0.5f, 1, 2, 3, 4, -1, 0.5f}));
}

TEST_P(FieldFailure, R03_TokenOutOfRangePoisonsTheStep) {
  EmbedRig rig(session);
  for (const int32_t bad :
       {3, -1, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    std::string text;
    EXPECT_EQ(rig.Run({0, bad}, &text), MOTLEY_INVALID_ARGUMENT);
    EXPECT_NE(text.find("token[1] = " + std::to_string(bad)), std::string::npos) << text;
  }
  // A refused step's own rows are undefined; what lies behind them is not its business.
  const std::vector<float> behind = session.Download<float>({rig.out.buffer, 16, kMaxTokens * 8 - 16});
  EXPECT_EQ(behind, std::vector<float>(behind.size(), -7.0f));
  std::string text;
  EXPECT_EQ(rig.Run({1}, &text), MOTLEY_OK) << "the device goes on: " << text;
}

TEST_P(FieldFailure, R03_GatherRowOutOfRangePoisonsTheStep) {
  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 2}, 0, "x");
  const uint32_t row = g.Tensor(MOTLEY_ROLE_STEP, kI32, {kOut}, 0, "row");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kOut, 2}, 0, "y");
  g.Node(Op::kGATHER_ROWS, {x, row}, {y});
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
  EXPECT_NE(text.find("row[1] = 3: must be 0..2"), std::string::npos) << text;
}

TEST_P(Ops, RmsNorm) {
  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 2}, 0, "x");
  const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {2}, MOTLEY_LAYOUT_F32, "w");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 2}, 0, "y");
  g.Node(Op::kRMS_NORM, {x, w}, {y}, {{"eps", 0.5}});
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

TEST_P(Ops, SwigluAndAddThroughATemp) {
  TestGraph g;
  const uint32_t gate = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 4}, 0, "gate");
  const uint32_t up = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 4}, 0, "up");
  const uint32_t temp = g.Tensor(MOTLEY_ROLE_TEMP, kF32, {kTokens, 4}, 0, "temp");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 4}, 0, "y");
  g.Node(Op::kSWIGLU, {gate, up}, {temp});
  g.Node(Op::kADD, {temp, up}, {y});
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
