// Every format of weights through linear and embed, on every device, against double arithmetic over the values that
// dequant_test.cc holds against the gguf package.
#include <motley/dequant.hpp>

#include <cmath>
#include <limits>

#include "tools/conformance/target.h"
#include "tests/support/counter_random.h"
#include "tests/support/random_blocks.h"

namespace motley::conformance {
namespace {

using test::CounterRandom;

// Two blocks of the largest kind; columns that fill no whole tile.
constexpr int64_t kIn = 512, kOut = 37, kMaxTokens = 64;
constexpr double kPerOp = 5e-4;      // of any device, whatever its activations are rounded to
constexpr double kReference = 1e-13;

std::vector<Format> WeightFormats() {
  std::vector<Format> formats;
  for (const FormatInfo& info : AllFormats()) {
    if (plugin::FindDequant(static_cast<uint32_t>(info.format))) formats.push_back(info.format);
  }
  return formats;
}

std::vector<float> Values(const std::vector<uint8_t>& bytes, Format format, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  plugin::FindDequant(static_cast<uint32_t>(format))(reinterpret_cast<const std::byte*>(bytes.data()), count,
                                                      values.data());
  return values;
}

// About evenly in (-1, 1).
std::vector<float> Activations(int64_t count, const char* name) {
  const CounterRandom rng(17, name);
  std::vector<float> x;
  for (int64_t i = 0; i < count; ++i) x.push_back(static_cast<float>(static_cast<int64_t>(rng.At(i)) * 0x1p-63));
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

TestGraph LinearGraph(Format format, uint32_t layout) {
  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, kIn}, 0, "x");
  const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, static_cast<uint32_t>(format), {kOut, kIn}, layout, "w");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, kOut}, 0, "y");
  g.Node(Op::kLINEAR, {x, w, MOTLEY_NO_TENSOR}, {y});
  return g;
}

TestGraph EmbedGraph(Format format, uint32_t layout) {
  TestGraph g;
  const uint32_t token = g.Tensor(MOTLEY_ROLE_STEP, kI32, {kTokens}, 0, "token");
  const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, static_cast<uint32_t>(format), {kOut, kIn}, layout, "w");
  const uint32_t y = g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, kIn}, 0, "y");
  g.Node(Op::kEMBED, {token, w}, {y});
  return g;
}

class Formats : public testing::TestWithParam<std::tuple<DeviceCase, Format>> {
 protected:
  const DeviceCase& device_case() const { return std::get<0>(GetParam()); }
  Format format() const { return std::get<1>(GetParam()); }
  uint32_t id() const { return static_cast<uint32_t>(format()); }

  // The best layout of the node's weight in which the device takes this weight; NONE and why where it takes none.
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
  std::vector<float> RunProgram(TestGraph graph, uint32_t layout, const std::vector<uint8_t>& in, int64_t tokens, int64_t width,
                         const float* scale) {
    motley_program* program = session.Compile(graph);
    const motley_slice w = session.LoadWeight(bytes, id(), {kOut, kIn}, layout, scale);
    std::vector<uint8_t> padded = in;
    padded.resize(static_cast<size_t>(kMaxTokens * (graph.tensors[0].rank == 1 ? 4 : kIn * 4)));
    const motley_slice y = session.Alloc(static_cast<uint64_t>(kMaxTokens * width) * sizeof(float));
    std::string text;
    EXPECT_EQ(session.Run(program, {session.Upload(padded), w, y}, {tokens, 1, 0, 1, 2}, &text), MOTLEY_OK) << text;
    std::vector<float> values(static_cast<size_t>(tokens * width));
    session.Read(values.data(), {y.buffer, y.offset, values.size() * sizeof(float)});
    return values;
  }
  std::vector<float> RunLinear(const std::vector<float>& x, uint32_t layout, const float* scale = nullptr) {
    std::vector<uint8_t> in(x.size() * sizeof(float));
    std::memcpy(in.data(), x.data(), in.size());
    return RunProgram(LinearGraph(format(), layout), layout, in, static_cast<int64_t>(x.size()) / kIn, kOut, scale);
  }

  double Tolerance() const { return IsReference(device_case()) ? kReference : kPerOp; }

