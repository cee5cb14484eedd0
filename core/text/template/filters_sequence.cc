// Filters that take a sequence whole.
#include <algorithm>

#include "core/text/template/filters.h"
#include "core/text/template/methods.h"
#include "core/text/template/operators.h"
#include "core/text/template/repr.h"
#include "core/text/template/text_ops.h"

namespace motley::jinja {
namespace {

Result DefaultFilter(Interp&, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("default", {{"default_value"}, {"boolean"}}, args, &a));
  if (!subject.is_undefined() && !(Truth(a[1]) && !Truth(subject))) return subject;
  return a[0].is_missing() ? Value::String("", true) : a[0];
}

Result LengthFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("length", {}, args, &none));
  if (subject.Is(Type::kLoop)) {
    MOTLEY_ASSIGN_OR_RETURN(const int64_t length, subject.As<Loop>().Length(interp));
    return Value::Int(length);
  }
  const int64_t length = LengthOf(subject);
  if (length < 0) return InvalidArgumentError(std::string("object of type '") + TypeName(subject) + "' has no len()");
  return Value::Int(length);
}

Result ListFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("list", {}, args, &none));
  MOTLEY_ASSIGN_OR_RETURN(std::vector<Value> items, interp.ToVector(subject));
  return NewList(std::move(items));
}

Result FirstFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("first", {}, args, &none));
  MOTLEY_ASSIGN_OR_RETURN(const Ref<Iterator> items, interp.Iterate(subject));
  Value item;
  MOTLEY_ASSIGN_OR_RETURN(const bool more, items->Next(interp, &item));
  return more ? item : NewUndefined("No first item, sequence was empty.");
}

bool IsReversible(const Value& value) {
  return value.is_sequence() || value.is_str() || value.is_dict() || value.Is(Type::kView) || value.Is(Type::kRange) ||
         value.is_undefined();
}

Result LastFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("last", {}, args, &none));
  if (!IsReversible(subject)) return InvalidArgumentError(std::string("'") + TypeName(subject) + "' object is not reversible");
  if (subject.is_sequence() && !subject.items().empty()) return subject.items().back();
  if (subject.is_str() && subject.str().length > 0) return interp.GetItem(subject, Value::Int(-1));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Value> items, interp.ToVector(subject));
  return items.empty() ? NewUndefined("No last item, sequence was empty.") : items.back();
}

Result ReverseFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("reverse", {}, args, &none));
  if (subject.is_str()) return Slice(interp, subject, Value(), Value(), Value::Int(-1));
  auto items = interp.ToVector(subject);
  if (!items.ok()) return InvalidArgumentError("argument must be iterable");
  std::reverse(items->begin(), items->end());
  const Value list = NewList(*std::move(items));
  if (!IsReversible(subject)) return list;
  MOTLEY_ASSIGN_OR_RETURN(const Ref<Iterator> it, interp.Iterate(list));
  return NewLazy([it](Interp& i, Value* item) { return it->Next(i, item); }, {list});
}

Result JoinFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("join", {{"d"}, {"attribute"}}, args, &a));
  Text separator;
  if (!a[0].is_missing()) MOTLEY_RETURN_IF_ERROR(AppendStr(interp.budget(), a[0], &separator));
  const AttributePath path(a[1]);
  MOTLEY_ASSIGN_OR_RETURN(const Ref<Iterator> items, interp.Iterate(subject));
  Text out;
  bool first = true;
  for (Value item;;) {
    MOTLEY_ASSIGN_OR_RETURN(const bool more, items->Next(interp, &item));
    if (!more) break;
    MOTLEY_ASSIGN_OR_RETURN(const Value part, path.Get(interp, item));
    if (!first) out.Append(separator);
    first = false;
    MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(separator.size()));
    MOTLEY_RETURN_IF_ERROR(interp.budget().Step());
    MOTLEY_RETURN_IF_ERROR(AppendStr(interp.budget(), part, &out));
  }
  return interp.NewStr(std::move(out));
}

// Sorts `items` by `keys`, which go with them; equal ones keep their order.
StatusOr<std::vector<Value>> SortedBy(Interp& interp, std::vector<Value> items, const std::vector<Value>& keys, bool reverse) {
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  Status status;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (!status.ok()) return false;
    const auto less = reverse ? Less(interp.budget(), keys[b], keys[a]) : Less(interp.budget(), keys[a], keys[b]);
    if (!less.ok()) status = less.status();
    return less.ok() && *less;
  });
  MOTLEY_RETURN_IF_ERROR(status);
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (const size_t i : order) sorted.push_back(std::move(items[i]));
  return sorted;
}

Result KeyOf(Interp& interp, const AttributePath& path, const Value& item, bool case_sensitive, const Value& otherwise = Value()) {
  MOTLEY_ASSIGN_OR_RETURN(Value key, path.Get(interp, item, otherwise));
  return case_sensitive ? Result(std::move(key)) : IgnoreCase(interp, key);
}

Result SortFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("sort", {{"reverse"}, {"case_sensitive"}, {"attribute"}}, args, &a));
  std::vector<AttributePath> paths;
  if (a[2].is_str()) {
    for (Text& part : SplitBy(a[2].str().text, ",", -1)) paths.emplace_back(Value::String(std::move(part)));
  } else {
    paths.emplace_back(a[2]);
  }
  MOTLEY_ASSIGN_OR_RETURN(std::vector<Value> items, interp.ToVector(subject));
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> parts;
    for (const AttributePath& path : paths) {
      MOTLEY_ASSIGN_OR_RETURN(Value part, KeyOf(interp, path, item, Truth(a[1])));
      parts.push_back(std::move(part));
    }
    keys.push_back(NewList(std::move(parts)));
  }
  MOTLEY_ASSIGN_OR_RETURN(std::vector<Value> sorted, SortedBy(interp, std::move(items), keys, Truth(a[0])));
  return NewList(std::move(sorted));
}

