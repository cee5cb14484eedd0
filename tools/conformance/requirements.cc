#include "tools/conformance/requirements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <set>

namespace motley::conformance {

const std::vector<Requirement>& Requirements() {
  static const std::vector<Requirement> rows = {
#define MOTLEY_REQUIREMENT(number, level, text) {number, level, text},
#include "plugin_api/spec/requirements.inc"
  };
  return rows;
}

std::vector<int> NumbersOf(std::string_view name) {
  std::vector<int> numbers;
  while (name.size() > 2 && name[0] == 'P' && std::isdigit(static_cast<unsigned char>(name[1]))) {
    size_t end = 1;
    int number = 0;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])))
      number = 10 * number + (name[end++] - '0');
    if (end == name.size() || name[end] != '_') break;
    numbers.push_back(number);
    name.remove_prefix(end + 1);
  }
  return numbers;
}

namespace {

// "Formats/L2_Formats" is of level 2.
int LevelOf(std::string_view suite) {
  if (const size_t slash = suite.rfind('/'); slash != std::string_view::npos) suite.remove_prefix(slash + 1);
  return suite.size() > 3 && suite[0] == 'L' && suite[2] == '_' ? suite[1] - '0' : -1;
}

}  // namespace

int ListRequirements() {
  std::map<int, std::set<std::string>> cases;
  int faults = 0;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string name = suite.GetTestInfo(t)->name();
      const std::vector<int> numbers = NumbersOf(name);
      if (numbers.empty()) {
        std::printf("fault: %s.%s has no requirement's number\n", suite.name(), name.c_str());
        ++faults;
      }
      for (const int number : numbers) {
        const auto row = std::find_if(Requirements().begin(), Requirements().end(),
                                      [&](const Requirement& r) { return r.number == number; });
        if (row == Requirements().end() || row->level != LevelOf(suite.name())) {
          std::printf("fault: %s.%s names P-%d, which is %s\n", suite.name(), name.c_str(), number,
                      row == Requirements().end() ? "no requirement" : "of another level");
          ++faults;
        }
        cases[number].insert(std::string(suite.name()) + "." + name.substr(0, name.find('/')));
      }
    }
  }
  for (const Requirement& row : Requirements()) {
    std::printf("L%d MOTLEY-P-%d %s\n", row.level, row.number, row.text);
    for (const std::string& name : cases[row.number]) std::printf("       %s\n", name.c_str());
    if (cases[row.number].empty()) {
      std::printf("fault: MOTLEY-P-%d has no case\n", row.number);
      ++faults;
    }
  }
  return faults;
}

}  // namespace motley::conformance
