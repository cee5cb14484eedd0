#include "core/text/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "core/text/utf8.h"

namespace motley {
namespace {

// The length of the longest proper border (prefix that is also a suffix) of each prefix of `text`.
std::vector<uint32_t> Borders(std::string_view text) {
  std::vector<uint32_t> border(text.size(), 0);
  for (size_t i = 1; i < text.size(); ++i) {
    uint32_t length = border[i - 1];
    while (length > 0 && text[i] != text[length]) length = border[length - 1];
    if (text[i] == text[length]) ++length;
    border[i] = length;
  }
  return border;
}

// For messages: short, and text whatever it holds.
std::string Shown(std::string_view text) {
  constexpr size_t kMost = 40;
  return "\"" + ToValidUtf8(text.substr(0, kMost)) + (text.size() > kMost ? "...\"" : "\"");
}

}  // namespace

StatusOr<StopMatcher> StopMatcher::Create(std::vector<std::string> stops, std::string_view what) {
  if (stops.size() > kMaxStops) {
    return InvalidArgumentError(std::string(what) + ": has " + std::to_string(stops.size()) + " strings: at most " +
                                std::to_string(kMaxStops) + " are allowed");
  }
  StopMatcher matcher;
  for (size_t i = 0; i < stops.size(); ++i) {
    const std::string name = std::string(what) + "[" + std::to_string(i) + "] = " + Shown(stops[i]);
    if (stops[i].empty()) return InvalidArgumentError(name + ": is empty; give at least one character");
    if (stops[i].size() > kMaxStopBytes) {
      return InvalidArgumentError(name + ": has " + std::to_string(stops[i].size()) + " bytes: at most " +
                                  std::to_string(kMaxStopBytes) + " are allowed");
    }
    if (!IsValidUtf8(stops[i])) return InvalidArgumentError(name + ": is not valid UTF-8");
    Stop stop;
    stop.border = Borders(stops[i]);
    stop.text = std::move(stops[i]);
    matcher.stops_.push_back(std::move(stop));
  }
  return matcher;
}

bool StopMatcher::Push(std::string_view text, std::string* out) {
  if (stopped_) return true;
  if (stops_.empty()) {
    out->append(text);
    return false;
  }
  for (const char c : text) {
    held_.push_back(c);
    if (!Advance(c)) continue;
    out->append(held_, 0, held_.size() - stops_[matched_].text.size());
    held_.clear();
    stopped_ = true;
    return true;
  }
  size_t may_be_stop = 0;
  for (const Stop& stop : stops_) may_be_stop = std::max<size_t>(may_be_stop, stop.state);
  const size_t certain = held_.size() - may_be_stop;
  out->append(held_, 0, certain);
  held_.erase(0, certain);
  return false;
}

// Every stop's state after one more byte (Knuth, Morris, Pratt). True when some are complete; matched_ is
// then the longest.
bool StopMatcher::Advance(char c) {
  for (size_t i = 0; i < stops_.size(); ++i) {
    Stop& stop = stops_[i];
    while (stop.state > 0 && c != stop.text[stop.state]) stop.state = stop.border[stop.state - 1];
    if (c == stop.text[stop.state]) ++stop.state;
    if (stop.state < stop.text.size()) continue;
    if (matched_ < 0 || stop.text.size() > stops_[matched_].text.size()) matched_ = static_cast<int>(i);
  }
  return matched_ >= 0;
}

void StopMatcher::Flush(std::string* out) {
  out->append(held_);
  held_.clear();
  for (Stop& stop : stops_) stop.state = 0;
}

void StopMatcher::Reset() {
  held_.clear();
  for (Stop& stop : stops_) stop.state = 0;
  stopped_ = false;
  matched_ = -1;
}

}  // namespace motley
