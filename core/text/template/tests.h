// The tests of Jinja: what stands behind `is`.
#pragma once

#include <string_view>

#include "core/text/template/interp.h"

namespace motley::jinja {

struct Test {
  std::string_view name;
  int arguments;  // besides the subject
  StatusOr<bool> (*holds)(Interp& interp, const Value& subject, const Value& argument);
};

// Null where there is none of this name.
const Test* FindTest(std::string_view name);
StatusOr<bool> ApplyTest(Interp& interp, const Test& test, const Value& subject, Arguments args);

}  // namespace motley::jinja
