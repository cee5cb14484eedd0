// The attributes that Python's types have, methods above all: names beat keys of a dict, so that args.items() works
// though there is a key "items".
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/text/template/interp.h"

namespace motley::jinja {

using MethodFn = Result (*)(Interp&, const Value& self, Arguments& args);

struct MethodRow {
  std::string_view name;
  MethodFn call;  // null: Python has it, this interpreter does not
};

// The row of `name` of this value's type, or null. That a list or dict is not changed is the sandbox's law: such a
// method is found, and refused when it is used.
const MethodRow* FindMethod(const Value& self, std::string_view name);
bool IsMutating(const Value& self, std::string_view name);

const MethodRow* FindStrMethod(std::string_view name);  // str_methods.cc

// What filters and tests share with the methods (str_methods.cc).
bool IsLowerText(std::string_view text);
bool IsUpperText(std::string_view text);
Result ReplaceIn(Interp& interp, const Str& str, std::string_view old, const Text& with, int64_t most);
Result Padded(Interp& interp, const Str& str, const Text& fill, int64_t left, int64_t right);

// Fills `values` by position and name, missing where not given. An error names `function`.
struct Parameter {
  std::string_view name;
  bool required = false;
};
Status Bind(std::string_view function, std::initializer_list<Parameter> parameters, Arguments& args,
            std::vector<Value>* values);

// An argument as a type; errors name the function.
StatusOr<int64_t> IntArgument(std::string_view function, const Value& value);
StatusOr<const Str*> StrArgument(std::string_view function, const Value& value);

}  // namespace motley::jinja
