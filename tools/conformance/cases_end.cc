// L4: out of memory, cancelled work, closing, lost devices, speed.
#include <chrono>
#include <cstdio>

#include "tools/conformance/random.h"
#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

class L4_End : public OnTarget {};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST_F(L4_End, P80_OutOfMemoryIsAnError) {
  uint64_t total = 0, free_bytes = 0;
  ASSERT_EQ(api->device_memory(device, &total, &free_bytes, &err), MOTLEY_OK);
  motley_buffer* buffer = nullptr;
  for (const uint64_t bytes : {total + (1ull << 40), 1ull << 62, ~0ull}) {
    EXPECT_EQ(api->buffer_alloc(device, bytes, MOTLEY_USAGE_WORK, &buffer, &err), MOTLEY_RESOURCE_EXHAUSTED)
        << err.Text();
    EXPECT_NE(err.text[0], 0);
    EXPECT_EQ(buffer, nullptr);
  }
  EXPECT_EQ(session.Download<int32_t>(session.Upload(std::vector<int32_t>{5}))[0], 5) << "the device goes on";
}

TEST_F(L4_End, P81_ACancelledWaitEnds) {
  if (Has(MOTLEY_FEATURE_DEVICE_SYNC)) MOTLEY_UNSUPPORTED("DEVICE_SYNC: the host waits itself");
  const motley_slice slice = session.Alloc(4);
  motley_fence *gate = nullptr, *done = nullptr;
  ASSERT_EQ(api->fence_create(client.instance, 0, &gate, &err), MOTLEY_OK);
  ASSERT_EQ(api->fence_create(client.instance, 0, &done, &err), MOTLEY_OK);
  const motley_point wait = {gate, 1}, signal = {done, 1};
  const motley_sync sync = {{&wait, 1, sizeof wait, 0}, {&signal, 1, sizeof signal, 0}};
  const int32_t value = 5;
  ASSERT_EQ(api->write(session.queue, slice, &value, &sync, &err), MOTLEY_OK) << err.Text();
  EXPECT_EQ(api->fence_wait(done, 1, 20'000'000, &err), MOTLEY_DEADLINE_EXCEEDED);
  ASSERT_EQ(api->fence_poison(gate, MOTLEY_CANCELLED, Str("stop"), &err), MOTLEY_OK);
  EXPECT_EQ(api->fence_wait(done, 1, 1'000'000'000, &err), MOTLEY_ABORTED);
  EXPECT_STREQ(err.text, "stop");
  api->fence_destroy(gate);
  api->fence_destroy(done);
}

TEST_F(L4_End, P82_CloseIsLastAndComplete) {
  const motley_plugin& plugin = *client.plugin;
  const std::vector<motley_value> values = AbiValues(TheTarget().options);
  motley_instance* instance = nullptr;
  ASSERT_EQ(plugin.open(TestHost(), {values.data(), values.size(), sizeof(motley_value), 0}, &instance, &err),
            MOTLEY_OK);
  motley_device* first = nullptr;
  uint32_t count = 0;
  ASSERT_EQ(api->devices(instance, &first, 1, &count), MOTLEY_OK);
  motley_buffer* buffer = nullptr;
  ASSERT_EQ(api->buffer_alloc(first, 64, MOTLEY_USAGE_WORK, &buffer, &err), MOTLEY_OK) << err.Text();
  ASSERT_EQ(plugin.close(instance, &err), MOTLEY_FAILED_PRECONDITION) << "a buffer is there";
  EXPECT_NE(err.text[0], 0);
  api->buffer_free(buffer);
  EXPECT_EQ(plugin.close(instance, &err), MOTLEY_OK) << err.Text();
}

// For plugins that can lose a device by an option: lose_at=N, at the N-th execute.
TEST_F(L4_End, P83_ALostDeviceEndsWithinASecond) {
  const std::string name(client.plugin->name.data, client.plugin->name.size);
  OptionMap options = TheTarget().options;
  options["lose_at"] = int64_t{1};
  std::unique_ptr<Client> losing;
  try {
    losing = std::make_unique<Client>(TheTarget().path, options);
  } catch (const std::exception&) {
    MOTLEY_UNSUPPORTED("it has no option lose_at to lose a device by");
  }
  Session there(*losing, TheTarget().device);
  TestGraph g;
  const uint32_t a = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 4}, 0, "a");
  g.Node(Op::kADD, {a, a}, {g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 4}, 0, "y")});
  ASSERT_EQ(there.Settle(g).code, MOTLEY_OK);
  motley_program* program = there.Compile(g);
  const motley_slice in = there.Alloc(64 * 16), out = there.Alloc(64 * 16);
  const auto start = std::chrono::steady_clock::now();
  std::string text;
  EXPECT_EQ(there.Run(program, {in, out}, {1, 1, 0, 1, 2}, &text), MOTLEY_UNAVAILABLE) << text;
  EXPECT_FALSE(text.empty());
  motley_buffer* buffer = nullptr;
  EXPECT_EQ(there.api->buffer_alloc(there.device, 4, MOTLEY_USAGE_WORK, &buffer, &err), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(there.api->write(there.queue, in, text.data(), nullptr, &err), MOTLEY_UNAVAILABLE);
  EXPECT_LT(SecondsSince(start), 1);
  // What was made is destroyed by the session, and close must be content: Client's end looks.
}

class L4_Speed : public OnTarget {};

// Reads a weight larger than most caches with one row, and says what that is beside what the device claims.
TEST_F(L4_Speed, P84_LinearAgainstTheDevicesClaim) {
  constexpr int64_t kIn = 2048, kOut = 8192;
  const motley_device_info info = client.Info(TheTarget().device);
  for (const uint32_t format : {kF16, kQ8_0}) {
    TestGraph g;
    const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, kIn}, 0, "x");
    const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, format, {kOut, kIn}, 0, "w");
    g.Node(Op::kLINEAR, {x, w, MOTLEY_NO_TENSOR},
           {g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, kOut}, 0, "y")});
    MOTLEY_SETTLE(g);
    const plugin::FormatRow& row = *plugin::FindFormatRow(format);
    std::vector<uint8_t> bytes;
    const std::vector<uint8_t> some = RandomWeights(row, 64 * kIn);
    while (bytes.size() < plugin::RowBytes(row, kIn) * kOut)
      bytes.insert(bytes.end(), some.begin(), some.end());
    motley_program* program = session.Compile(g);
    const std::vector<motley_slice> slices = {
        session.Upload(std::vector<float>(64 * kIn, 0.5f)),
        session.LoadWeight(bytes, format, {kOut, kIn}, g.tensors[w].layout), session.Alloc(64 * kOut * 4)};
    double best = 1e9;
    for (int run = 0; run < 4; ++run) {
      const auto start = std::chrono::steady_clock::now();
      std::string text;
      ASSERT_EQ(session.Run(program, slices, {1, 1, 0, 1, 2}, &text), MOTLEY_OK) << text;
      best = std::min(best, SecondsSince(start));
    }
    const double rate = static_cast<double>(bytes.size()) / best;
    std::printf("speed: linear %s, 1 row: %.2f GB/s of weights", row.name, rate / 1e9);
    if (info.mem_bytes_per_s > 0)
      std::printf(", %.0f %% of the %.1f GB/s it claims", 100 * rate / info.mem_bytes_per_s,
                  info.mem_bytes_per_s / 1e9);
    std::printf("\n");
    EXPECT_GT(rate, 0);
  }
}

}  // namespace
}  // namespace motley::conformance
