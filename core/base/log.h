// Logger: where messages for the operator go. An object made in main, lent to whoever may need it.
// Thread-safe. Messages go to stderr, results to stdout, so that scripts can tell them apart.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace motley {

enum class LogLevel : uint32_t { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3 };

class Logger {
 public:
  // Messages below `threshold` are dropped.
  explicit Logger(LogLevel threshold);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  // scope: who speaks ("plan", "plugin.ref"); text: one line, without a newline.
  void Write(LogLevel level, std::string_view scope, std::string_view text);

  LogLevel threshold() const { return threshold_; }

 private:
  struct Sink;
  LogLevel threshold_;
  std::unique_ptr<Sink> sink_;
};

}  // namespace motley
