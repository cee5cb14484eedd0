// L2: shapes and values at the edges, for the ops that know no rows but their own.
#include <cmath>
#include <limits>

#include "tools/conformance/random.h"
#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                kNan = std::numeric_limits<float>::quiet_NaN();

// One node with F32 inputs and one output, all [rows, width], compiled for `max_rows`.
class Elementwise {
 public:
  Elementwise(Session& session, Op op, int64_t width, int64_t max_rows)
      : session_(session), width_(width), max_rows_(max_rows) {
    std::vector<uint32_t> in;
    const int inputs = op == Op::kRMS_NORM ? 1 : 2;
    for (int i = 0; i < inputs; ++i)
      in.push_back(graph.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, width}, 0, i == 0 ? "a" : "b"));
    if (op == Op::kRMS_NORM)
      in.push_back(graph.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {width}, MOTLEY_LAYOUT_F32, "w"));
    graph.Node(op, in, {graph.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, width}, 0, "y")},
               op == Op::kRMS_NORM ? std::vector<Attr>{{"eps", 1e-3}} : std::vector<Attr>{});
    graph.dims[MOTLEY_DIM_N_TOKENS].max = max_rows;
    refusal = session.Settle(graph);
  }

  // Rows behind those of the step hold -7 before and must after.
  std::vector<float> Run(const std::vector<float>& a, const std::vector<float>& b) {
    if (program_ == nullptr) program_ = session_.Compile(graph);
    const size_t room = static_cast<size_t>(max_rows_ * width_);
    const auto upload = [&](std::vector<float> values) {
      values.resize(room, kNan);
      return session_.Upload(values);
    };
    std::vector<motley_slice> slices = {upload(a)};
    std::vector<uint8_t> weight(b.size() * sizeof(float));
    if (!b.empty()) std::memcpy(weight.data(), b.data(), weight.size());
    slices.push_back(graph.tensors[1].role == MOTLEY_ROLE_WEIGHT
                         ? session_.LoadWeight(weight, kF32, {width_}, MOTLEY_LAYOUT_F32)
                         : upload(b));
    slices.push_back(session_.Upload(std::vector<float>(room, -7.0f)));
    const int64_t rows = static_cast<int64_t>(a.size()) / width_;
    std::string text;
    EXPECT_EQ(session_.Run(program_, slices, {rows, 1, 0, 1, 2}, &text), MOTLEY_OK) << text;
    std::vector<float> y = session_.Download<float>(slices.back());
    for (size_t i = a.size(); i < room; ++i) {
      if (y[i] != -7.0f) {
        ADD_FAILURE() << "row " << i / static_cast<size_t>(width_) << " is behind the step's " << rows
                      << " and was written";
        break;
      }
    }
    y.resize(a.size());
    return y;
  }

  TestGraph graph;
  Refusal refusal;

 private:
  Session& session_;
  int64_t width_, max_rows_;
  motley_program* program_ = nullptr;
};

std::vector<float> Values(int64_t count, const char* name) {
  const Random random(name);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(4 * random.Unit(i)));
  return values;
}

double Expected(Op op, double a, double b) {
  return op == Op::kADD ? static_cast<double>(static_cast<float>(a) + static_cast<float>(b))
                        : a / (1 + std::exp(-a)) * b;
}

class L2_Edges : public OnTarget {};

TEST_F(L2_Edges, P48_P56_AddAndSwigluOfAnyNumberOfRows) {
  for (const Op op : {Op::kADD, Op::kSWIGLU}) {
    for (const int64_t width : {1, 5, 33}) {
      Elementwise ops(session, op, width, 257);
      if (ops.refusal.code != MOTLEY_OK) MOTLEY_UNSUPPORTED(ops.refusal.text);
      for (const int64_t rows : {0, 1, 3, 16, 17, 64, 65, 257}) {
        const std::vector<float> a = Values(rows * width, "a"), b = Values(rows * width, "b"),
                                 y = ops.Run(a, b);
        for (size_t i = 0; i < y.size(); ++i) {
          const double expected = Expected(op, a[i], b[i]);
          ASSERT_NEAR(y[i], expected, 1e-6 + 4e-6 * std::abs(expected))
              << rows << " rows of " << width << ", value " << i;
        }
      }
    }
  }
}

TEST_F(L2_Edges, P56_M04_MoreRowsThanSixteenBits) {
  constexpr int64_t kRows = 65537, kWidth = 3;
  Elementwise add(session, Op::kADD, kWidth, kRows);
  if (add.refusal.code != MOTLEY_OK) MOTLEY_UNSUPPORTED(add.refusal.text);
  for (const int64_t rows : {65535l, 65536l, 65537l}) {
    const std::vector<float> a = Values(rows * kWidth, "a"), b = Values(rows * kWidth, "b"),
                             y = add.Run(a, b);
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], a[i] + b[i]) << i;
  }
}

