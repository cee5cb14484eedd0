// StopMatcher: ends the text before the first stop string, wherever the pieces were cut.
//
// The stop whose last byte comes first wins; of several that end at one byte, the longest. This does not
// depend on the cuts, so the streamed text is that of the whole. Only what may be the beginning of a stop is
// held back. Push takes whole characters (what Detokenizer gives): stops are valid UTF-8, so a cut then
// never leaves half a character.
//
// One object a sequence; not for several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace motley {

inline constexpr size_t kMaxStops = 64;
inline constexpr size_t kMaxStopBytes = 4096;  // each

class StopMatcher {
 public:
  // Refuses an empty stop, one that is too long or not UTF-8, and too many; the error says what[i] and the value, so
  // `what` is the name by which they were given: "--stop", "sampling.stop".
  static StatusOr<StopMatcher> Create(std::vector<std::string> stops, std::string_view what = "stop");

  StopMatcher() = default;  // no stops: text passes through

  // Appends to `out` the text that is certain. True: a stop was found, and `out` holds all the text there
  // is; later calls add nothing and return true.
  bool Push(std::string_view text, std::string* out);
  // The end has come without a stop: appends what was held back.
  void Flush(std::string* out);

  bool stopped() const { return stopped_; }
  // Which stop ended the text, an index into Create's list; -1 = none.
  int matched() const { return matched_; }
  void Reset();

 private:
  struct Stop {
    std::string text;
    std::vector<uint32_t> border;  // [size], longest proper border of each prefix
    uint32_t state = 0;            // bytes of text that the stream's end matches
  };
  bool Advance(char c);

  std::vector<Stop> stops_;
  std::string held_;
  bool stopped_ = false;
  int matched_ = -1;
};

}  // namespace motley
