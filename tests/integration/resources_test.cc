// What a run takes of the machine: memory while it loads and answers, processor time while nobody asks.
#include <gtest/gtest.h>

#include <time.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "core/model/gguf.h"
#include "tests/integration/model_run.h"
#include "tests/support/big_model.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace motley::test {
namespace {

// Of this process, all threads together.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Resources : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!HasDevice(GetParam())) GTEST_SKIP() << GetParam() << " was not found on this machine";
  }
  TempDir dir_;
};

TEST_P(Resources, FieldFailure_P11_AnIdleEngineUsesNoProcessor) {
  const std::string path = (dir_.path() / "tiny.gguf").string();
  ASSERT_TRUE(WriteTinyModel(*FindTinyModel("llama-q8_0"), path).ok());
  // With a second device, so that there are lanes' threads as well as team members (of four threads, see
  // OpenEngine).
  Config config = TestConfig(path, {GetParam(), "ref:0"});
  if (config.placement.devices[0] != "ref:0") AddPin(&config, "layers.1", "ref:0");
  if (config.placement.devices[0] == "ref:0") config.placement.devices.pop_back();
  const StatusOr<OpenedEngine> opened = OpenEngine(config);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  const double before = CpuSeconds();
  ASSERT_TRUE(Logits(*opened->engine, {1, 2, 3, 4, 5, 6, 7, 8}).ok());
  EXPECT_GT(CpuSeconds() - before, 0);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const double idle = CpuSeconds();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_LT(CpuSeconds() - idle, 0.05 * 3);
}

TEST_P(Resources, PeakMemoryOfARunIsLittleMoreThanItsWeights) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory would be measured";
#endif
  const std::string path = (dir_.path() / "big.gguf").string();
  ASSERT_TRUE(WriteBigModel(Format::kQ8_0, 300 << 20, path).ok());
  uint64_t weights = 0;
  {
    const auto file = GgufFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    weights = (*file)->tensor_bytes();
  }
  ASSERT_GT(weights, 280u << 20);
  ChildOptions options;
  options.environment = {"MOTLEY_PLUGIN_PATH=", "XDG_STATE_HOME=/nonexistent"};
  const ChildResult run = RunChild(
      {MOTLEY_LAUNCHER, "run", "-m", path, "--device", GetParam(), "--raw", "a", "-n", "2", "-q"}, options);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  RecordProperty("peak_bytes", std::to_string(run.peak_bytes));
  EXPECT_GT(run.peak_bytes, weights * 9 / 10);  // it was measured
  EXPECT_LE(run.peak_bytes, weights * 115 / 100) << run.peak_bytes << " bytes for " << weights;
}

INSTANTIATE_TEST_SUITE_P(All, Resources, ::testing::Values("ref:0", "cpu_avx512:0"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           return name.substr(0, name.find(':'));
                         });

}  // namespace
}  // namespace motley::test
