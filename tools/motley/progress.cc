#include "tools/motley/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/base/units.h"
#include "tools/motley/terminal_text.h"

namespace motley {
namespace {

constexpr std::chrono::milliseconds kRedraw{50};
constexpr int kBarWidth = 30;

std::string Bar(double fraction) {
  const int full = static_cast<int>(fraction * kBarWidth);
  return "[" + std::string(static_cast<size_t>(full), '#') +
         std::string(static_cast<size_t>(kBarWidth - full), '.') + "]";
}

}  // namespace

Progress::Progress(const Output& out, std::string what, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      shown_(out.stderr_is_terminal() && out.terminal_can_edit() && !out.quiet),
      begin_(std::chrono::steady_clock::now()),
      last_(begin_) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

std::string Progress::Amount(double value) const {
  const auto whole = static_cast<uint64_t>(value);
  return unit_.empty() ? FormatSize(whole) : std::to_string(whole) + " " + unit_;
}

void Progress::Update(uint64_t done, uint64_t total) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && now - last_ < kRedraw && done < total) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::max(std::chrono::duration<double>(now - begin_).count(), 1e-3);
  std::string line = what_ + " ";
  if (total > 0) {
    const double fraction = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
    line += Bar(fraction) + " " + std::to_string(static_cast<int>(fraction * 100)) + " %  " +
            Amount(static_cast<double>(done)) + " of " + Amount(static_cast<double>(total));
  } else {
    line += Amount(static_cast<double>(done));
  }
  line += "  " + Amount(static_cast<double>(done) / seconds) + "/s";
  // A bar that is wider than the terminal would leave its first line behind at each redraw.
  const std::string fits = FitInto(SafeForTerminal(line), TerminalColumns(STDERR_FILENO) - 1, true);
  std::fprintf(stderr, "\r%s\x1b[K", fits.c_str());
}

}  // namespace motley
