// L1: fences, poison, the order of a queue.
#include <atomic>
#include <thread>

#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

class L1_Fences : public OnTarget {
 protected:
  ~L1_Fences() override {
    for (motley_fence* fence : fences_) api->fence_destroy(fence);
  }
  motley_fence* Fence(uint64_t initial = 0) {
    motley_fence* fence = nullptr;
    EXPECT_EQ(api->fence_create(client.instance, initial, &fence, &err), MOTLEY_OK) << err.Text();
    fences_.push_back(fence);
    return fence;
  }
  uint64_t Value(motley_fence* fence) {
    uint64_t value = ~0ull;
    EXPECT_EQ(api->fence_query(fence, &value, &err), MOTLEY_OK) << err.Text();
    return value;
  }

 private:
  std::vector<motley_fence*> fences_;
};

// A sync of at most one point each.
struct Points {
  motley_point wait, signal;
  motley_sync sync;
  Points(motley_point w, motley_point s) : wait(w), signal(s) {
    sync = {{&wait, w.fence ? 1u : 0u, sizeof(motley_point), 0},
            {&signal, s.fence ? 1u : 0u, sizeof(motley_point), 0}};
  }
};

constexpr uint64_t kSecond = 1'000'000'000;

TEST_F(L1_Fences, P30_ATimelineRisesAndNeverFalls) {
  motley_fence* fence = Fence(5);
  EXPECT_EQ(Value(fence), 5u);
  ASSERT_EQ(api->fence_signal(fence, 9, &err), MOTLEY_OK) << err.Text();
  EXPECT_EQ(Value(fence), 9u);
  EXPECT_NE(api->fence_signal(fence, 8, &err), MOTLEY_OK);
  EXPECT_EQ(Value(fence), 9u);
  for (const uint64_t reached : {0u, 5u, 9u}) EXPECT_EQ(api->fence_wait(fence, reached, 0, &err), MOTLEY_OK);
}

TEST_F(L1_Fences, P31_ATimedOutWaitPoisonsNothing) {
  motley_fence* fence = Fence();
  EXPECT_EQ(api->fence_wait(fence, 1, 1'000'000, &err), MOTLEY_DEADLINE_EXCEEDED);
  EXPECT_EQ(Value(fence), 0u);
  std::thread later([&] {
    Error error;
    EXPECT_EQ(api->fence_signal(fence, 1, &error), MOTLEY_OK) << error.Text();
  });
  EXPECT_EQ(api->fence_wait(fence, 1, ~0ull, &err), MOTLEY_OK) << err.Text();
  later.join();
}

TEST_F(L1_Fences, P32_PoisonIsForEver) {
  motley_fence* fence = Fence(3);
  ASSERT_EQ(api->fence_poison(fence, MOTLEY_CANCELLED, Str("first"), &err), MOTLEY_OK) << err.Text();
  EXPECT_EQ(api->fence_poison(fence, MOTLEY_DATA_LOSS, Str("second"), &err), MOTLEY_OK);
  for (int i = 0; i < 2; ++i) {
    Error error;
    uint64_t value = 0;
    EXPECT_EQ(api->fence_query(fence, &value, &error), MOTLEY_CANCELLED);
    EXPECT_STREQ(error.text, "first");
    EXPECT_EQ(api->fence_wait(fence, 1, 0, &error), MOTLEY_CANCELLED) << "also for a value that was reached";
    EXPECT_STREQ(error.text, "first");
    EXPECT_EQ(api->fence_signal(fence, 10, &error), MOTLEY_CANCELLED);
  }
}

TEST_F(L1_Fences, P33_PoisonSpreadsWithItsFirstText) {
  const motley_slice slice = session.Upload(std::vector<int32_t>{1});
  motley_fence *bad = Fence(), *second = Fence(), *third = Fence();
  ASSERT_EQ(api->fence_poison(bad, MOTLEY_DATA_LOSS, Str("it broke"), &err), MOTLEY_OK);
  const int32_t two = 2;
  int32_t got = 7;
  const Points write({bad, 1}, {second, 1}), read({second, 1}, {third, 1});
  ASSERT_EQ(api->write(session.queue, slice, &two, &write.sync, &err), MOTLEY_OK) << err.Text();
  ASSERT_EQ(api->read(session.queue, &got, slice, &read.sync, &err), MOTLEY_OK) << err.Text();
  for (motley_fence* fence : {second, third}) {
    Error error;
    EXPECT_EQ(api->fence_wait(fence, 1, 10 * kSecond, &error), MOTLEY_ABORTED);
    EXPECT_STREQ(error.text, "it broke");
  }
  EXPECT_EQ(got, 7) << "the read has not run";
  EXPECT_EQ(session.Download<int32_t>(slice)[0], 1) << "nor the write";
}

