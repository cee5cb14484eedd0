// The boundary itself: calling into a plugin, and copying out what it gave. Inside core/backend only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include <motley/first_size.hpp>
#include <motley/plugin.h>

#include "core/base/status.h"

namespace motley {

// Whether a plugin of this ABI can be used. From 1.0 on both sides of one major understand each other, whoever is
// newer; before, each minor may break.
inline bool AbiFits(uint32_t major, uint32_t minor) {
  return major == MOTLEY_ABI_MAJOR && (major >= 1 || minor == MOTLEY_ABI_MINOR);
}

inline motley_str ToStr(std::string_view text) { return {text.data(), text.size()}; }

// A plugin's text, copied; nothing for NULL with a length, or one longer than any sensible text.
inline std::optional<std::string> CopyText(motley_str text) {
  constexpr uint64_t kLongestText = 1 << 20;
  if (text.size == 0) return std::string();
  if (text.data == nullptr || text.size > kLongestText) return std::nullopt;
  return std::string(text.data, text.size);
}

// Whether the elements of a plugin's span can be read as T, and its reserved field is 0.
template <typename T>
bool SpanIsReadable(const motley_span& span) {
  constexpr uint64_t kMostElements = 1 << 20;
  if (span.reserved != 0) return false;
  if (span.count == 0) return true;
  const bool aligned = reinterpret_cast<uintptr_t>(span.data) % alignof(T) == 0 && span.stride % alignof(T) == 0;
  return span.data != nullptr && aligned && span.stride >= kFirstSize<T> && span.count <= kMostElements;
}

// A copy: what a plugin of an older minor does not have reads as 0.
template <typename T>
T SpanAt(const motley_span& span, uint64_t i) {
  T value{};
  std::memcpy(&value, static_cast<const std::byte*>(span.data) + i * span.stride,
              std::min<size_t>(span.stride, sizeof(T)));
  return value;
}

// For messages about one that is not.
std::string SpanText(const motley_span& span);

inline motley_error EmptyError() {
  motley_error error;
  error.size = sizeof error;
  error.code = 0;
  error.text[0] = '\0';
  error.bytes_short = 0;
  error.node = -1;
  return error;
}

// What a call that returned `code` said, behind `what` ("ref:0: buffer_alloc"). A code that is none is INTERNAL.
Status PluginError(std::string_view what, motley_status code, const motley_error& error);

Status PluginThrew(std::string_view what, const char* text);  // text may be NULL

// call(motley_error*) -> motley_status. Success costs one try and one error on the stack. An exception must not cross
// the ABI; one that does is a Status here.
template <typename Call>
Status CallPlugin(std::string_view device, const char* function, Call&& call) {
  motley_error error = EmptyError();
  const auto what = [&] { return std::string(device) + ": " + function; };
  try {
    const motley_status code = call(&error);
    if (code == MOTLEY_OK) [[likely]] return OkStatus();
    return PluginError(what(), code, error);
  } catch (const std::exception& e) {
    return PluginThrew(what(), e.what());
  } catch (...) {
    return PluginThrew(what(), nullptr);
  }
}

// For functions without a status.
template <typename Call>
Status CallPluginVoid(std::string_view device, const char* function, Call&& call) {
  return CallPlugin(device, function, [&](motley_error*) {
    call();
    return MOTLEY_OK;
  });
}

}  // namespace motley
