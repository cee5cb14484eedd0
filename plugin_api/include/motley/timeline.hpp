// Fences for plugins whose work is done by threads of the host's process: a timeline of mutex and condition
// variable.
//
// Thread-safe throughout. A Timeline is held by shared_ptr: who signals it keeps it alive through the signal,
// so the host may destroy its fence as soon as the value that it waited for is there.
#pragma once

#include <motley/plugin.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace motley::plugin {

class Timeline {
 public:
  using NotifyFn = void (*)(void* arg, int32_t code);

  explicit Timeline(uint64_t initial) : value_(initial) {}
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  ~Timeline() {
    for (const Waiter& waiter : waiters_) waiter.fn(waiter.arg, MOTLEY_CANCELLED);
  }

  Fault Query(uint64_t* value) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    *value = value_;
    return poison_;
  }

  // Raises the value; a timeline never falls. On a poisoned one nothing happens: poison is for ever.
  Fault Signal(uint64_t value) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!poison_.ok()) return poison_;
      if (value < value_) {
        return Fail(MOTLEY_INVALID_ARGUMENT, "fence signalled with %llu: it is at %llu already",
                    static_cast<unsigned long long>(value), static_cast<unsigned long long>(value_));
      }
      value_ = value;
      changed_.notify_all();
    }
    CallReady();
    return {};
  }

  // The first poison stays.
  void Poison(int32_t code, std::string_view why) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!poison_.ok()) return;
      poison_.code = code;
      poison_.text = why;
      changed_.notify_all();
    }
    CallReady();
  }

  Fault Wait(uint64_t value, uint64_t timeout_ns) const {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto done = [&] { return !poison_.ok() || value_ >= value; };
    // A year stands for "for ever" too: beyond that the clock's arithmetic overflows.
    constexpr uint64_t kLongest = 365ull * 24 * 3600 * 1000000000;
    if (timeout_ns > kLongest) {
      changed_.wait(lock, done);
    } else if (!changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), done)) {
      return Fail(MOTLEY_DEADLINE_EXCEEDED, "fence is at %llu, %llu not reached in time",
                  static_cast<unsigned long long>(value_), static_cast<unsigned long long>(value));
    }
    return poison_;
  }

  // fn runs once: at once if reached or poisoned, else on the thread that signals.
  void Notify(uint64_t value, NotifyFn fn, void* arg) {
    int32_t code = MOTLEY_OK;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (poison_.ok() && value_ < value) {
        waiters_.push_back({value, fn, arg});
        return;
      }
      code = poison_.code;
    }
    fn(arg, code);
  }

 private:
  struct Waiter {
    uint64_t value;
    NotifyFn fn;
    void* arg;
  };

  // One at a time and outside the lock, so that fn may use the fence.
  void CallReady() {
    while (true) {
      Waiter ready{};
      int32_t code = MOTLEY_OK;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (size_t i = 0; i < waiters_.size() && !ready.fn; ++i) {
          if (poison_.ok() && waiters_[i].value > value_) continue;
          ready = waiters_[i];
          waiters_.erase(waiters_.begin() + static_cast<ptrdiff_t>(i));
        }
        code = poison_.code;
      }
      if (!ready.fn) return;
      ready.fn(ready.arg, code);
    }
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  uint64_t value_;
  Fault poison_;
  std::vector<Waiter> waiters_;
};

// A point that keeps its timeline alive.
struct HeldPoint {
  std::shared_ptr<Timeline> line;
  uint64_t value = 0;
};

// What a motley_fence* points to in plugins that use this header.
struct Fence {
  std::shared_ptr<Timeline> line;
};
inline Fence* FromAbi(motley_fence* fence) {
  return reinterpret_cast<Fence*>(fence);
}
inline motley_fence* ToAbi(Fence* fence) {
  return reinterpret_cast<motley_fence*>(fence);
}

// The points of a sync, held. Vectors are cleared and filled again, so a queue that keeps one allocates once.
struct HeldSync {
  std::vector<HeldPoint> wait, signal;

  Fault Read(const motley_sync* sync) {
    wait.clear();
    signal.clear();
    if (!sync) return {};
    MOTLEY_TRY(Hold(sync->wait, "sync.wait", &wait));
    return Hold(sync->signal, "sync.signal", &signal);
  }
  void Clear() {
    wait.clear();
    signal.clear();
  }
  void Signal() {
    // A value below the present one, or a poison from elsewhere, is seen by who waits.
    for (HeldPoint& point : signal) static_cast<void>(point.line->Signal(point.value));
  }
  void Poison(int32_t code, std::string_view why) {
    for (HeldPoint& point : signal) point.line->Poison(code, why);
  }

 private:
  static Fault Hold(motley_span span, const char* what, std::vector<HeldPoint>* out) {
    MOTLEY_TRY(CheckSpan<motley_point>(span, what, 1u << 16));
    for (const motley_point point : SpanView<motley_point>(span)) {
      if (!point.fence) return Fail(MOTLEY_INVALID_ARGUMENT, "%s: a fence is NULL", what);
      out->push_back({FromAbi(point.fence)->line, point.value});
    }
    return {};
  }
};

// The seven fence functions of motley_compute.
inline motley_status FenceCreate(motley_instance*, uint64_t initial, motley_fence** out, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    if (!out) return Fail(MOTLEY_INVALID_ARGUMENT, "fence_create: out is NULL");
    *out = ToAbi(new Fence{std::make_shared<Timeline>(initial)});
    return {};
  });
}
inline motley_status FenceQuery(motley_fence* fence, uint64_t* value, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    if (!fence || !value) return Fail(MOTLEY_INVALID_ARGUMENT, "fence_query: an argument is NULL");
    return FromAbi(fence)->line->Query(value);
  });
}
inline motley_status FenceSignal(motley_fence* fence, uint64_t value, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    if (!fence) return Fail(MOTLEY_INVALID_ARGUMENT, "fence_signal: fence is NULL");
    const std::shared_ptr<Timeline> line = FromAbi(fence)->line;
    return line->Signal(value);
  });
}
inline motley_status FencePoison(motley_fence* fence, int32_t code, motley_str why, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    if (!fence) return Fail(MOTLEY_INVALID_ARGUMENT, "fence_poison: fence is NULL");
    if (code == MOTLEY_OK) return Fail(MOTLEY_INVALID_ARGUMENT, "fence_poison: code 0 is no poison");
    const std::shared_ptr<Timeline> line = FromAbi(fence)->line;
    line->Poison(code, View(why));
    return {};
  });
}
inline motley_status FenceWait(motley_fence* fence, uint64_t value, uint64_t timeout_ns, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    if (!fence) return Fail(MOTLEY_INVALID_ARGUMENT, "fence_wait: fence is NULL");
    const std::shared_ptr<Timeline> line = FromAbi(fence)->line;
    return line->Wait(value, timeout_ns);
  });
}
inline motley_status FenceNotify(motley_fence* fence, uint64_t value, void (*fn)(void*, int32_t), void* arg,
                                 motley_error* err) {
  return Guard(err, [&]() -> Fault {
    if (!fence || !fn) return Fail(MOTLEY_INVALID_ARGUMENT, "fence_notify: an argument is NULL");
    const std::shared_ptr<Timeline> line = FromAbi(fence)->line;
    line->Notify(value, fn, arg);
    return {};
  });
}
inline void FenceDestroy(motley_fence* fence) {
  GuardVoid([&] { delete FromAbi(fence); });
}

}  // namespace motley::plugin
