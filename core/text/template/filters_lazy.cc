// Filters that give their items as they are asked for, as Python's generators do.
#include <memory>
#include <optional>
#include <utility>

#include "core/text/template/filters.h"
#include "core/text/template/methods.h"

namespace motley::jinja {
namespace {

// The items of `subject`, begun at the first call. A subject that is not true has none.
class Source {
 public:
  explicit Source(Value subject, bool skip_false) : subject_(std::move(subject)), skip_false_(skip_false) {}

  StatusOr<bool> Next(Interp& interp, Value* item) {
    if (!items_) {
      if (skip_false_ && !Truth(subject_)) return false;
      MOTLEY_ASSIGN_OR_RETURN(items_, interp.Iterate(subject_));
    }
    return items_->Next(interp, item);
  }

 private:
  Value subject_;
  bool skip_false_;
  Ref<Iterator> items_;
};

Result MapFilter(Interp&, const Value& subject, Arguments& args) {
  auto source = std::make_shared<Source>(subject, true);
  auto rest = std::make_shared<Arguments>(std::move(args));
  auto path = std::make_shared<std::optional<AttributePath>>();
  auto otherwise = std::make_shared<Value>();
  auto name = std::make_shared<Value>();
  const auto prepare = [=]() -> Status {
    if (rest->positional.empty()) {
      const Value attribute = rest->Take("attribute");
      if (attribute.is_missing()) return InvalidArgumentError("map requires a filter argument");
      *otherwise = rest->Take("default");
      if (!rest->named.empty()) return InvalidArgumentError("Unexpected keyword argument '" + rest->named[0].first + "'");
      path->emplace(attribute);
      return OkStatus();
    }
    if (name->is_missing()) {
      MOTLEY_RETURN_IF_ERROR(StrArgument("map", rest->positional[0]).status());
      *name = rest->positional[0];
      rest->positional.erase(rest->positional.begin());
    }
    return OkStatus();
  };
  auto prepared = std::make_shared<bool>(false);
  return NewLazy(
      [=](Interp& interp, Value* item) -> StatusOr<bool> {
        MOTLEY_ASSIGN_OR_RETURN(const bool more, source->Next(interp, item));
        if (!more) return false;
        if (!std::exchange(*prepared, true)) MOTLEY_RETURN_IF_ERROR(prepare());
        if (path->has_value()) {
          MOTLEY_ASSIGN_OR_RETURN(*item, (*path)->Get(interp, *item, *otherwise));
        } else {
          MOTLEY_ASSIGN_OR_RETURN(*item, interp.CallFilter(name->view(), *item, *rest));
        }
        return true;
      },
      {subject});
}

// select, reject, and both with an attribute: the items whose test gives `wanted`.
template <bool kWanted, bool kAttribute>
Result SelectFilter(Interp&, const Value& subject, Arguments& args) {
  auto source = std::make_shared<Source>(subject, true);
  auto rest = std::make_shared<Arguments>(std::move(args));
  auto path = std::make_shared<AttributePath>();
  auto test = std::make_shared<Value>();
  const auto take_first = [=] {
    Value first = rest->positional[0];
    rest->positional.erase(rest->positional.begin());
    return first;
  };
  const auto prepare = [=]() -> Status {
    if (kAttribute) {
      if (rest->positional.empty()) return InvalidArgumentError("Missing parameter for attribute name");
      *path = AttributePath(take_first());
    }
    if (!rest->positional.empty()) {
      MOTLEY_RETURN_IF_ERROR(StrArgument("select", rest->positional[0]).status());
      *test = take_first();
    }
    return OkStatus();
  };
  auto prepared = std::make_shared<bool>(false);
  return NewLazy(
      [=](Interp& interp, Value* item) -> StatusOr<bool> {
        for (;;) {
          MOTLEY_RETURN_IF_ERROR(interp.budget().Step());
          MOTLEY_ASSIGN_OR_RETURN(const bool more, source->Next(interp, item));
          if (!more) return false;
          if (!std::exchange(*prepared, true)) MOTLEY_RETURN_IF_ERROR(prepare());
          MOTLEY_ASSIGN_OR_RETURN(const Value value, path->Get(interp, *item));
          bool holds = Truth(value);
          if (!test->is_missing()) {
            MOTLEY_ASSIGN_OR_RETURN(holds, interp.CallTest(test->view(), value, *rest));
          }
          if (holds == kWanted) return true;
        }
      },
      {subject});
}

Result UniqueFilter(Interp&, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("unique", {{"case_sensitive"}, {"attribute"}}, args, &a));
  auto source = std::make_shared<Source>(subject, false);
  auto path = std::make_shared<AttributePath>(a[1]);
  auto seen = std::make_shared<Dict>();
  const bool exact = Truth(a[0]);
  return NewLazy(
      [=](Interp& interp, Value* item) -> StatusOr<bool> {
        for (;;) {
          MOTLEY_RETURN_IF_ERROR(interp.budget().Step());
          MOTLEY_ASSIGN_OR_RETURN(const bool more, source->Next(interp, item));
          if (!more) return false;
          MOTLEY_ASSIGN_OR_RETURN(Value key, path->Get(interp, *item));
          if (!exact) {
            MOTLEY_ASSIGN_OR_RETURN(key, IgnoreCase(interp, key));
          }
          if (!IsHashable(key)) return InvalidArgumentError(std::string("unhashable type: '") + TypeName(key) + "'");
          if (seen->Find(key) != nullptr) continue;
          MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(2 * sizeof(Value)));
          seen->Set(key, Value::None());
          return true;
        }
      },
      {subject});
}

