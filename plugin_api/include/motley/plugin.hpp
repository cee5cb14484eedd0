// Comfort for authors of plugins: faults, guards, spans, sized structs, options, teams. C++20, standard
// library alone.
//
// Inside a plugin functions return a Fault; at the ABI's edge Guard() turns it, or an exception, into a code
// and the caller's text. Start from plugin_api/example/ref; a device that works on the calling thread derives
// from motley/host_device.hpp and writes no thunk at all.
#pragma once

#include <motley/first_size.hpp>
#include <motley/plugin.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace motley::plugin {

// ---- Text
// ---------------------------------------------------------------------------------------------------

inline std::string_view View(motley_str s) {
  return s.data ? std::string_view(s.data, s.size) : std::string_view();
}
inline motley_str Str(std::string_view s) {
  return {s.data(), s.size()};
}

// ---- Faults
// -------------------------------------------------------------------------------------------------

// What went wrong, or nothing. Costs no allocation while nothing is.
struct [[nodiscard]] Fault {
  int32_t code = MOTLEY_OK;
  std::string text;          // names the thing, the value and the fix
  int64_t node = -1;         // the node of the graph at fault
  uint64_t bytes_short = 0;  // with RESOURCE_EXHAUSTED

  bool ok() const { return code == MOTLEY_OK; }
};

[[gnu::format(printf, 2, 3)]] inline Fault Fail(int32_t code, const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  Fault fault;
  fault.code = code;
  fault.text = text;
  return fault;
}

// For "%.*s": MOTLEY_TEXT(name).
#define MOTLEY_TEXT(view) static_cast<int>((view).size()), (view).data()

// Returns from the calling function, which returns a Fault, where `expression` is one.
#define MOTLEY_TRY(expression)                                                      \
  do {                                                                              \
    if (::motley::plugin::Fault fault_ = (expression); !fault_.ok()) return fault_; \
  } while (false)

// Copies `text` with its NUL, cut to `capacity` bytes at the start of a UTF-8 character.
inline void CopyText(std::string_view text, char* out, size_t capacity) {
  if (capacity == 0) return;
  size_t n = std::min(text.size(), capacity - 1);
  while (n > 0 && n < text.size() && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) --n;
  if (n > 0) std::memcpy(out, text.data(), n);
  out[n] = '\0';
}

// Writes the fault into the caller's memory, as far as its size reaches, and returns the code.
inline motley_status Report(motley_error* err, const Fault& fault) noexcept {
  if (fault.ok() || !err) return fault.code;
  motley_error full{};
  full.size = err->size;
  full.code = fault.code;
  full.bytes_short = fault.bytes_short;
  full.node = fault.node;
  CopyText(fault.text, full.text, sizeof full.text);
  const size_t bytes = std::min<size_t>(err->size, sizeof full);
  std::memcpy(err, &full, bytes);
  const size_t text = offsetof(motley_error, text);
  if (bytes > text && bytes < text + sizeof full.text) reinterpret_cast<char*>(err)[bytes - 1] = '\0';
  return fault.code;
}

// Runs body() -> Fault at the ABI's edge: no exception leaves.
template <class Body>
motley_status Guard(motley_error* err, Body&& body) noexcept {
  try {
    return Report(err, body());
  } catch (const std::bad_alloc&) {
    static const char kText[] = "out of host memory";
    if (err && err->size >= kFirstSize<motley_error>) {
      err->code = MOTLEY_RESOURCE_EXHAUSTED;
      std::memcpy(err->text, kText, sizeof kText);
      err->node = -1;
      err->bytes_short = 0;
    }
    return MOTLEY_RESOURCE_EXHAUSTED;
  } catch (const std::exception& e) {
    try {
      return Report(err, Fail(MOTLEY_INTERNAL, "exception in the plugin: %s", e.what()));
    } catch (...) {
      return MOTLEY_INTERNAL;
    }
  } catch (...) {
    try {
      return Report(err, Fail(MOTLEY_INTERNAL, "unknown exception in the plugin"));
    } catch (...) {
      return MOTLEY_INTERNAL;
    }
  }
}

// For the functions that return nothing (free, destroy).
template <class Body>
void GuardVoid(Body&& body) noexcept {
  try {
    body();
  } catch (...) {
  }
}

// ---- Spans and sized structs
// --------------------------------------------------------------------------------

// The elements of a motley_span, by value: strides and alignment are the sender's. Check it once with
// CheckSpan.
template <class T>
class SpanView {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SpanView() = default;
  explicit SpanView(motley_span span) : span_(span) {}

  size_t size() const { return span_.count; }
  bool empty() const { return span_.count == 0; }
  T operator[](size_t i) const {
    T value{};
    std::memcpy(&value, static_cast<const char*>(span_.data) + i * span_.stride,
                std::min<size_t>(span_.stride, sizeof(T)));
    return value;
  }

  class Iterator {
   public:
    Iterator(const SpanView* view, size_t i) : view_(view), i_(i) {}
    T operator*() const { return (*view_)[i_]; }
    Iterator& operator++() { return ++i_, *this; }
    bool operator!=(const Iterator& other) const { return i_ != other.i_; }

