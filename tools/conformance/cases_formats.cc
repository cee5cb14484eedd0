// Every format of weights through linear and embed, against double arithmetic over the values that the
// format's definition gives (motley/dequant.hpp).
#include <motley/dequant.hpp>

#include <cmath>
#include <limits>

#include "tools/conformance/random.h"
#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

// Two blocks of the largest kind; columns that fill no whole tile.
constexpr int64_t kIn = 512, kOut = 37, kMaxTokens = 64;
using plugin::FormatRow;

std::vector<FormatRow> WeightFormats() {
  std::vector<FormatRow> formats;
  for (const FormatRow& row : plugin::kFormatRows) {
    if (plugin::FindDequant(row.id)) formats.push_back(row);
  }
  return formats;
}

// NMSE of one op, by how the kernel rounds activations.
double ToleranceOf(uint32_t math) {
  switch (math) {
    case MOTLEY_MATH_F32: return 1e-10;
    case MOTLEY_MATH_F16: return 1e-6;
    case MOTLEY_MATH_BF16: return 1e-4;
    case MOTLEY_MATH_INT8: return 5e-4;
    case MOTLEY_MATH_FP8: return 5e-3;
    default: return 2e-2;
  }
}

std::vector<float> Values(const std::vector<uint8_t>& bytes, const FormatRow& format, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  plugin::FindDequant(format.id)(reinterpret_cast<const std::byte*>(bytes.data()), count, values.data());
  return values;
}

// About evenly in (-1, 1).
std::vector<float> Activations(int64_t count, const char* name) {
  const Random rng(name);
  std::vector<float> x;
  for (int64_t i = 0; i < count; ++i) x.push_back(static_cast<float>(rng.Unit(i)));
  return x;
}

double Nmse(const std::vector<float>& got, const std::vector<double>& expected) {
  double error = 0, energy = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += (got[i] - expected[i]) * (got[i] - expected[i]);
    energy += expected[i] * expected[i];
  }
  return error / energy;
}

// x [tokens, kIn] times weights [kOut, kIn], times scale.
std::vector<double> Product(const std::vector<float>& x, const std::vector<float>& w, double scale) {
  std::vector<double> y;
  for (size_t t = 0; t < x.size() / kIn; ++t) {
    for (int64_t n = 0; n < kOut; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < kIn; ++k) {
        sum += static_cast<double>(x[t * kIn + static_cast<size_t>(k)]) * w[static_cast<size_t>(n * kIn + k)];
      }
      y.push_back(sum * scale);
    }
  }
  return y;
}

TestGraph LinearGraph(const FormatRow& format, uint32_t layout) {
  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, kIn}, 0, "x");
  const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, format.id, {kOut, kIn}, layout, "w");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, kOut}, 0, "y");
  g.Node(Op::kLINEAR, {x, w, MOTLEY_NO_TENSOR}, {y});
  return g;
}

TestGraph EmbedGraph(const FormatRow& format, uint32_t layout) {
  TestGraph g;
  const uint32_t token = g.Tensor(MOTLEY_ROLE_STEP, kI32, {kTokens}, 0, "token");
  const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, format.id, {kOut, kIn}, layout, "w");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, kIn}, 0, "y");
  g.Node(Op::kEMBED, {token, w}, {y});
  return g;
}

class L2_Formats : public OnTargetOf<testing::TestWithParam<FormatRow>> {
 protected:
  const FormatRow& format() const { return GetParam(); }
  uint32_t id() const { return format().id; }

  // The best layout of the node's weight in which the device takes this weight; NONE and why where it takes
  // none.
  uint32_t FindLayout(const motley_verdict& verdict, const float* scale, std::string* why) {
    *why = verdict.text;
    if (!verdict.ok) return MOTLEY_LAYOUT_NONE;
    for (const uint32_t layout : verdict.layouts) {
      if (layout == MOTLEY_LAYOUT_NONE) continue;
      if (session.PlanWeight(bytes, id(), {kOut, kIn}, layout, scale, why) == MOTLEY_OK) return layout;
    }
    return MOTLEY_LAYOUT_NONE;
  }

  // [tokens, width] of the program's output.
  std::vector<float> RunProgram(TestGraph graph, uint32_t layout, const std::vector<uint8_t>& in,
                                int64_t tokens, int64_t width, const float* scale) {
    motley_program* program = session.Compile(graph);
    const motley_slice w = session.LoadWeight(bytes, id(), {kOut, kIn}, layout, scale);
    std::vector<uint8_t> padded = in;
    padded.resize(static_cast<size_t>(kMaxTokens * (graph.tensors[0].rank == 1 ? 4 : kIn * 4)));
    const motley_slice y = session.Alloc(static_cast<uint64_t>(kMaxTokens * width) * sizeof(float));
    std::string text;
    EXPECT_EQ(session.Run(program, {session.Upload(padded), w, y}, {tokens, 1, 0, 1, 2}, &text), MOTLEY_OK)
        << text;
    std::vector<float> values(static_cast<size_t>(tokens * width));
    session.Read(values.data(), {y.buffer, y.offset, values.size() * sizeof(float)});
    return values;
  }
  std::vector<float> RunLinear(const std::vector<float>& x, uint32_t layout, const float* scale = nullptr) {
    std::vector<uint8_t> in(x.size() * sizeof(float));
    std::memcpy(in.data(), x.data(), in.size());
    return RunProgram(LinearGraph(format(), layout), layout, in, static_cast<int64_t>(x.size()) / kIn, kOut,
                      scale);
  }

