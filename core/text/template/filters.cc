#include "core/text/template/filters.h"

#include <utility>

#include "core/text/template/numbers.h"
#include "core/text/template/operators.h"
#include "core/text/template/text_ops.h"

namespace motley::jinja {

const Filter* FindFilter(std::string_view name) {
  for (const FilterRows rows : {TextFilters(), SequenceFilters(), LazyFilters()}) {
    for (size_t i = 0; i < rows.count; ++i) {
      if (rows.begin[i].name == name) return &rows.begin[i];
    }
  }
  return nullptr;
}

Result ApplyFilter(Interp& interp, const Filter& filter, const Value& subject, Arguments args) {
  MOTLEY_RETURN_IF_ERROR(interp.budget().Step());
  if (filter.apply == nullptr) {
    return InvalidArgumentError("the filter '" + std::string(filter.name) + "' is not supported");
  }
  return filter.apply(interp, subject, args);
}

AttributePath::AttributePath(const Value& attribute) {
  if (attribute.is_missing() || attribute.is_none()) return;
  if (!attribute.is_str()) {
    parts_.push_back(attribute);
    return;
  }
  for (Text& part : SplitBy(attribute.str().text, ".", -1)) {
    const bool number = !part.empty() && part.bytes().find_first_not_of("0123456789") == std::string::npos;
    parts_.push_back(number ? IntOfDigits(part.view(), true) : Value::String(std::move(part)));
  }
}

Result AttributePath::Get(Interp& interp, const Value& item, const Value& otherwise) const {
  Value value = item;
  for (const Value& part : parts_) {
    MOTLEY_ASSIGN_OR_RETURN(value, interp.GetItem(value, part));
    if (value.is_undefined() && !otherwise.is_missing() && !otherwise.is_none()) value = otherwise;
  }
  return value;
}

Result IgnoreCase(Interp& interp, const Value& value) {
  if (!value.is_str()) return value;
  return interp.NewStr(Lower(value.str().text), value.str().markup);
}

namespace {

struct Lazy : Iterator {
  NextFn next;
  StatusOr<bool> Next(Interp& interp, Value* item) override {
    const Nesting nesting(interp.budget());
    MOTLEY_RETURN_IF_ERROR(nesting.status());
    MOTLEY_RETURN_IF_ERROR(interp.budget().Step());
    return next(interp, item);
  }
};

}  // namespace

Value NewLazy(NextFn next, std::initializer_list<Value> held) {
  auto* lazy = new Lazy;
  Value value = Value::Of(Type::kIterator, lazy);
  for (const Value& item : held) CountIn(item, lazy);
  lazy->next = std::move(next);
  return value;
}

}  // namespace motley::jinja