Result ItemsFilter(Interp&, const Value& subject, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("items", {}, args, &none));
  auto at = std::make_shared<size_t>(0);
  return NewLazy(
      [=](Interp& interp, Value* item) -> StatusOr<bool> {
        if (subject.is_undefined()) return false;
        if (!subject.is_dict()) return InvalidArgumentError("Can only get item pairs from a mapping.");
        const auto& entries = subject.dict().entries;
        if (*at >= entries.size()) return false;
        MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(sizeof(List) + 2 * sizeof(Value)));
        *item = NewTuple({entries[*at].first, entries[*at].second});
        ++*at;
        return true;
      },
      {subject});
}

Result BatchFilter(Interp&, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("batch", {{"linecount", true}, {"fill_with"}}, args, &a));
  auto source = std::make_shared<Source>(subject, false);
  const Value count = a[0], fill = a[1];
  auto pending = std::make_shared<std::optional<Value>>();
  return NewLazy(
      [=](Interp& interp, Value* item) -> StatusOr<bool> {
        std::vector<Value> row;
        if (pending->has_value()) row.push_back(*std::exchange(*pending, std::nullopt));
        for (Value next;;) {
          MOTLEY_ASSIGN_OR_RETURN(const bool more, source->Next(interp, &next));
          if (!more) break;
          // Compared as Python does, only once there is an item.
          if (count.is_int() ? static_cast<int64_t>(row.size()) == count.integer() && !row.empty() : false) {
            *pending = std::move(next);
            *item = NewList(std::move(row));
            return true;
          }
          MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(sizeof(Value)));
          row.push_back(std::move(next));
        }
        if (row.empty()) return false;
        if (!fill.is_missing() && !fill.is_none()) {
          MOTLEY_ASSIGN_OR_RETURN(const int64_t width, IntArgument("batch", count));
          const int64_t lacks = width - static_cast<int64_t>(row.size());
          MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(lacks > 0 ? static_cast<uint64_t>(lacks) * sizeof(Value) : 0));
          for (int64_t i = 0; i < lacks; ++i) row.push_back(fill);
        }
        *item = NewList(std::move(row));
        return true;
      },
      {subject, fill});
}

Result SliceFilter(Interp&, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("slice", {{"slices", true}, {"fill_with"}}, args, &a));
  const Value slices = a[0], fill = a[1];
  auto items = std::make_shared<std::optional<std::vector<Value>>>();
  auto number = std::make_shared<int64_t>(0);
  auto at = std::make_shared<size_t>(0);
  return NewLazy(
      [=](Interp& interp, Value* item) -> StatusOr<bool> {
        MOTLEY_ASSIGN_OR_RETURN(const int64_t count, IntArgument("slice", slices));
        if (!items->has_value()) {
          MOTLEY_ASSIGN_OR_RETURN(*items, interp.ToVector(subject));
          if (count == 0) return InvalidArgumentError("integer division or modulo by zero");
        }
        if (*number >= count) return false;
        const auto length = static_cast<int64_t>((*items)->size());
        const bool longer = *number < length % count;
        const auto size = static_cast<size_t>(length / count + (longer ? 1 : 0));
        MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(sizeof(List) + (size + 1) * sizeof(Value)));
        std::vector<Value> part((*items)->begin() + static_cast<ptrdiff_t>(*at),
                                (*items)->begin() + static_cast<ptrdiff_t>(*at + size));
        *at += size;
        ++*number;
        if (!longer && !fill.is_missing() && !fill.is_none()) part.push_back(fill);
        *item = NewList(std::move(part));
        return true;
      },
      {subject, fill});
}

constexpr Filter kRows[] = {
    {"batch", BatchFilter},
    {"items", ItemsFilter},
    {"map", MapFilter},
    {"reject", SelectFilter<false, false>},
    {"rejectattr", SelectFilter<false, true>},
    {"select", SelectFilter<true, false>},
    {"selectattr", SelectFilter<true, true>},
    {"slice", SliceFilter},
    {"unique", UniqueFilter},
};

}  // namespace

FilterRows LazyFilters() { return {kRows, std::size(kRows)}; }

}  // namespace motley::jinja
