// What can be looped over, and the loop variable.
#include <utility>

#include "core/text/template/interp.h"
#include "core/text/template/operators.h"
#include "core/text/template/repr.h"
#include "core/text/template/unicode.h"

namespace motley::jinja {
namespace {

struct ListItems : Iterator {
  Value list;
  size_t at = 0;
  StatusOr<bool> Next(Interp&, Value* item) override {
    if (at >= list.items().size()) return false;
    *item = list.items()[at++];
    return true;
  }
};

struct DictItems : Iterator {
  Value dict;
  View::Kind kind = View::kKeys;
  size_t at = 0;
  StatusOr<bool> Next(Interp&, Value* item) override {
    const auto& entries = dict.dict().entries;
    if (at >= entries.size()) return false;
    const auto& [key, value] = entries[at++];
    *item = kind == View::kKeys ? key : kind == View::kValues ? value : NewTuple({key, value});
    return true;
  }
};

struct Characters : Iterator {
  Value text;
  size_t at = 0;
  StatusOr<bool> Next(Interp& interp, Value* item) override {
    const Text& all = text.str().text;
    if (at >= all.size()) return false;
    const size_t size = DecodeOne(all.view().substr(at)).size;
    MOTLEY_ASSIGN_OR_RETURN(*item, interp.NewStr(all.Part(at, at + size)));
    at += size;
    return true;
  }
};

struct RangeItems : Iterator {
  int64_t next = 0, step = 1, left = 0;
  StatusOr<bool> Next(Interp&, Value* item) override {
    if (left <= 0) return false;
    *item = Value::Int(next);
    next += step;
    --left;
    return true;
  }
};

struct Nothing : Iterator {
  StatusOr<bool> Next(Interp&, Value*) override { return false; }
};

struct LoopItems : Iterator {  // a loop variable that is itself looped over
  Ref<Loop> loop;
  StatusOr<bool> Next(Interp& interp, Value* item) override {
    Value next;
    MOTLEY_ASSIGN_OR_RETURN(const bool more, loop->Next(interp, &next));
    if (more) *item = NewTuple({next, Value::Of(Type::kLoop, loop.get())});
    return more;
  }
};

}  // namespace

StatusOr<Ref<Iterator>> Interp::Iterate(const Value& value) {
  MOTLEY_RETURN_IF_ERROR(budget_.Bytes(64));
  switch (value.type()) {
    case Type::kUndefined: return Ref<Iterator>(new Nothing);
    case Type::kList:
    case Type::kTuple: {
      auto* items = new ListItems;
      items->list = value;
      return Ref<Iterator>(items);
    }
    case Type::kStr: {
      auto* items = new Characters;
      items->text = value;
      return Ref<Iterator>(items);
    }
    case Type::kDict:
    case Type::kView: {
      auto* items = new DictItems;
      items->dict = value.is_dict() ? value : value.As<View>().dict;
      if (!value.is_dict()) items->kind = value.As<View>().kind;
      return Ref<Iterator>(items);
    }
    case Type::kRange: {
      auto* items = new RangeItems;
      items->next = value.As<Range>().start;
      items->step = value.As<Range>().step;
      items->left = value.As<Range>().length();
      return Ref<Iterator>(items);
    }
    case Type::kIterator: return Ref<Iterator>(&value.As<Iterator>());
    case Type::kLoop: {
      auto* items = new LoopItems;
      items->loop = Ref<Loop>(&value.As<Loop>());
      return Ref<Iterator>(items);
    }
    default: return InvalidArgumentError(std::string("'") + TypeName(value) + "' object is not iterable");
  }
}

StatusOr<std::vector<Value>> Interp::ToVector(const Value& value) {
  std::vector<Value> items;
  if (value.is_sequence()) {
    MOTLEY_RETURN_IF_ERROR(budget_.Bytes(value.items().size() * sizeof(Value)));
    return value.items();
  }
  MOTLEY_ASSIGN_OR_RETURN(const Ref<Iterator> it, Iterate(value));
  for (Value item;;) {
    MOTLEY_RETURN_IF_ERROR(budget_.Step());
    MOTLEY_ASSIGN_OR_RETURN(const bool more, it->Next(*this, &item));
    if (!more) return items;
    MOTLEY_RETURN_IF_ERROR(budget_.Bytes(sizeof(Value)));
    items.push_back(std::move(item));
  }
}

StatusOr<bool> Loop::Next(Interp& interp, Value* item) {
  if (after.has_value()) {
    *item = *std::exchange(after, std::nullopt);
  } else {
    if (at_end) return false;
    MOTLEY_ASSIGN_OR_RETURN(const bool more, items->Next(interp, item));
    if (!more) return false;
  }
  ++index0;
  before = std::exchange(current, *item);
  return true;
}

Result Loop::Peek(Interp& interp) {
  if (after.has_value()) return *after;
  if (at_end) return Value();
  Value item;
  MOTLEY_ASSIGN_OR_RETURN(const bool more, items->Next(interp, &item));
  if (!more) {
    at_end = true;
    return Value();
  }
  after = item;
  return item;
}

StatusOr<int64_t> Loop::Length(Interp& interp) {
  if (length >= 0) return length;
  length = LengthOf(iterable);
  if (length >= 0) return length;
  // Without a length of its own what is left is taken out and counted.
  MOTLEY_ASSIGN_OR_RETURN(std::vector<Value> rest, interp.ToVector(Value::Of(Type::kIterator, items.get())));
  length = static_cast<int64_t>(rest.size()) + index0 + 1 + (after.has_value() ? 1 : 0);
  MOTLEY_ASSIGN_OR_RETURN(items, interp.Iterate(NewList(std::move(rest))));
  return length;
}

}  // namespace motley::jinja