Result DictSortFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("dictsort", {{"case_sensitive"}, {"by"}, {"reverse"}}, args, &a));
  const bool by_key = a[1].is_missing() || (a[1].is_str() && a[1].view() == "key");
  if (!by_key && !(a[1].is_str() && a[1].view() == "value")) {
    return InvalidArgumentError("You can only sort by either \"key\" or \"value\"");
  }
  if (subject.is_undefined()) return interp.UndefinedError(subject);
  if (!subject.is_dict()) return InvalidArgumentError(std::string("'") + TypeName(subject) + "' object has no attribute 'items'");
  std::vector<Value> items, keys;
  for (const auto& [key, value] : subject.dict().entries) {
    items.push_back(NewTuple({key, value}));
    MOTLEY_ASSIGN_OR_RETURN(Value by, KeyOf(interp, AttributePath(), by_key ? key : value, Truth(a[0])));
    keys.push_back(std::move(by));
  }
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(items.size() * (sizeof(List) + 4 * sizeof(Value))));
  MOTLEY_ASSIGN_OR_RETURN(std::vector<Value> sorted, SortedBy(interp, std::move(items), keys, Truth(a[2])));
  return NewList(std::move(sorted));
}

template <bool kMax>
Result MinMaxFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind(kMax ? "max" : "min", {{"case_sensitive"}, {"attribute"}}, args, &a));
  const AttributePath path(a[1]);
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Value> items, interp.ToVector(subject));
  if (items.empty()) return NewUndefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  Value best_key;
  for (size_t i = 0; i < items.size(); ++i) {
    MOTLEY_ASSIGN_OR_RETURN(Value key, KeyOf(interp, path, items[i], Truth(a[0])));
    bool better = i == 0;
    if (i > 0) {
      MOTLEY_ASSIGN_OR_RETURN(better, kMax ? Less(interp.budget(), best_key, key) : Less(interp.budget(), key, best_key));
    }
    if (!better) continue;
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

Result SumFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("sum", {{"attribute"}, {"start"}}, args, &a));
  const AttributePath path(a[0]);
  Value total = a[1].is_missing() ? Value::Int(0) : a[1];
  if (total.is_str()) return InvalidArgumentError("sum() can't sum strings [use ''.join(seq) instead]");
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Value> items, interp.ToVector(subject));
  for (const Value& item : items) {
    MOTLEY_ASSIGN_OR_RETURN(const Value part, path.Get(interp, item));
    MOTLEY_ASSIGN_OR_RETURN(total, Binary(interp, BinaryOp::kAdd, total, part));
  }
  return total;
}

Result GroupByFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("groupby", {{"attribute", true}, {"default"}, {"case_sensitive"}}, args, &a));
  const AttributePath path(a[0]);
  const bool exact = Truth(a[2]);
  MOTLEY_ASSIGN_OR_RETURN(std::vector<Value> items, interp.ToVector(subject));
  std::vector<Value> keys;
  for (const Value& item : items) {
    MOTLEY_ASSIGN_OR_RETURN(Value key, KeyOf(interp, path, item, exact, a[1]));
    keys.push_back(std::move(key));
  }
  MOTLEY_ASSIGN_OR_RETURN(items, SortedBy(interp, std::move(items), keys, false));
  std::vector<Value> groups, members;
  Value group_key;
  const auto finish = [&]() -> Status {
    if (members.empty()) return OkStatus();
    MOTLEY_ASSIGN_OR_RETURN(Value grouper, path.Get(interp, members[0], a[1]));
    Value group = NewTuple({std::move(grouper), NewList(std::move(members))});
    group.As<List>().group = true;
    groups.push_back(std::move(group));
    members.clear();
    return OkStatus();
  };
  for (const Value& item : items) {
    MOTLEY_ASSIGN_OR_RETURN(Value key, KeyOf(interp, path, item, exact, a[1]));
    if (!members.empty()) {
      MOTLEY_ASSIGN_OR_RETURN(const bool same, Equal(interp.budget(), key, group_key));
      if (!same) MOTLEY_RETURN_IF_ERROR(finish());
    }
    group_key = std::move(key);
    members.push_back(item);
  }
  MOTLEY_RETURN_IF_ERROR(finish());
  return NewList(std::move(groups));
}

Result AttrFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("attr", {{"name", true}}, args, &a));
  MOTLEY_RETURN_IF_ERROR(StrArgument("attr", a[0]).status());
  if (subject.is_undefined()) return interp.UndefinedError(subject);
  MOTLEY_ASSIGN_OR_RETURN(Value value, interp.Attribute(subject, a[0].view()));
  return value.is_missing() ? NewUndefinedAttribute(subject, a[0]) : value;
}

constexpr Filter kRows[] = {
    {"attr", AttrFilter},
    {"count", LengthFilter},
    {"d", DefaultFilter},
    {"default", DefaultFilter},
    {"dictsort", DictSortFilter},
    {"first", FirstFilter},
    {"groupby", GroupByFilter},
    {"join", JoinFilter},
    {"last", LastFilter},
    {"length", LengthFilter},
    {"list", ListFilter},
    {"max", MinMaxFilter<true>},
    {"min", MinMaxFilter<false>},
    {"random", nullptr},
    {"reverse", ReverseFilter},
    {"sort", SortFilter},
    {"sum", SumFilter},
};

}  // namespace

FilterRows SequenceFilters() { return {kRows, std::size(kRows)}; }

}  // namespace motley::jinja
