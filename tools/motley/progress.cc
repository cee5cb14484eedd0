#include "tools/motley/progress.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/base/units.h"

namespace motley {
namespace {

constexpr std::chrono::milliseconds kRedraw{50};
constexpr int kBarWidth = 30;

std::string Bar(double fraction) {
  const int full = static_cast<int>(fraction * kBarWidth);
  return "[" + std::string(static_cast<size_t>(full), '#') + std::string(static_cast<size_t>(kBarWidth - full), '.') + "]";
}

}  // namespace

Progress::Progress(const Output& out, std::string what)
    : what_(std::move(what)), shown_(out.stderr_is_terminal() && !out.quiet), begin_(std::chrono::steady_clock::now()), last_(begin_) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::Update(uint64_t done_bytes, uint64_t total_bytes) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && now - last_ < kRedraw && done_bytes < total_bytes) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::max(std::chrono::duration<double>(now - begin_).count(), 1e-3);
  std::string line = what_ + " ";
  if (total_bytes > 0) {
    const double fraction = std::clamp(static_cast<double>(done_bytes) / static_cast<double>(total_bytes), 0.0, 1.0);
    line += Bar(fraction) + " " + std::to_string(static_cast<int>(fraction * 100)) + " %  " + FormatSize(done_bytes) + " of " + FormatSize(total_bytes);
  } else {
    line += FormatSize(done_bytes);
  }
  line += "  " + FormatSize(static_cast<uint64_t>(static_cast<double>(done_bytes) / seconds)) + "/s";
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
}

}  // namespace motley
