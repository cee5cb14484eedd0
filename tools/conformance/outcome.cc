#include "tools/conformance/outcome.h"

#include <fnmatch.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "tools/conformance/target.h"

namespace motley::conformance {

bool Expectations::Read(const std::string& path, std::string* fault) {
  path_ = path;
  std::ifstream file(path);
  if (!file) {
    *fault = path + ": cannot be read";
    return false;
  }
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string kind;
    Expectation row;
    if (!(words >> kind)) continue;
    words >> row.pattern;
    std::getline(words >> std::ws, row.why);
    row.line = number;
    const bool needs_why = kind != "supports";
    row.kind = kind == "supports"  ? Expectation::kSupports
               : kind == "failure" ? Expectation::kFailure
                                   : Expectation::kUnsupported;
    if ((kind != "supports" && kind != "unsupported" && kind != "failure") || row.pattern.empty() ||
        (needs_why && row.why.empty())) {
      *fault = path + ":" + std::to_string(number) +
               ": must be 'supports PATTERN', 'unsupported PATTERN WHY' or 'failure PATTERN WHY'";
      return false;
    }
    rows_.push_back(std::move(row));
  }
  return true;
}

CaseResult Expectations::Judge(CaseResult result) const {
  const Expectation* row = nullptr;
  for (const Expectation& candidate : rows_) {
    if (fnmatch(candidate.pattern.c_str(), result.name.c_str(), 0) != 0) continue;
    candidate.used = true;
    row = &candidate;
  }
  if (row == nullptr || result.outcome == Outcome::kSkipped) return result;
  const std::string where = path_ + ":" + std::to_string(row->line) + ": ";
  const auto fail = [&](const std::string& why) {
    result.outcome = Outcome::kFailed;
    result.text = where + why + (result.text.empty() ? "" : "\n" + result.text);
    return result;
  };
  switch (row->kind) {
    case Expectation::kSupports:
      return result.outcome == Outcome::kUnsupported ? fail("must be supported") : result;
    case Expectation::kUnsupported:
      return result.outcome == Outcome::kPassed ? fail("is supported now: take the row out") : result;
    case Expectation::kFailure:
      if (result.outcome == Outcome::kPassed) return fail("an unexpected pass: take the row out");
      if (result.outcome == Outcome::kFailed) result.outcome = Outcome::kExpectedFailure;
      return result;
  }
  return result;
}

std::vector<std::string> Expectations::Stale() const {
  std::vector<std::string> stale;
  for (const Expectation& row : rows_) {
    if (!row.used)
      stale.push_back(path_ + ":" + std::to_string(row.line) + ": '" + row.pattern + "' fits no case");
  }
  return stale;
}

namespace {

// For a crash: what runs now, and how to run it again. Plain bytes, as a signal handler may read nothing
// else.
char g_running[1024];

void OnCrash(int signal) {
  const char* parts[] = {"\ncrashed in ", g_running, "\n"};
  for (const char* part : parts) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  ::signal(signal, SIG_DFL);
  raise(signal);
}

std::string NameOf(const testing::TestInfo& info) {
  return std::string(info.test_suite_name()) + "." + info.name();
}

const char* TextOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed: return "passed";
    case Outcome::kUnsupported: return "unsupported";
    case Outcome::kExpectedFailure: return "expected failure";
    case Outcome::kSkipped: return "skipped";
    case Outcome::kFailed: return "failed";
  }
  return "?";
}

}  // namespace

void Recorder::OnTestStart(const testing::TestInfo& info) {
  std::snprintf(g_running, sizeof g_running, "%s\n  again: %s --filter '%s'", NameOf(info).c_str(),
                again_.c_str(), NameOf(info).c_str());
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) signal(number, OnCrash);
}

void Recorder::OnTestEnd(const testing::TestInfo& info) {
  const testing::TestResult& got = *info.result();
  CaseResult result;
  result.name = NameOf(info);
  const size_t level =
      result.name.find('L', result.name.find('/') < result.name.find('.') ? result.name.find('/') : 0);
  result.level = result.name[level + 1] - '0';
  result.seconds = static_cast<double>(got.elapsed_time()) / 1000;
  for (int i = 0; i < got.total_part_count(); ++i) {
    const testing::TestPartResult& part = got.GetTestPartResult(i);
    if (part.passed()) continue;
    result.text += part.skipped() ? part.message()
                                  : std::string(part.file_name() ? part.file_name() : "?") + ":" +
                                        std::to_string(part.line_number()) + ": " + part.message() + "\n";
  }
  if (got.Failed())
    result.outcome = Outcome::kFailed;
  else if (got.Skipped())
    result.outcome = result.text.find(kUnsupported) == 0 ? Outcome::kUnsupported : Outcome::kSkipped;
  result = expectations_.Judge(std::move(result));
  if (result.outcome == Outcome::kFailed) {
    std::printf("FAILED %s\n%s\n  again: %s --filter '%s'\n", result.name.c_str(), result.text.c_str(),
                again_.c_str(), result.name.c_str());
    std::fflush(stdout);
  }
  results_.push_back(std::move(result));
}

void PrintTable(const std::vector<CaseResult>& results) {
  constexpr int kOutcomes = 5;
  int counts[6][kOutcomes] = {};  // the last row is the sum
  for (const CaseResult& result : results) {
    for (const int row : {result.level, 5}) ++counts[row][static_cast<int>(result.outcome)];
  }
  std::printf("%-6s %8s %12s %17s %8s %7s\n", "level", "passed", "unsupported", "expected failure", "skipped",
              "failed");
  for (int row = 0; row < 6; ++row) {
    const int* c = counts[row];
    if (c[0] + c[1] + c[2] + c[3] + c[4] == 0) continue;
    const std::string name = row == 5 ? "all" : "L" + std::to_string(row);
    std::printf("%-6s %8d %12d %17d %8d %7d\n", name.c_str(), c[0], c[1], c[2], c[3], c[4]);
  }
}

bool WriteXml(const std::vector<CaseResult>& results, const std::string& path) {
  const auto escaped = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\n': out += "&#10;"; break;
        default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
      }
    }
    return out;
  };
  std::ofstream file(path);
  file << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"motley-conformance\" "
          "tests=\""
       << results.size() << "\">\n";
  for (const CaseResult& r : results) {
    const size_t dot = r.name.find('.');
    file << "<testcase classname=\"" << escaped(r.name.substr(0, dot)) << "\" name=\""
         << escaped(r.name.substr(dot + 1)) << "\" time=\"" << r.seconds << "\">";
    const std::string text = escaped(std::string(TextOf(r.outcome)) + ": " + r.text);
    if (r.outcome == Outcome::kFailed)
      file << "<failure message=\"" << text << "\"/>";
    else if (r.outcome != Outcome::kPassed)
      file << "<skipped message=\"" << text << "\"/>";
    file << "</testcase>\n";
  }
  file << "</testsuite>\n</testsuites>\n";
  file.close();
  return file.good();
}

}  // namespace motley::conformance