  Client client{device_case().path, device_case().options};
  Session session{client, device_case().device};
  std::vector<uint8_t> bytes = *test::RandomWeights(format(), kOut * kIn, -3, CounterRandom(5, FormatName(format())));
};

#define FIND_LAYOUT_OR_SKIP(layout, graph, scale)                                                       \
  std::string why;                                                                                      \
  TestGraph asked = graph;                                                                              \
  const uint32_t layout = FindLayout(session.Judge(asked), scale, &why);                                \
  if (layout == MOTLEY_LAYOUT_NONE) {                                                                   \
    ASSERT_FALSE(IsReference(device_case())) << why;                                                    \
    EXPECT_NE(why.find(FormatName(format())), std::string::npos) << why << ": a refusal names the format"; \
    GTEST_SKIP() << "skipped: " << device_case().name << ": " << why;                                   \
  }

TEST_P(Formats, LinearIsNearDoubleArithmetic) {
  FIND_LAYOUT_OR_SKIP(layout, LinearGraph(format(), MOTLEY_LAYOUT_STORED), nullptr);
  const std::vector<float> w = Values(bytes, format(), kOut * kIn);
  std::vector<float> first;
  for (const int64_t tokens : {1, 3, 17, 64}) {
    const std::vector<float> x = Activations(tokens * kIn, "x");
    const std::vector<float> y = RunLinear(x, layout);
    EXPECT_LE(Nmse(y, Product(x, w, 1)), Tolerance()) << tokens << " tokens";
    if (first.empty()) first = y;
    EXPECT_EQ(std::memcmp(first.data(), y.data(), first.size() * sizeof(float)), 0) << "bits change with the batch";
  }
}

TEST_P(Formats, EmbedTakesRowsBitForBit) {
  FIND_LAYOUT_OR_SKIP(layout, EmbedGraph(format(), MOTLEY_LAYOUT_STORED), nullptr);
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
TEST_P(Formats, ScaleOfTheWeightMultipliesTheProduct) {
  const float scale = 0x1.8p-5f;
  FIND_LAYOUT_OR_SKIP(layout, LinearGraph(format(), MOTLEY_LAYOUT_STORED), &scale);
  const std::vector<float> x = Activations(3 * kIn, "x");
  const std::vector<float> y = RunLinear(x, layout, &scale);
  EXPECT_LE(Nmse(y, Product(x, Values(bytes, format(), kOut * kIn), scale)), Tolerance());
}

TEST_P(Formats, ScaleOfTheWeightMultipliesEmbeddings) {
  const float scale = 0x1.8p-5f;
  FIND_LAYOUT_OR_SKIP(layout, EmbedGraph(format(), MOTLEY_LAYOUT_STORED), &scale);
  const std::vector<float> w = Values(bytes, format(), kOut * kIn);
  const std::vector<float> y = RunProgram(EmbedGraph(format(), layout), layout, {7, 0, 0, 0}, 1, kIn, &scale);
  for (int64_t i = 0; i < kIn; ++i) ASSERT_EQ(y[static_cast<size_t>(i)], w[static_cast<size_t>(7 * kIn + i)] * scale);
}

TEST_P(Formats, NanInOneRowStaysThere) {
  FIND_LAYOUT_OR_SKIP(layout, LinearGraph(format(), MOTLEY_LAYOUT_STORED), nullptr);
  std::vector<float> x = Activations(3 * kIn, "x");
  const std::vector<float> clean = RunLinear(x, layout);
  x[kIn + 100] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> y = RunLinear(x, layout);
  EXPECT_EQ(std::memcmp(y.data(), clean.data(), kOut * sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(y.data() + 2 * kOut, clean.data() + 2 * kOut, kOut * sizeof(float)), 0);
  for (int64_t n = 0; n < kOut; ++n) EXPECT_TRUE(std::isnan(y[static_cast<size_t>(kOut + n)])) << n;
}

INSTANTIATE_TEST_SUITE_P(Devices, Formats,
                         testing::Combine(testing::ValuesIn(EveryDevice()), testing::ValuesIn(WeightFormats())),
                         [](const testing::TestParamInfo<Formats::ParamType>& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::string(FormatName(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace motley::conformance
