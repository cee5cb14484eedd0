#include "core/base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

namespace motley {

struct Logger::Sink {
  spdlog::logger out{"motley", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()};
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

}  // namespace

Logger::Logger(LogLevel threshold) : threshold_(threshold), sink_(std::make_unique<Sink>()) {
  sink_->out.set_pattern("%^%l%$: %v");
  sink_->out.set_level(ToSpdlog(threshold));
}

Logger::~Logger() = default;

void Logger::Write(LogLevel level, std::string_view scope, std::string_view text) {
  sink_->out.log(ToSpdlog(level), "{}: {}", scope, text);
}

}  // namespace motley
