// Status and StatusOr: how every fallible interface of motley reports failure.
//
// A Status is a code and a message that names the thing, the value and the fix:
//   "plugin.cuda_gb10.streams = 0: must be 1..16".
// Codes are those of the plugin ABI (motley/plugin.h), so that they cross it unchanged.
// Value types: copy and move freely, no locks; any thread.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace motley {

enum class Code : int32_t {
  kOk = 0,
  kCancelled = 1,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};

// "INVALID_ARGUMENT" and so on; "UNKNOWN" for a value that is no code.
std::string_view CodeName(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // "INVALID_ARGUMENT: message", or "OK".
  std::string ToString() const;

  // The same code with `prefix` + ": " before the message; OK stays OK.
  Status WithPrefix(std::string_view prefix) const;

  friend bool operator==(const Status&, const Status&) = default;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

inline Status OkStatus() { return Status(); }
inline Status CancelledError(std::string m) { return {Code::kCancelled, std::move(m)}; }
inline Status InvalidArgumentError(std::string m) { return {Code::kInvalidArgument, std::move(m)}; }
inline Status DeadlineExceededError(std::string m) { return {Code::kDeadlineExceeded, std::move(m)}; }
inline Status NotFoundError(std::string m) { return {Code::kNotFound, std::move(m)}; }
inline Status ResourceExhaustedError(std::string m) { return {Code::kResourceExhausted, std::move(m)}; }
inline Status FailedPreconditionError(std::string m) { return {Code::kFailedPrecondition, std::move(m)}; }
inline Status AbortedError(std::string m) { return {Code::kAborted, std::move(m)}; }
inline Status UnimplementedError(std::string m) { return {Code::kUnimplemented, std::move(m)}; }
inline Status InternalError(std::string m) { return {Code::kInternal, std::move(m)}; }
inline Status UnavailableError(std::string m) { return {Code::kUnavailable, std::move(m)}; }
inline Status DataLossError(std::string m) { return {Code::kDataLoss, std::move(m)}; }

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!status_.ok() && "an OK StatusOr needs a value");
    if (status_.ok()) status_ = InternalError("StatusOr made from an OK status without a value");
  }
  StatusOr(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & { assert(ok()); return *value_; }
  const T& value() const& { assert(ok()); return *value_; }
  T&& value() && { assert(ok()); return *std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

#define MOTLEY_CONCAT_INNER(a, b) a##b
#define MOTLEY_CONCAT(a, b) MOTLEY_CONCAT_INNER(a, b)

#define MOTLEY_RETURN_IF_ERROR(expr)                        \
  do {                                                      \
    if (::motley::Status motley_status_ = (expr); !motley_status_.ok()) return motley_status_; \
  } while (0)

// MOTLEY_ASSIGN_OR_RETURN(auto x, Compute());
#define MOTLEY_ASSIGN_OR_RETURN(lhs, expr) \
  MOTLEY_ASSIGN_OR_RETURN_IMPL(MOTLEY_CONCAT(motley_or_, __LINE__), lhs, expr)
#define MOTLEY_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                                 \
  if (!tmp.ok()) return tmp.status();                \
  lhs = *std::move(tmp)

}  // namespace motley