  std::vector<uint8_t> bytes = RandomWeights(format(), kOut* kIn);
};

#define FIND_LAYOUT(layout, graph, scale)                   \
  std::string why;                                          \
  TestGraph asked = graph;                                  \
  const motley_verdict verdict = session.Judge(asked);      \
  const double tolerance = ToleranceOf(verdict.math);       \
  static_cast<void>(tolerance);                             \
  const uint32_t layout = FindLayout(verdict, scale, &why); \
  if (layout == MOTLEY_LAYOUT_NONE) {                       \
    EXPECT_FALSE(why.empty()) << "a refusal has a reason";  \
    MOTLEY_UNSUPPORTED(why);                                \
  }

TEST_P(L2_Formats, P44_LinearIsNearDoubleArithmetic) {
  FIND_LAYOUT(layout, LinearGraph(format(), MOTLEY_LAYOUT_STORED), nullptr);
  const std::vector<float> w = Values(bytes, format(), kOut * kIn);
  std::vector<float> first;
  for (const int64_t tokens : {1, 3, 17, 64}) {
    const std::vector<float> x = Activations(tokens * kIn, "x");
    const std::vector<float> y = RunLinear(x, layout);
    EXPECT_LE(Nmse(y, Product(x, w, 1)), tolerance) << tokens << " tokens";
    if (first.empty()) first = y;
    if (!Has(MOTLEY_FEATURE_ROW_INVARIANT)) continue;
    EXPECT_EQ(std::memcmp(first.data(), y.data(), first.size() * sizeof(float)), 0)
        << "bits change with the batch";
  }
}

TEST_P(L2_Formats, P46_EmbedTakesRowsBitForBit) {
  FIND_LAYOUT(layout, EmbedGraph(format(), MOTLEY_LAYOUT_STORED), nullptr);
  const std::vector<float> w = Values(bytes, format(), kOut * kIn);
  const std::vector<int32_t> tokens = {kOut - 1, 0, 5, 5};
  std::vector<uint8_t> in(tokens.size() * sizeof(int32_t));
  std::memcpy(in.data(), tokens.data(), in.size());
  const std::vector<float> y = RunProgram(EmbedGraph(format(), layout), layout, in, 4, kIn, nullptr);
  for (size_t t = 0; t < tokens.size(); ++t) {
    EXPECT_EQ(std::memcmp(y.data() + t * kIn, w.data() + tokens[t] * kIn, kIn * sizeof(float)), 0) << t;
  }
}

// NVFP4's factor a tensor; other formats may have one too.
TEST_P(L2_Formats, P54_ScaleOfTheWeightMultipliesTheProduct) {
  const float scale = 0x1.8p-5f;
  FIND_LAYOUT(layout, LinearGraph(format(), MOTLEY_LAYOUT_STORED), &scale);
  const std::vector<float> x = Activations(3 * kIn, "x");
  const std::vector<float> y = RunLinear(x, layout, &scale);
  EXPECT_LE(Nmse(y, Product(x, Values(bytes, format(), kOut * kIn), scale)), tolerance);
}

TEST_P(L2_Formats, P54_ScaleOfTheWeightMultipliesEmbeddings) {
  const float scale = 0x1.8p-5f;
  FIND_LAYOUT(layout, EmbedGraph(format(), MOTLEY_LAYOUT_STORED), &scale);
  const std::vector<float> w = Values(bytes, format(), kOut * kIn);
  const std::vector<float> y = RunProgram(EmbedGraph(format(), layout), layout, {7, 0, 0, 0}, 1, kIn, &scale);
  for (int64_t i = 0; i < kIn; ++i)
    ASSERT_EQ(y[static_cast<size_t>(i)], w[static_cast<size_t>(7 * kIn + i)] * scale);
}

TEST_P(L2_Formats, P51_NanInOneRowStaysThere) {
  FIND_LAYOUT(layout, LinearGraph(format(), MOTLEY_LAYOUT_STORED), nullptr);
  const std::vector<float> x = Activations(3 * kIn, "x");
  const std::vector<float> clean = RunLinear(x, layout);
  for (const int64_t bad : {int64_t{0}, kIn + 100}) {
    std::vector<float> broken = x;
    broken[static_cast<size_t>(bad)] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> y = RunLinear(broken, layout);
    for (int64_t row = 0; row < 3; ++row) {
      const float *got = &y[static_cast<size_t>(row * kOut)],
                  *before = &clean[static_cast<size_t>(row * kOut)];
      if (row != bad / kIn) {
        EXPECT_EQ(std::memcmp(got, before, kOut * sizeof(float)), 0) << "row " << row << ", NaN at " << bad;
        continue;
      }
      for (int64_t n = 0; n < kOut; ++n) EXPECT_TRUE(std::isnan(got[n])) << n;
    }
  }
}

TEST_P(L2_Formats, P58_PackedBytesAreAFunctionOfTheirContent) {
  FIND_LAYOUT(layout, LinearGraph(format(), MOTLEY_LAYOUT_STORED), nullptr);
  const std::vector<uint8_t> again = bytes;
  const motley_slice first = session.LoadWeight(bytes, id(), {kOut, kIn}, layout);
  const motley_slice second = session.LoadWeight(again, id(), {kOut, kIn}, layout);
  EXPECT_EQ(session.Download<uint8_t>(first), session.Download<uint8_t>(second));
}

INSTANTIATE_TEST_SUITE_P(Each, L2_Formats, testing::ValuesIn(WeightFormats()),
                         [](const testing::TestParamInfo<FormatRow>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace motley::conformance
