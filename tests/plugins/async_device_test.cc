// The harsh test device itself: order, laziness, poison, loss, replay. Hosts are tested with it elsewhere.
#include <chrono>
#include <cmath>
#include <thread>

#include "tools/conformance/client.h"

namespace motley::conformance {
namespace {

using Clock = std::chrono::steady_clock;

int64_t MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
}

// Queues and fences by hand: two queues a device.
class AsyncRig {
 public:
  explicit AsyncRig(const OptionMap& options = {}) : client(MOTLEY_ASYNC_PLUGIN, options), api(client.api) {
    for (motley_device* device : client.devices) {
      for (int i = 0; i < 2; ++i) {
        queues.emplace_back();
        EXPECT_EQ(api->queue_create(device, 0, &queues.back(), &err), MOTLEY_OK) << err.Text();
      }
    }
  }
  ~AsyncRig() {
    for (motley_queue* queue : queues) api->queue_destroy(queue);
    for (motley_program* program : programs) api->program_destroy(program);
    for (motley_buffer* buffer : buffers) api->buffer_free(buffer);
    for (motley_fence* fence : fences) api->fence_destroy(fence);
  }

  motley_fence* Fence() {
    motley_fence* fence = nullptr;
    EXPECT_EQ(api->fence_create(client.instance, 0, &fence, &err), MOTLEY_OK) << err.Text();
    fences.push_back(fence);
    return fence;
  }
  motley_slice Alloc(size_t device, uint64_t bytes, uint32_t usage = MOTLEY_USAGE_WORK) {
    motley_buffer* buffer = nullptr;
    EXPECT_EQ(api->buffer_alloc(client.devices[device], bytes, usage, &buffer, &err), MOTLEY_OK)
        << err.Text();
    if (buffer) buffers.push_back(buffer);
    return {buffer, 0, bytes};
  }
  uint64_t Value(motley_fence* fence) {
    uint64_t value = ~0ull;
    EXPECT_EQ(api->fence_query(fence, &value, &err), MOTLEY_OK) << err.Text();
    return value;
  }
  motley_status Wait(motley_fence* fence, uint64_t value, Error* error = nullptr) {
    return api->fence_wait(fence, value, 20'000'000'000ull, error ? error : &err);
  }

  // A graph y = a + b of `width`, and a bind of it.
  motley_program* AddProgram(size_t device, int64_t width) {
    graphs.emplace_back();
    TestGraph& g = graphs.back();
    const uint32_t a = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, width});
    const uint32_t b = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, width});
    g.Node(Op::kADD, {a, b}, {g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, width})});
    motley_program* program = nullptr;
    EXPECT_EQ(api->compile(client.devices[device], g.Abi(), {}, &program, &err), MOTLEY_OK) << err.Text();
    programs.push_back(program);
    return program;
  }

  Client client;
  const motley_compute* api;
  Error err;
  std::vector<motley_queue*> queues;  // 0, 1 of device 0; 2, 3 of device 1
  std::vector<motley_fence*> fences;
  std::vector<motley_buffer*> buffers;
  std::vector<motley_program*> programs;
  std::vector<TestGraph> graphs;
};

struct Points {
  Points(std::vector<motley_point> waits, std::vector<motley_point> signals)
      : wait(std::move(waits)), signal(std::move(signals)) {
    sync.wait = {wait.data(), wait.size(), sizeof(motley_point), 0};
    sync.signal = {signal.data(), signal.size(), sizeof(motley_point), 0};
  }
  const std::vector<motley_point> wait, signal;
  motley_sync sync{};
};

struct Bind {
  Bind(std::vector<motley_slice> all, int64_t n_tokens, uint64_t id = 0) : slices(std::move(all)) {
    dims = {n_tokens, 1, 0, 1, 2};
    bind.size = sizeof bind;
    bind.bind_id = id;
    bind.slices = {slices.data(), slices.size(), sizeof(motley_slice), 0};
    bind.dims = dims.data();
    bind.dim_count = dims.size();
  }
  std::vector<motley_slice> slices;
  std::vector<int64_t> dims;
  motley_bind bind{};
};

