// The filters of Jinja, and Hugging Face's tojson.
#pragma once

#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/text/template/interp.h"

namespace motley::jinja {

using FilterFn = Result (*)(Interp& interp, const Value& subject, Arguments& args);

struct Filter {
  std::string_view name;
  FilterFn apply;  // null: Jinja has it, this interpreter does not
};

// Null where there is none of this name.
const Filter* FindFilter(std::string_view name);
Result ApplyFilter(Interp& interp, const Filter& filter, const Value& subject, Arguments args);

// The rows of the files, sorted by nothing.
struct FilterRows {
  const Filter* begin;
  size_t count;
};
FilterRows TextFilters();      // filters_text.cc
FilterRows SequenceFilters();  // filters_sequence.cc
FilterRows LazyFilters();      // filters_lazy.cc

// A path into a value, "a.0.b": what sort, map, groupby ... take as their attribute.
class AttributePath {
 public:
  AttributePath() = default;  // the value itself
  explicit AttributePath(const Value& attribute);
  Result Get(Interp& interp, const Value& item, const Value& otherwise = Value()) const;

 private:
  std::vector<Value> parts_;
};

// A string in lower case; anything else as it is.
Result IgnoreCase(Interp& interp, const Value& value);

// An iterator whose items a function makes; `held` are values it refers to.
using NextFn = std::function<StatusOr<bool>(Interp&, Value*)>;
Value NewLazy(NextFn next, std::initializer_list<Value> held);

}  // namespace motley::jinja
