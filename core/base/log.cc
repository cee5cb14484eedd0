#include "core/base/log.h"

#include <cstdlib>
#include <string>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

namespace motley {

struct Logger::Sink {
  std::shared_ptr<spdlog::sinks::stderr_color_sink_mt> terminal =
      std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  spdlog::logger out{"motley", terminal};
};

namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::err;  // a plugin's unknown level is not to be lost
}

// What plugins and files say goes to a terminal: it must not move the cursor there, or set the title. Lines stay.
std::string WithoutControls(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    // U+0080 to U+009F are control characters too; their first byte is 0xC2.
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f ||
                         (byte == 0xc2 && next >= 0x80 && next < 0xa0);
    if (control) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      if (byte == 0xc2) out += {'\\', 'x', kHex[next >> 4], kHex[next & 15]}, ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

Logger::Logger(LogLevel threshold) : threshold_(threshold), sink_(std::make_unique<Sink>()) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') sink_->terminal->set_color_mode(spdlog::color_mode::never);
  sink_->out.set_pattern("%^%l%$: %v");
  sink_->out.set_level(ToSpdlog(threshold));
}

Logger::~Logger() = default;

void Logger::Write(LogLevel level, std::string_view scope, std::string_view text) {
  sink_->out.log(ToSpdlog(level), "{}: {}", WithoutControls(scope), WithoutControls(text));
}

}  // namespace motley
