// The numbered requirements of plugin_api/spec/requirements.inc, and which case shows which.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace motley::conformance {

struct Requirement {
  int number;  // MOTLEY-P-number
  int level;   // 0..4
  const char* text;
};
const std::vector<Requirement>& Requirements();

// The numbers in front of a case's name: "P31_P33_Poison" gives 31 and 33.
std::vector<int> NumbersOf(std::string_view case_name);

// Prints each requirement with the cases that GoogleTest knows for it. The number of faults: requirements
// without a case, cases without a number or with one that there is not, cases in a suite of another level.
int ListRequirements();

}  // namespace motley::conformance
