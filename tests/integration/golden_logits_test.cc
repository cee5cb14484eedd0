// Logits of tiny models against Hugging Face transformers in float64 (tests/golden/README.md), on each device.
#include <gtest/gtest.h>

#include "tests/integration/model_run.h"
#include "tests/support/golden_case.h"
#include "tests/support/temp_dir.h"

namespace motley::test {
namespace {

struct DeviceUnderTest {
  std::string name;
  double f32_nmse;  // with F32 weights
};

class GoldenLogits : public ::testing::TestWithParam<std::tuple<DeviceUnderTest, std::string>> {};

// The table of design.md, section 6: how the device rounds activations of this format.
Tolerance ToleranceFor(const DeviceUnderTest& device, Format format) {
  Tolerance tolerance = NearTieTolerance("f32");
  const bool rounds = device.name.rfind("cpu_avx512", 0) == 0;
  const bool quantised = FindFormat(format)->block_elems > 1;
  if (rounds && quantised) return NearTieTolerance("int8");
  tolerance.nmse = device.f32_nmse;
  return tolerance;
}

TEST_P(GoldenLogits, AreNearTieSameAsTransformers) {
  const auto& [device, model] = GetParam();
  if (!HasDevice(device.name)) {
    ASSERT_EQ(device.name, "cpu_avx512:0") << device.name << " runs on any machine";
    GTEST_SKIP() << "skipped: no " << device.name << " on this CPU";
  }
  const StatusOr<GoldenCase> golden = LoadGoldenCase(model);
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  const TempDir dir;
  const std::string path = (dir.path() / "tiny.gguf").string();
  ASSERT_TRUE(WriteTinyModel(*golden->spec, path).ok());

  const StatusOr<OpenedEngine> opened = OpenEngine(TestConfig(path, {device.name}));
  const std::string refusal = ", " + std::string(FormatName(golden->spec->format)) + "): ";
  if (!opened.ok() && device.name == "cpu_avx512:0" && opened.status().message().find(refusal) != std::string::npos) {
    GTEST_SKIP() << "skipped: " << opened.status().message();
  }
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  const StatusOr<std::vector<float>> got = Logits(*opened->engine, golden->tokens);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  const NearTieReport report = CompareLogits(golden->logits, *got, golden->n_positions(), golden->n_vocab,
                                             ToleranceFor(device, golden->spec->format));
  EXPECT_TRUE(report.ok) << report.text;
  RecordProperty("nmse", std::to_string(report.worst_nmse));
}

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const TinyModelSpec& spec : TinyModels()) names.emplace_back(spec.name);
  return names;
}

std::string TestName(const ::testing::TestParamInfo<GoldenLogits::ParamType>& info) {
  std::string name = std::get<0>(info.param).name + "_" + std::get<1>(info.param);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Devices, GoldenLogits,
                         ::testing::Combine(::testing::Values(DeviceUnderTest{"ref:0", 1e-10},
                                                              DeviceUnderTest{"cpu_avx512:0", 1e-8},
                                                              DeviceUnderTest{"async_device:0", 1e-8}),
                                            ::testing::ValuesIn(ModelNames())),
                         TestName);

}  // namespace
}  // namespace motley::test