TEST(AsyncDevice, NothingRunsBeforeAFlush) {
  AsyncRig rig({{"delay_us", int64_t{0}}});
  const motley_slice slice = rig.Alloc(0, 4);
  motley_fence* fence = rig.Fence();
  int32_t value = 1;
  const Points points({}, {{fence, 1}});
  ASSERT_EQ(rig.api->write(rig.queues[0], slice, &value, &points.sync, &rig.err), MOTLEY_OK);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(rig.Value(fence), 0u);
  value = 2;  // host memory is borrowed until signalled: read when the command runs
  ASSERT_EQ(rig.api->queue_flush(rig.queues[0], &rig.err), MOTLEY_OK);
  const auto start = Clock::now();
  while (rig.Value(fence) < 1 && MillisecondsSince(start) < 10000) std::this_thread::yield();
  EXPECT_EQ(rig.Value(fence), 1u);
  int32_t back = 0;
  const Points second({}, {{fence, 2}});
  ASSERT_EQ(rig.api->read(rig.queues[0], &back, slice, &second.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.Wait(fence, 2), MOTLEY_OK) << "a wait flushes too: " << rig.err.Text();
  EXPECT_EQ(back, 2);
}

TEST(AsyncDevice, AQueueIsInOrder) {
  AsyncRig rig({{"delay_us", int64_t{300}}});
  const motley_slice slice = rig.Alloc(0, 4);
  std::vector<int32_t> values(50);
  for (int32_t i = 0; i < 50; ++i) {
    values[i] = i;
    ASSERT_EQ(rig.api->write(rig.queues[0], slice, &values[i], nullptr, &rig.err), MOTLEY_OK);
  }
  int32_t back = -1;
  motley_fence* fence = rig.Fence();
  const Points points({}, {{fence, 1}});
  ASSERT_EQ(rig.api->read(rig.queues[0], &back, slice, &points.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.Wait(fence, 1), MOTLEY_OK);
  EXPECT_EQ(back, 49);
}

TEST(AsyncDevice, QueuesOvertakeEachOther) {
  AsyncRig rig({{"delay_us", int64_t{3000}}});
  const motley_slice slice = rig.Alloc(0, 4);
  int first_won = 0;
  constexpr int kTrials = 40;
  for (int trial = 0; trial < kTrials; ++trial) {
    const int32_t one = 1, two = 2;
    const motley_slice a = rig.Alloc(0, 4), b = rig.Alloc(0, 4);
    motley_fence *fa = rig.Fence(), *fb = rig.Fence();
    const Points pa({}, {{fa, 1}}), pb({}, {{fb, 1}});
    ASSERT_EQ(rig.api->write(rig.queues[0], a, &one, &pa.sync, &rig.err), MOTLEY_OK);
    ASSERT_EQ(rig.api->write(rig.queues[1], b, &two, &pb.sync, &rig.err), MOTLEY_OK);
    ASSERT_EQ(rig.api->queue_flush(rig.queues[0], &rig.err), MOTLEY_OK);
    ASSERT_EQ(rig.api->queue_flush(rig.queues[1], &rig.err), MOTLEY_OK);
    while (true) {
      const uint64_t vb = rig.Value(fb), va = rig.Value(fa);
      if (va == 0 && vb == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        continue;
      }
      if (va == 1 && vb == 0) ++first_won;
      break;
    }
    ASSERT_EQ(rig.Wait(fa, 1), MOTLEY_OK);
    ASSERT_EQ(rig.Wait(fb, 1), MOTLEY_OK);
  }
  static_cast<void>(slice);
  EXPECT_GT(first_won, 0);
  EXPECT_LT(first_won, kTrials);
}

// write -> copy to the other device -> copy back -> read, enqueued last to first, with one host wait.
TEST(AsyncDevice, AChainOverTwoDevicesNeedsOneWait) {
  AsyncRig rig({{"delay_us", int64_t{500}}});
  const motley_slice a = rig.Alloc(0, 64), b = rig.Alloc(1, 64), c = rig.Alloc(0, 64);
  motley_fence* fence = rig.Fence();
  std::vector<uint8_t> in(64), out(64);
  for (int i = 0; i < 64; ++i) in[i] = static_cast<uint8_t>(3 * i);
  const Points p1({}, {{fence, 1}}), p2({{fence, 1}}, {{fence, 2}}), p3({{fence, 2}}, {{fence, 3}}),
      p4({{fence, 3}}, {{fence, 4}});
  ASSERT_EQ(rig.api->read(rig.queues[0], out.data(), c, &p4.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->copy(rig.queues[1], c, b, &p3.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->copy(rig.queues[2], b, a, &p2.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->write(rig.queues[3], a, in.data(), &p1.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.Wait(fence, 4), MOTLEY_OK) << rig.err.Text();
  EXPECT_EQ(out, in);
}

TEST(AsyncDevice, FreshMemoryIsNaNAndOutOfReach) {
  AsyncRig rig;
  const motley_slice slice = rig.Alloc(0, 64);
  std::vector<float> values(16);
  motley_fence* fence = rig.Fence();
  const Points points({}, {{fence, 1}});
  ASSERT_EQ(rig.api->read(rig.queues[0], values.data(), slice, &points.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.Wait(fence, 1), MOTLEY_OK);
  for (const float value : values) EXPECT_TRUE(std::isnan(value));
  void* mapped = nullptr;
  EXPECT_EQ(rig.api->buffer_map(slice.buffer, 0, 64, &mapped, &rig.err), MOTLEY_UNIMPLEMENTED);
  const motley_slice host = rig.Alloc(0, 64, MOTLEY_USAGE_HOST);
  EXPECT_EQ(rig.api->buffer_map(host.buffer, 0, 64, &mapped, &rig.err), MOTLEY_OK);
  rig.api->buffer_unmap(host.buffer);
  EXPECT_EQ(rig.api->buffer_map(host.buffer, 1, 64, &mapped, &rig.err), MOTLEY_INVALID_ARGUMENT);
}

TEST(AsyncDevice, SlicesAreBoundsChecked) {
  AsyncRig rig;
  const motley_slice slice = rig.Alloc(0, 64);
  uint8_t byte = 0;
  for (const motley_slice bad : {motley_slice{slice.buffer, 64, 1}, motley_slice{slice.buffer, 0, 65},
                                 motley_slice{slice.buffer, ~0ull - 7, 16},
                                 motley_slice{slice.buffer, 1, ~0ull}, motley_slice{nullptr, 0, 1}}) {
    EXPECT_EQ(rig.api->write(rig.queues[0], bad, &byte, nullptr, &rig.err), MOTLEY_INVALID_ARGUMENT);
    EXPECT_EQ(rig.api->read(rig.queues[0], &byte, bad, nullptr, &rig.err), MOTLEY_INVALID_ARGUMENT);
    EXPECT_EQ(rig.api->copy(rig.queues[0], slice, bad, nullptr, &rig.err), MOTLEY_INVALID_ARGUMENT);
  }
}

TEST(AsyncDevice, OutOfMemorySaysHowMuchIsShort) {
  AsyncRig rig({{"memory_mib", int64_t{1}}});
  rig.Alloc(0, 600 << 10);
  motley_buffer* buffer = nullptr;
  EXPECT_EQ(rig.api->buffer_alloc(rig.client.devices[0], 500 << 10, MOTLEY_USAGE_WORK, &buffer, &rig.err),
            MOTLEY_RESOURCE_EXHAUSTED);
  EXPECT_EQ(rig.err.bytes_short, (1100u << 10) - (1u << 20));
  uint64_t total = 0, free_bytes = 0;
  ASSERT_EQ(rig.api->device_memory(rig.client.devices[0], &total, &free_bytes, &rig.err), MOTLEY_OK);
  EXPECT_EQ(total, 1u << 20);
  EXPECT_EQ(free_bytes, (1u << 20) - (600u << 10));
  rig.Alloc(1, 1 << 20);  // the other device has its own
}

TEST(AsyncDevice, AFailedExecutePoisonsWhatDependsOnIt) {
  AsyncRig rig({{"fail_at", int64_t{2}}});
  motley_program* program = rig.AddProgram(0, 4);
  const motley_slice in = rig.Alloc(0, 64 * 16), out = rig.Alloc(0, 64 * 16), other = rig.Alloc(1, 64 * 16);
  const Bind bind({in, in, out}, 3);
  motley_fence *good = rig.Fence(), *bad = rig.Fence(), *copied = rig.Fence(), *after = rig.Fence();
  const Points p1({}, {{good, 1}}), p2({}, {{bad, 1}}), p3({{bad, 1}}, {{copied, 1}}), p4({}, {{after, 1}});
  ASSERT_EQ(rig.api->execute(rig.queues[0], program, &bind.bind, &p1.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->execute(rig.queues[0], program, &bind.bind, &p2.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->copy(rig.queues[2], other, out, &p3.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->execute(rig.queues[0], program, &bind.bind, &p4.sync, &rig.err), MOTLEY_OK);
  EXPECT_EQ(rig.Wait(good, 1), MOTLEY_OK);
  Error first, second;
  EXPECT_EQ(rig.Wait(bad, 1, &first), MOTLEY_INTERNAL);
  EXPECT_NE(std::string(first.text).find("fail_at = 2"), std::string::npos) << first.Text();
  EXPECT_EQ(rig.Wait(copied, 1, &second), MOTLEY_ABORTED);
  EXPECT_STREQ(second.text, first.text) << "the first text travels";
  EXPECT_EQ(rig.Wait(after, 1), MOTLEY_OK) << "the device goes on";
  uint64_t value = 0;
  EXPECT_EQ(rig.api->fence_query(bad, &value, &rig.err), MOTLEY_INTERNAL) << "poison is for ever";
  EXPECT_EQ(rig.api->fence_wait(bad, 0, 0, &rig.err), MOTLEY_INTERNAL);
}

TEST(AsyncDevice, TheHostCancelsByPoison) {
  AsyncRig rig;
  const motley_slice slice = rig.Alloc(0, 4);
  motley_fence *gate = rig.Fence(), *done = rig.Fence();
  const int32_t value = 5;
  const Points points({{gate, 1}}, {{done, 1}});
  ASSERT_EQ(rig.api->write(rig.queues[0], slice, &value, &points.sync, &rig.err), MOTLEY_OK);
  EXPECT_EQ(rig.api->fence_wait(done, 1, 20'000'000, &rig.err), MOTLEY_DEADLINE_EXCEEDED);
  EXPECT_EQ(rig.Value(done), 0u) << "a timed-out wait poisons nothing";
  ASSERT_EQ(rig.api->fence_poison(gate, MOTLEY_CANCELLED, Str("stop"), &rig.err), MOTLEY_OK);
  Error error;
  EXPECT_EQ(rig.Wait(done, 1, &error), MOTLEY_ABORTED);
  EXPECT_STREQ(error.text, "stop");
  EXPECT_EQ(rig.api->fence_signal(gate, 1, &rig.err), MOTLEY_CANCELLED);
}

TEST(AsyncDevice, ALostDeviceEndsWithinASecondAndTheOtherGoesOn) {
  AsyncRig rig({{"lose_at", int64_t{1}}});
  motley_program* program = rig.AddProgram(0, 4);
  const motley_slice in = rig.Alloc(0, 64 * 16), out = rig.Alloc(0, 64 * 16), other = rig.Alloc(1, 64 * 16);
  motley_fence *never = rig.Fence(), *stuck = rig.Fence(), *held = rig.Fence(), *ran = rig.Fence();
  const Points blocked({{never, 1}}, {{stuck, 1}}), plain({}, {{held, 1}}), executed({}, {{ran, 1}});
  const Bind bind({in, in, out}, 1);
  std::vector<uint8_t> bytes(64 * 16);
  // One command that waits for ever, one that is held back behind it, then the execute that loses the device.
  ASSERT_EQ(rig.api->read(rig.queues[1], bytes.data(), in, &blocked.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->queue_flush(rig.queues[1], &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->read(rig.queues[1], bytes.data(), in, &plain.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->execute(rig.queues[0], program, &bind.bind, &executed.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->queue_flush(rig.queues[0], &rig.err), MOTLEY_OK);
  const auto start = Clock::now();
  for (motley_fence* fence : {ran, stuck, held}) {
    Error error;
    EXPECT_EQ(rig.Wait(fence, 1, &error), MOTLEY_UNAVAILABLE) << error.Text();
    EXPECT_NE(std::string(error.text).find("async_device:0 is lost"), std::string::npos) << error.Text();
  }
  EXPECT_LT(MillisecondsSince(start), 1000);

  motley_device_info info{};
  info.size = sizeof info;
  motley_buffer* buffer = nullptr;
  motley_queue* queue = nullptr;
  void* mapped = nullptr;
  uint64_t total = 0, free_bytes = 0;
  motley_device* lost = rig.client.devices[0];
  EXPECT_EQ(rig.api->device_info(lost, &info, &rig.err), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(rig.api->device_memory(lost, &total, &free_bytes, &rig.err), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(rig.api->buffer_alloc(lost, 4, MOTLEY_USAGE_WORK, &buffer, &rig.err), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(rig.api->buffer_map(in.buffer, 0, 4, &mapped, &rig.err), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(rig.api->queue_create(lost, 0, &queue, &rig.err), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(rig.api->queue_flush(rig.queues[0], &rig.err), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(rig.api->copy(rig.queues[0], out, in, nullptr, &rig.err), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(rig.api->write(rig.queues[0], in, bytes.data(), nullptr, &rig.err), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(rig.api->read(rig.queues[0], bytes.data(), in, nullptr, &rig.err), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(rig.api->execute(rig.queues[0], program, &bind.bind, nullptr, &rig.err), MOTLEY_UNAVAILABLE);
  motley_kv_plan kv_plan{};
  kv_plan.size = sizeof kv_plan;
  const motley_kv_desc desc = {sizeof desc, MOTLEY_KV_GQA, kF32, 16, 1, 4, 4, 0};
  EXPECT_EQ(rig.api->kv_plan(lost, &desc, &kv_plan, &rig.err), MOTLEY_UNAVAILABLE);

  motley_fence* fine = rig.Fence();
  const Points p({}, {{fine, 1}}), from_lost({}, {{fine, 2}});
  ASSERT_EQ(rig.api->write(rig.queues[2], other, bytes.data(), &p.sync, &rig.err), MOTLEY_OK);
  EXPECT_EQ(rig.Wait(fine, 1), MOTLEY_OK) << rig.err.Text();
  ASSERT_EQ(rig.api->copy(rig.queues[2], other, in, &from_lost.sync, &rig.err), MOTLEY_OK);
  EXPECT_EQ(rig.Wait(fine, 2), MOTLEY_UNAVAILABLE) << "its memory is gone for the other device too";
}

TEST(AsyncDevice, TheSecondDeviceCanBeLostToo) {
  AsyncRig rig({{"lose_at", int64_t{1}}, {"lose_next_at", int64_t{2}}});
  for (uint32_t d = 0; d < 2; ++d) {
    motley_program* program = rig.AddProgram(d, 4);
    const motley_slice in = rig.Alloc(d, 64 * 16), out = rig.Alloc(d, 64 * 16);
    motley_fence* ran = rig.Fence();
    const Points points({}, {{ran, 1}});
    const Bind bind({in, in, out}, 1);
    ASSERT_EQ(rig.api->execute(rig.queues[2 * d], program, &bind.bind, &points.sync, &rig.err), MOTLEY_OK);
    Error error;
    EXPECT_EQ(rig.Wait(ran, 1, &error), MOTLEY_UNAVAILABLE) << error.Text();
  }
}

TEST(AsyncDevice, AnyCallCanFindItsDeviceLost) {
  AsyncRig rig({{"lose_at_call", int64_t{20}}});
  uint64_t total = 0, free_bytes = 0;
  int calls = 1;  // beside those of the rig
  motley_device* device = rig.client.devices[1];
  while (calls < 20 && rig.api->device_memory(device, &total, &free_bytes, &rig.err) == MOTLEY_OK) ++calls;
  EXPECT_GT(calls, 1);
  EXPECT_LE(calls, 20);
  Error error;
  EXPECT_EQ(rig.api->device_memory(rig.client.devices[1], &total, &free_bytes, &error), MOTLEY_UNAVAILABLE);
  EXPECT_NE(std::string(error.text).find("lose_at_call = 20"), std::string::npos) << error.Text();
  EXPECT_EQ(rig.api->device_memory(rig.client.devices[0], &total, &free_bytes, &error), MOTLEY_OK);
}

TEST(AsyncDevice, DestroyingTheQueueOfALostDeviceDoesNotBlock) {
  AsyncRig rig({{"lose_at", int64_t{1}}, {"execute_ms", int64_t{50}}});
  motley_program* program = rig.AddProgram(0, 4);
  const motley_slice in = rig.Alloc(0, 64 * 16), out = rig.Alloc(0, 64 * 16);
  motley_fence* never = rig.Fence();
  const Points blocked({{never, 1}}, {});
  const Bind bind({in, in, out}, 1);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(rig.api->execute(rig.queues[0], program, &bind.bind, nullptr, &rig.err), MOTLEY_OK);
    ASSERT_EQ(rig.api->copy(rig.queues[1], out, in, &blocked.sync, &rig.err), MOTLEY_OK);
  }
  const auto start = Clock::now();
  rig.api->queue_destroy(rig.queues[0]);
  rig.api->queue_destroy(rig.queues[1]);
  rig.queues.erase(rig.queues.begin(), rig.queues.begin() + 2);
  EXPECT_LT(MillisecondsSince(start), 1000);
}

TEST(AsyncDevice, ABindIdReplaysAndIsHeldToItsWord) {
  AsyncRig rig;
  motley_program* program = rig.AddProgram(0, 4);
  const motley_slice a = rig.Alloc(0, 64 * 16), b = rig.Alloc(0, 64 * 16), out = rig.Alloc(0, 64 * 16);
  motley_fence* fence = rig.Fence();
  uint64_t value = 0;
  const auto run = [&](const std::vector<motley_slice>& slices, int64_t n_tokens, uint64_t id) {
    const Points points({}, {{fence, value + 1}});
    const Bind bind(slices, n_tokens, id);
    const motley_status status = rig.api->execute(rig.queues[0], program, &bind.bind, &points.sync, &rig.err);
    if (status != MOTLEY_OK) return status;
    return rig.Wait(fence, ++value);
  };
  const auto captures = [&] {
    motley_program_info info{};
    info.size = sizeof info;
    EXPECT_EQ(rig.api->program_info(program, &info, &rig.err), MOTLEY_OK);
    return info.captures;
  };
  EXPECT_EQ(run({a, b, out}, 1, 0), MOTLEY_OK);
  EXPECT_EQ(captures(), 0u);
  EXPECT_EQ(run({a, b, out}, 3, 1), MOTLEY_OK);
  EXPECT_EQ(run({a, b, out}, 4, 1), MOTLEY_OK) << "the bucket of 3 is 4";
  EXPECT_EQ(captures(), 1u);
  EXPECT_EQ(run({a, b, out}, 5, 1), MOTLEY_OK);
  EXPECT_EQ(captures(), 2u);
  EXPECT_EQ(run({b, a, out}, 5, 2), MOTLEY_OK);
  EXPECT_EQ(captures(), 3u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(run({b, a, out}, 5, 2), MOTLEY_OK);
  EXPECT_EQ(captures(), 3u) << "no re-capture after warm-up";
  EXPECT_EQ(run({b, b, out}, 5, 2), MOTLEY_INVALID_ARGUMENT);
  EXPECT_NE(std::string(rig.err.text).find("bind_id 2"), std::string::npos) << rig.err.Text();
}

TEST(AsyncDevice, SlicesHaveRoomForTheMaxAndAreAligned) {
  AsyncRig rig;
  motley_program* program = rig.AddProgram(0, 4);
  const motley_slice big = rig.Alloc(0, 64 * 16 + 256), elsewhere = rig.Alloc(1, 64 * 16);
  const motley_slice fits = {big.buffer, 256, 64 * 16};
  for (const motley_slice bad : {motley_slice{big.buffer, 0, 64 * 16 - 1},
                                 motley_slice{big.buffer, 64, 64 * 16}, elsewhere, motley_slice{}}) {
    const Bind bind({fits, fits, bad}, 1);
    EXPECT_EQ(rig.api->execute(rig.queues[0], program, &bind.bind, nullptr, &rig.err),
              MOTLEY_INVALID_ARGUMENT);
  }
  const Bind bind({fits, fits, fits}, 1), many({fits, fits, fits}, 65);
  EXPECT_EQ(rig.api->execute(rig.queues[0], program, &bind.bind, nullptr, &rig.err), MOTLEY_OK);
  EXPECT_EQ(rig.api->execute(rig.queues[0], program, &many.bind, nullptr, &rig.err), MOTLEY_INVALID_ARGUMENT);
}

TEST(AsyncDevice, TwoDevicesWorkAtTheSameTime) {
  AsyncRig rig({{"execute_ms", int64_t{150}}, {"delay_us", int64_t{0}}});
  motley_program *p0 = rig.AddProgram(0, 4), *p1 = rig.AddProgram(1, 4);
  const motley_slice s0 = rig.Alloc(0, 64 * 16), s1 = rig.Alloc(1, 64 * 16);
  const Bind b0({s0, s0, s0}, 1), b1({s1, s1, s1}, 1);
  motley_fence *f0 = rig.Fence(), *f1 = rig.Fence();
  const Points q0({}, {{f0, 1}}), q1({}, {{f1, 1}});
  const auto start = Clock::now();
  ASSERT_EQ(rig.api->execute(rig.queues[0], p0, &b0.bind, &q0.sync, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->execute(rig.queues[2], p1, &b1.bind, &q1.sync, &rig.err), MOTLEY_OK);
  EXPECT_EQ(rig.Wait(f0, 1), MOTLEY_OK);
  EXPECT_EQ(rig.Wait(f1, 1), MOTLEY_OK);
  EXPECT_GE(MillisecondsSince(start), 150);
  EXPECT_LT(MillisecondsSince(start), 290);
}

struct Called {
  std::atomic<int> times{0};
  std::atomic<int32_t> code{-1};
};

TEST(AsyncDevice, NotifyRunsOnce) {
  AsyncRig rig;
  Called now, later, poisoned, dropped;
  const auto count = [](void* arg, int32_t code) {
    static_cast<Called*>(arg)->code = code;
    ++static_cast<Called*>(arg)->times;
  };
  motley_fence *fence = rig.Fence(), *bad = rig.Fence();
  ASSERT_EQ(rig.api->fence_notify(fence, 0, count, &now, &rig.err), MOTLEY_OK);
  EXPECT_EQ(now.times, 1);
  ASSERT_EQ(rig.api->fence_notify(fence, 2, count, &later, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->fence_notify(fence, 9, count, &dropped, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->fence_signal(fence, 1, &rig.err), MOTLEY_OK);
  EXPECT_EQ(later.times, 0);
  ASSERT_EQ(rig.api->fence_signal(fence, 3, &rig.err), MOTLEY_OK);
  EXPECT_EQ(later.times, 1);
  EXPECT_EQ(later.code, MOTLEY_OK);
  EXPECT_EQ(rig.api->fence_signal(fence, 2, &rig.err), MOTLEY_INVALID_ARGUMENT) << "a timeline never falls";
  ASSERT_EQ(rig.api->fence_notify(bad, 1, count, &poisoned, &rig.err), MOTLEY_OK);
  ASSERT_EQ(rig.api->fence_poison(bad, MOTLEY_DATA_LOSS, Str("x"), &rig.err), MOTLEY_OK);
  EXPECT_EQ(poisoned.times, 1);
  EXPECT_EQ(poisoned.code, MOTLEY_DATA_LOSS);
  rig.fences.erase(rig.fences.begin());
  rig.api->fence_destroy(fence);
  EXPECT_EQ(dropped.times, 1);
  EXPECT_EQ(dropped.code, MOTLEY_CANCELLED);
}

// `released` is called exactly once a range: loaded, refused, poisoned, lost.
TEST(AsyncDevice, ARangeIsReleasedOnce) {
  AsyncRig rig({{"lose_at", int64_t{1}}});
  std::atomic<int> released{0};
  const std::vector<float> values(8, 1.5f);
  motley_part part{};
  part.role = MOTLEY_PART_DATA;
  part.dtype = kF32;
  part.expert = -1;
  part.rank = 1;
  part.dims[0] = 8;
  part.src.size = sizeof(motley_range);
  part.src.base = values.data();
  part.src.bytes = 32;
  part.src.fd = -1;
  part.src.arg = &released;
  part.src.released = [](void* arg) { ++*static_cast<std::atomic<int>*>(arg); };
  motley_weight weight{};
  weight.size = sizeof weight;
  weight.format = kF32;
  weight.rank = 1;
  weight.dims[0] = 8;
  weight.parts = {&part, 1, sizeof part, 0};
  const motley_slice dst = rig.Alloc(0, 32);
  motley_fence *fence = rig.Fence(), *gate = rig.Fence(), *done = rig.Fence();
  const auto load = [&](uint32_t layout, const Points& points) {
    return rig.api->weight_load(rig.queues[0], &weight, layout, ~0u, dst, &points.sync, &rig.err);
  };
  ASSERT_EQ(load(MOTLEY_LAYOUT_F32, Points({}, {{fence, 1}})), MOTLEY_OK);
  ASSERT_EQ(rig.Wait(fence, 1), MOTLEY_OK);
  EXPECT_EQ(released, 1);
  EXPECT_NE(load(77, Points({}, {{fence, 2}})), MOTLEY_OK);
  EXPECT_EQ(released, 2);
  ASSERT_EQ(load(MOTLEY_LAYOUT_F32, Points({{gate, 1}}, {{done, 1}})), MOTLEY_OK);
  ASSERT_EQ(rig.api->fence_poison(gate, MOTLEY_CANCELLED, Str("stop"), &rig.err), MOTLEY_OK);
  EXPECT_EQ(rig.Wait(done, 1), MOTLEY_ABORTED);
  EXPECT_EQ(released, 3);
  motley_buffer* buffer = nullptr;
  EXPECT_EQ(rig.api->buffer_import(rig.client.devices[0], &part.src, &buffer, &rig.err),
            MOTLEY_UNIMPLEMENTED);
  EXPECT_EQ(released, 4);

  motley_program* program = rig.AddProgram(0, 4);
  const motley_slice s = rig.Alloc(0, 64 * 16);
  const Bind bind({s, s, s}, 1);
  motley_fence* last = rig.Fence();
  ASSERT_EQ(rig.api->execute(rig.queues[0], program, &bind.bind, nullptr, &rig.err), MOTLEY_OK);
  ASSERT_EQ(load(MOTLEY_LAYOUT_F32, Points({}, {{last, 1}})), MOTLEY_OK);
  EXPECT_EQ(rig.Wait(last, 1), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(released, 5);
  EXPECT_EQ(load(MOTLEY_LAYOUT_F32, Points({}, {{last, 2}})), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(released, 6);
}

TEST(AsyncDevice, PageLayoutsDifferUnlessAskedOtherwise) {
  for (const char* layouts : {"unlike", "same"}) {
    const Client client(MOTLEY_ASYNC_PLUGIN, {{"layouts", std::string(layouts)}});
    Session a(client, 0), b(client, 1);
    EXPECT_EQ(a.KvPlan(kF32, 16, 2, 8, 8).layout != b.KvPlan(kF32, 16, 2, 8, 8).layout,
              std::string(layouts) == "unlike");
  }
}

TEST(AsyncDevice, CloseRefusesWhileHandlesAreOpen) {
  const Client client(MOTLEY_ASYNC_PLUGIN);
  motley_fence* fence = nullptr;
  Error err;
  ASSERT_EQ(client.api->fence_create(client.instance, 0, &fence, &err), MOTLEY_OK);
  EXPECT_EQ(client.plugin->close(client.instance, &err), MOTLEY_FAILED_PRECONDITION);
  client.api->fence_destroy(fence);
}

}  // namespace
}  // namespace motley::conformance
