// Prints plugin_api/spec/requirements.md from requirements.inc. To refresh it: build motley_requirement_docs, run it
// into the file.
#include <cstdio>

namespace {

struct Row {
  int number, level;
  const char* text;
};
constexpr Row kRows[] = {
#define MOTLEY_REQUIREMENT(number, level, text) {number, level, text},
#include "requirements.inc"
};
constexpr const char* kLevels[] = {"load and refuse", "buffers, queues, fences", "ops", "steps", "the end and its faults"};

}  // namespace

int main() {
  std::printf(
      "# Requirements\n\n"
      "Made from `requirements.inc` by `requirement_docs.cc`; a test compares the two. Each is a promise that a plugin "
      "makes to every host, and that `motley-conformance` has cases for, named after it; `motley-conformance --list` "
      "prints them. Numbers are never used again.\n");
  int level = -1;
  for (const Row& row : kRows) {
    if (row.level != level) {
      level = row.level;
      std::printf("\n## L%d: %s\n\n| | |\n|---|---|\n", level, kLevels[level]);
    }
    std::printf("| MOTLEY-P-%d | %s |\n", row.number, row.text);
  }
  return 0;
}