   private:
    const SpanView* view_;
    size_t i_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  motley_span span_{};
};

// A bound on counts that come over the ABI: far above every use, far below what wraps.
inline constexpr uint64_t kMaxSpanCount = 1u << 24;

template <class T>
Fault CheckSpan(motley_span span, const char* what, uint64_t max_count = kMaxSpanCount) {
  if (span.reserved != 0)
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s.reserved = %u: must be 0", what, span.reserved);
  if (span.count == 0) return {};
  if (!span.data)
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s.data is NULL with count %llu", what,
                static_cast<unsigned long long>(span.count));
  if (span.count > max_count)
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s.count = %llu: at most %llu", what,
                static_cast<unsigned long long>(span.count), static_cast<unsigned long long>(max_count));
  if (span.stride < kFirstSize<T>)
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s.stride = %u: at least %u", what, span.stride, kFirstSize<T>);
  return {};
}

// A span over an array of one's own.
template <class T>
motley_span SpanOf(const T* data, size_t count) {
  return {data, count, static_cast<uint32_t>(sizeof(T)), 0};
}

// Copies a struct that starts with `size`: what an older host does not have yet reads as 0.
template <class T>
Fault ReadStruct(const T* in, const char* what, T* out) {
  if (!in) return Fail(MOTLEY_INVALID_ARGUMENT, "%s is NULL", what);
  uint32_t size = 0;
  std::memcpy(&size, in, sizeof size);
  if (size < kFirstSize<T>)
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s.size = %u: at least %u", what, size, kFirstSize<T>);
  *out = {};
  std::memcpy(out, in, std::min<size_t>(size, sizeof(T)));
  return {};
}

// Writes a struct of the caller's, as far as the size that the caller has set reaches; `size` itself stays.
template <class T>
Fault WriteStruct(const T& value, const char* what, T* out) {
  if (!out) return Fail(MOTLEY_INVALID_ARGUMENT, "%s is NULL", what);
  const uint32_t size = out->size;
  if (size < kFirstSize<T>)
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s.size = %u: at least %u", what, size, kFirstSize<T>);
  std::memcpy(out, &value, std::min<size_t>(size, sizeof(T)));
  out->size = size;
  return {};
}

// ---- Host
// ---------------------------------------------------------------------------------------------------

enum class LogLevel : uint32_t { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3 };

inline void Log(const motley_host* host, LogLevel level, std::string_view scope, std::string_view text) {
  if (host && host->log) host->log(host->self, static_cast<uint32_t>(level), Str(scope), Str(text));
}

// A device's threads, lent by the host. One thread (the caller) where the host has no teams. Run() from any
// thread; runs of one team wait for each other.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    if (team_) host_->team_destroy(team_);
  }

  Fault Create(const motley_host* host, uint32_t threads, int32_t numa_node) {
    host_ = host;
    if (threads <= 1 || !host || !host->team_create || !host->team_run || !host->team_destroy) return {};
    const motley_status status = host->team_create(host->self, threads, numa_node, &team_);
    if (status != MOTLEY_OK) {
      team_ = nullptr;
      return Fail(status, "the host has no team of %u threads on NUMA node %d", threads, numa_node);
    }
    threads_ = threads;
    return {};
  }

  uint32_t threads() const { return threads_; }

  // f(i, n) for every i in [0, n), all at once. An exception of f is thrown again here, when all are back; and one is
  // thrown where the host has refused the run, so that nobody takes work for done that was not.
  template <class F>
  void Run(F&& f) {
    if (!team_) return f(0u, 1u);
    struct Job {
      F* f;
      std::mutex mutex;
      std::exception_ptr error;
      bool called;  // by member 0, which is this thread
    } job{&f, {}, {}, false};
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    host_->team_run(
        team_,
        [](void* arg, uint32_t i, uint32_t n) {
          Job* job = static_cast<Job*>(arg);
          if (i == 0) job->called = true;
          try {
            (*job->f)(i, n);
          } catch (...) {
            const std::lock_guard<std::mutex> lock(job->mutex);
            if (!job->error) job->error = std::current_exception();
          }
        },
        &job);
    if (job.error) std::rethrow_exception(job.error);
    if (!job.called) throw std::runtime_error("the host refused a run of the team; its log says why");
  }

 private:
  const motley_host* host_ = nullptr;
  motley_team* team_ = nullptr;
  uint32_t threads_ = 1;
  std::mutex mutex_;
};

// [begin, end) of `count` items for member i of n: contiguous, sizes differ by one granule at most.
inline std::pair<int64_t, int64_t> Share(int64_t count, uint32_t i, uint32_t n, int64_t granule = 1) {
  const int64_t granules = (count + granule - 1) / granule;
  const int64_t begin = granules * i / n * granule, end = granules * (i + 1) / n * granule;
  return {std::min(begin, count), std::min(end, count)};
}

}  // namespace motley::plugin