TEST_F(L2_Edges, P51_WhatIsNotFiniteStaysInItsRow) {
  constexpr int64_t kWidth = 20;
  for (const Op op : {Op::kADD, Op::kSWIGLU, Op::kRMS_NORM}) {
    Elementwise ops(session, op, kWidth, 64);
    if (ops.refusal.code != MOTLEY_OK) MOTLEY_UNSUPPORTED(ops.refusal.text);
    std::vector<float> a = Values(9 * kWidth, "a");
    const std::vector<float> b = Values(op == Op::kRMS_NORM ? kWidth : 9 * kWidth, "b"),
                             clean = ops.Run(a, b);
    a[2 * kWidth + 3] = kNan;
    a[5 * kWidth + 19] = kInfinity;
    a[7 * kWidth] = -kInfinity;
    const std::vector<float> y = ops.Run(a, b);
    for (const int64_t row : {0, 1, 3, 4, 6, 8}) {
      EXPECT_EQ(std::memcmp(&y[static_cast<size_t>(row * kWidth)], &clean[static_cast<size_t>(row * kWidth)],
                            kWidth * sizeof(float)),
                0)
          << row;
    }
    EXPECT_TRUE(std::isnan(y[2 * kWidth + 3]));
  }
}

TEST_F(L2_Edges, P48_SwigluWhereExpOverflows) {
  Elementwise swiglu(session, Op::kSWIGLU, 4, 64);
  if (swiglu.refusal.code != MOTLEY_OK) MOTLEY_UNSUPPORTED(swiglu.refusal.text);
  const std::vector<float> y = swiglu.Run({-1000, 1000, 88.9f, -88.9f}, {3, 0.5f, 1, 1});
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], 500.0f);
  EXPECT_NEAR(y[2], 88.9f, 1e-4);
  EXPECT_NEAR(y[3], 0.0f, 1e-30);
}

TEST_F(L2_Edges, P57_DenormalsAreKept) {
  Elementwise add(session, Op::kADD, 4, 64);
  if (add.refusal.code != MOTLEY_OK) MOTLEY_UNSUPPORTED(add.refusal.text);
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(add.Run({tiny, -tiny, 0x1p-126f, 0x1p-130f}, {tiny, 0, -0x1p-127f, 0x1p-130f}),
            (std::vector<float>{2 * tiny, -tiny, 0x1p-127f, 0x1p-129f}));
}

TEST_F(L2_Edges, P47_TheEpsDecidesWhereValuesAreSmall) {
  Elementwise norm(session, Op::kRMS_NORM, 2, 64);
  if (norm.refusal.code != MOTLEY_OK) MOTLEY_UNSUPPORTED(norm.refusal.text);
  const std::vector<float> y = norm.Run({0.01f, 0.02f, 0, 0}, {1, 2});
  const double scale = 1 / std::sqrt((1e-4 + 4e-4) / 2 + 1e-3);
  EXPECT_NEAR(y[0], 0.01 * scale, 1e-6);
  EXPECT_NEAR(y[1], 0.04 * scale, 1e-6);
  EXPECT_EQ(y[2], 0.0f);
}

// Odd rows, odd columns and numbers that no tile divides.
TEST_F(L2_Edges, P44_P56_LinearOfAnyShape) {
  for (const auto& [n_out, n_in] : {std::pair<int64_t, int64_t>{1, 1}, {3, 7}, {17, 33}, {65, 129}}) {
    TestGraph g;
    const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, n_in}, 0, "x");
    const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {n_out, n_in}, 0, "w");
    g.Node(Op::kLINEAR, {x, w, MOTLEY_NO_TENSOR},
           {g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, n_out}, 0, "y")});
    MOTLEY_SETTLE(g);
    motley_program* program = session.Compile(g);
    const std::vector<float> weights = Values(n_out * n_in, "w");
    std::vector<uint8_t> bytes(weights.size() * sizeof(float));
    std::memcpy(bytes.data(), weights.data(), bytes.size());
    const motley_slice loaded = session.LoadWeight(bytes, kF32, {n_out, n_in}, g.tensors[w].layout);
    for (const int64_t rows : {0, 1, 2, 7, 17, 64}) {
      const std::vector<float> values = Values(64 * n_in, "x");
      const motley_slice out = session.Upload(std::vector<float>(static_cast<size_t>(64 * n_out), -7.0f));
      std::string text;
      ASSERT_EQ(session.Run(program, {session.Upload(values), loaded, out}, {rows, 1, 0, 1, 2}, &text),
                MOTLEY_OK)
          << text;
      const std::vector<float> y = session.Download<float>(out);
      for (int64_t t = 0; t < 64; ++t) {
        for (int64_t n = 0; n < n_out; ++n) {
          double expected = 0, size = 0;
          for (int64_t k = 0; k < n_in; ++k) {
            const double product = static_cast<double>(values[static_cast<size_t>(t * n_in + k)]) *
                                   weights[static_cast<size_t>(n * n_in + k)];
            expected += product;
            size += std::abs(product);
          }
          const float got = y[static_cast<size_t>(t * n_out + n)];
          if (t < rows)
            ASSERT_NEAR(got, expected, 1e-6 + 1e-6 * size) << rows << " rows, " << n_out << " x " << n_in;
          else
            ASSERT_EQ(got, -7.0f) << "row " << t << " is behind the step's " << rows;
        }
      }
    }
  }
}

}  // namespace
}  // namespace motley::conformance
