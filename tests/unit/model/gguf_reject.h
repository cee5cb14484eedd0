// ExpectReject: the meaning of "Reject" in the table of field failures, as an assertion.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/model/gguf.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_dir.h"

namespace motley::test {

// A line of /proc/self/status in bytes; 0 where it can't be read.
inline uint64_t ProcessBytes(const char* line_format) {
  FILE* status = std::fopen("/proc/self/status", "r");
  unsigned long kib = 0;
  char line[256];
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr) {
    if (std::sscanf(line, line_format, &kib) == 1) break;
  }
  if (status != nullptr) std::fclose(status);
  return uint64_t{kib} * 1024;
}

// Makes VmHWM start again from the present size. False where the system doesn't let us.
inline bool ResetPeakMemory() {
  FILE* file = std::fopen("/proc/self/clear_refs", "w");
  if (file == nullptr) return false;
  const bool written = std::fputs("5", file) >= 0;
  return std::fclose(file) == 0 && written;
}

// Opening `path` fails with a code that means bad input, a message that has each of `words`, in < 100 ms of this
// process's time and < 16 MiB more memory.
inline void ExpectReject(const std::string& path, std::initializer_list<std::string_view> words) {
  const bool measured = ResetPeakMemory();
  const uint64_t before_bytes = ProcessBytes("VmRSS: %lu kB");
  const clock_t before = clock();
  const StatusOr<std::unique_ptr<GgufFile>> file = GgufFile::Open(path);
  const double seconds = static_cast<double>(clock() - before) / CLOCKS_PER_SEC;
  const uint64_t peak_bytes = ProcessBytes("VmHWM: %lu kB");
  ASSERT_FALSE(file.ok()) << path << " was accepted";
  const Status& status = file.status();
  EXPECT_TRUE(status.code() == Code::kInvalidArgument || status.code() == Code::kNotFound ||
              status.code() == Code::kUnimplemented)
      << status.ToString();
  for (std::string_view word : words) {
    EXPECT_NE(status.message().find(word), std::string::npos) << "no \"" << word << "\" in: " << status.message();
  }
  EXPECT_LT(seconds, 0.1) << status.message();
  if (measured) {
    EXPECT_LT(peak_bytes, before_bytes + (16 << 20)) << status.message();
  }
}

// The same for a file of these bytes, whose name must be in the message too.
inline void ExpectRejectBytes(std::string_view bytes, std::initializer_list<std::string_view> words) {
  const TempDir dir;
  const std::string path = dir.Write("broken.gguf", bytes);
  ExpectReject(path, words);
  ExpectReject(path, {"broken.gguf: "});
}

inline void ExpectReject(const GgufWriter& writer, std::initializer_list<std::string_view> words) {
  ExpectRejectBytes(writer.Build(), words);
}

}  // namespace motley::test
