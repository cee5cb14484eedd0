// What became of each case, held against what was expected of the plugin.
//
// An expectations file has a row a line, `#` begins a comment:
//   supports PATTERN           the cases of these names must not be unsupported
//   unsupported PATTERN WHY    they must be
//   failure PATTERN WHY        they are known to fail; one that passes is an unexpected pass, and fails
// A pattern is a shell's (* ? []) over SUITE.CASE, as the table and --list print it. The last row that fits
// counts. A row that fits no case of a whole run is stale, and fails.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace motley::conformance {

enum class Outcome { kPassed, kUnsupported, kExpectedFailure, kSkipped, kFailed };

struct CaseResult {
  std::string name;  // SUITE.CASE
  int level = 0;
  Outcome outcome = Outcome::kPassed;
  std::string text;  // of failures and skips
  double seconds = 0;
};

struct Expectation {
  enum Kind { kSupports, kUnsupported, kFailure } kind = kSupports;
  std::string pattern, why;
  int line = 0;
  mutable bool used = false;
};

class Expectations {
 public:
  // False, and what is wrong with which line, where the file cannot be read or understood.
  bool Read(const std::string& path, std::string* fault);

  // What `result`, as it came out, means. Marks the rows that fit.
  CaseResult Judge(CaseResult result) const;
  // Rows that fitted nothing, as text.
  std::vector<std::string> Stale() const;

 private:
  std::vector<Expectation> rows_;
  std::string path_;
};

// Collects results while GoogleTest runs; prints failures as they come.
class Recorder : public testing::EmptyTestEventListener {
 public:
  // `again`: the command that runs one case, up to the name. Both outlive this.
  Recorder(const Expectations& expectations, const std::string& again)
      : expectations_(expectations), again_(again) {}
  void OnTestStart(const testing::TestInfo& info) override;
  void OnTestEnd(const testing::TestInfo& info) override;

  const std::vector<CaseResult>& results() const { return results_; }

 private:
  const Expectations& expectations_;
  const std::string& again_;
  std::vector<CaseResult> results_;
};

// A line a level, then the sum. Failures were printed before.
void PrintTable(const std::vector<CaseResult>& results);
// In JUnit's form. False where the file cannot be written.
bool WriteXml(const std::vector<CaseResult>& results, const std::string& path);

}  // namespace motley::conformance