struct Called {
  std::atomic<int> times{0};
  std::atomic<int32_t> code{-1};
  static void Count(void* arg, int32_t code) {
    static_cast<Called*>(arg)->code = code;
    ++static_cast<Called*>(arg)->times;
  }
};

TEST_F(L1_Fences, P34_NotifyCallsOnce) {
  if (!MOTLEY_HAS(api, motley_compute, fence_notify)) MOTLEY_UNSUPPORTED("fence_notify is NULL");
  Called now, later, poisoned, dropped;
  motley_fence *fence = Fence(), *bad = Fence(), *gone = nullptr;
  ASSERT_EQ(api->fence_create(client.instance, 0, &gone, &err), MOTLEY_OK);
  ASSERT_EQ(api->fence_notify(fence, 0, Called::Count, &now, &err), MOTLEY_OK);
  EXPECT_EQ(now.times, 1);
  ASSERT_EQ(api->fence_notify(fence, 2, Called::Count, &later, &err), MOTLEY_OK);
  ASSERT_EQ(api->fence_signal(fence, 1, &err), MOTLEY_OK);
  EXPECT_EQ(later.times, 0);
  ASSERT_EQ(api->fence_signal(fence, 3, &err), MOTLEY_OK);
  EXPECT_EQ(later.times, 1);
  EXPECT_EQ(later.code, MOTLEY_OK);
  ASSERT_EQ(api->fence_notify(bad, 1, Called::Count, &poisoned, &err), MOTLEY_OK);
  ASSERT_EQ(api->fence_poison(bad, MOTLEY_DATA_LOSS, Str("x"), &err), MOTLEY_OK);
  EXPECT_EQ(poisoned.times, 1);
  EXPECT_EQ(poisoned.code, MOTLEY_DATA_LOSS);
  ASSERT_EQ(api->fence_notify(gone, 9, Called::Count, &dropped, &err), MOTLEY_OK);
  api->fence_destroy(gone);
  EXPECT_EQ(dropped.times, 1);
  EXPECT_EQ(dropped.code, MOTLEY_CANCELLED);
}

TEST_F(L1_Fences, P35_AQueueKeepsItsOrder) {
  const motley_slice slice = session.Upload(std::vector<int32_t>{0});
  std::vector<int32_t> values(200), got(200, -1);
  for (int32_t i = 0; i < 200; ++i) {
    values[static_cast<size_t>(i)] = i;
    ASSERT_EQ(api->write(session.queue, slice, &values[static_cast<size_t>(i)], nullptr, &err), MOTLEY_OK);
    ASSERT_EQ(api->read(session.queue, &got[static_cast<size_t>(i)], slice, session.Next(), &err), MOTLEY_OK);
  }
  ASSERT_EQ(session.Wait(), MOTLEY_OK);
  EXPECT_EQ(got, values);
}

// Another thread looks at what a call wrote as soon as the fence says that it may.
TEST_F(L1_Fences, P37_AFenceIsSignalledBehindTheWork) {
  constexpr size_t kCount = 4 << 20;
  const motley_slice slice = session.Alloc(kCount * sizeof(int32_t));
  std::vector<int32_t> values(kCount), got(kCount, -1);
  motley_fence* fence = Fence();
  for (int32_t round = 1; round <= 8; ++round) {
    std::fill(values.begin(), values.end(), round);
    session.Write(slice, values.data());
    std::atomic<int> seen{-1};
    std::thread watcher([&] {
      Error error;
      const motley_status status = api->fence_wait(fence, static_cast<uint64_t>(round), 20 * kSecond, &error);
      seen = status == MOTLEY_OK ? __atomic_load_n(&got[kCount - 1], __ATOMIC_RELAXED) : -2;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const Points done({nullptr, 0}, {fence, static_cast<uint64_t>(round)});
    EXPECT_EQ(api->read(session.queue, got.data(), slice, &done.sync, &err), MOTLEY_OK) << err.Text();
    EXPECT_EQ(api->queue_flush(session.queue, &err), MOTLEY_OK) << err.Text();
    watcher.join();
    EXPECT_EQ(seen, round) << "the fence was there before the last byte";
  }
}

}  // namespace
}  // namespace motley::conformance
