#include "core/text/template/value.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/text/template/numbers.h"
#include "core/text/template/repr.h"
#include "core/text/template/unicode.h"

namespace motley::jinja {

Value Value::Float(double value, bool trusted) {
  Value result(Type::kFloat, 0, trusted);
  result.d_ = value;
  return result;
}

Value Value::String(Text text, bool markup) { return Of(Type::kStr, new Str(std::move(text), markup)); }

std::string_view Value::view() const { return str().text.view(); }
const std::vector<Value>& Value::items() const { return As<List>().items; }

bool Value::SameAs(const Value& other) const {
  if (type_ != other.type_) return false;
  switch (type_) {
    case Type::kNone: return true;
    case Type::kBool:
    case Type::kInt: return i_ == other.i_;
    case Type::kFloat: return d_ == other.d_;
    default: return o_ == other.o_;
  }
}

Str::Str(Text t, bool is_markup) : text(std::move(t)), markup(is_markup) {
  length = CountCharacters(text.view());
  ascii = length == text.size();
}

namespace {

constexpr size_t kIndexFrom = 12;  // entries; fewer are compared one by one
constexpr size_t kNotThere = static_cast<size_t>(-1);

size_t Mix(size_t hash, size_t more) { return hash * 1000003 ^ more; }

}  // namespace

size_t Dict::FindIndex(const Value& key) const {
  if (index_.empty()) {
    for (size_t i = 0; i < entries.size(); ++i) {
      if (KeysEqual(entries[i].first, key)) return i;
    }
    return kNotThere;
  }
  const auto [begin, end] = index_.equal_range(HashOf(key));
  for (auto it = begin; it != end; ++it) {
    if (KeysEqual(entries[it->second].first, key)) return it->second;
  }
  return kNotThere;
}

const Value* Dict::Find(const Value& key) const {
  const size_t at = FindIndex(key);
  return at == kNotThere ? nullptr : &entries[at].second;
}

const Value* Dict::Find(std::string_view key) const {
  if (index_.empty()) {
    for (const auto& [name, value] : entries) {
      if (name.is_str() && name.view() == key) return &value;
    }
    return nullptr;
  }
  const auto [begin, end] = index_.equal_range(std::hash<std::string_view>()(key));
  for (auto it = begin; it != end; ++it) {
    const Value& name = entries[it->second].first;
    if (name.is_str() && name.view() == key) return &entries[it->second].second;
  }
  return nullptr;
}

void Dict::Set(Value key, Value value) {
  CountIn(key, this);
  CountIn(value, this);
  const size_t at = FindIndex(key);
  if (at != kNotThere) {
    entries[at].second = std::move(value);
    return;
  }
  const auto place = static_cast<uint32_t>(entries.size());
  if (!index_.empty()) index_.emplace(HashOf(key), place);
  entries.emplace_back(std::move(key), std::move(value));
  if (index_.empty() && entries.size() >= kIndexFrom) {
    for (uint32_t i = 0; i < entries.size(); ++i) index_.emplace(HashOf(entries[i].first), i);
  }
}

int64_t Range::length() const {
  if (step > 0) return start >= stop ? 0 : (stop - start - 1) / step + 1;
  return start <= stop ? 0 : (start - stop - 1) / -step + 1;
}

Value Arguments::Take(std::string_view name) {
  for (auto it = named.begin(); it != named.end(); ++it) {
    if (it->first != name) continue;
    Value value = std::move(it->second);
    named.erase(it);
    return value;
  }
  return {};
}

const char* TypeName(const Value& value) {
  switch (value.type()) {
    case Type::kMissing:
    case Type::kUndefined: return "Undefined";
    case Type::kNone: return "NoneType";
    case Type::kBool: return "bool";
    case Type::kInt:
    case Type::kBigInt: return "int";
    case Type::kFloat: return "float";
    case Type::kStr: return value.str().markup ? "Markup" : "str";
    case Type::kList: return "list";
    case Type::kTuple: return "tuple";
    case Type::kDict: return "dict";
    case Type::kView: {
      const auto kind = value.As<View>().kind;
      return kind == View::kKeys ? "dict_keys" : kind == View::kValues ? "dict_values" : "dict_items";
    }
    case Type::kRange: return "range";
    case Type::kIterator: return "generator";
    case Type::kNamespace: return "Namespace";
    case Type::kFunction: return value.As<Function>().type_name();
    case Type::kLoop: return "LoopContext";
    case Type::kCycler: return "Cycler";
    case Type::kJoiner: return "Joiner";
  }
  return "object";
}

int64_t LengthOf(const Value& value) {
  switch (value.type()) {
    case Type::kUndefined: return 0;
    case Type::kStr: return static_cast<int64_t>(value.str().length);
    case Type::kList:
    case Type::kTuple: return static_cast<int64_t>(value.items().size());
    case Type::kDict: return static_cast<int64_t>(value.dict().entries.size());
    case Type::kView: return static_cast<int64_t>(value.As<View>().dict.dict().entries.size());
    case Type::kRange: return value.As<Range>().length();
    default: return -1;
  }
}

bool Truth(const Value& value) {
  switch (value.type()) {
    case Type::kMissing:
    case Type::kUndefined:
    case Type::kNone: return false;
    case Type::kBool:
    case Type::kInt: return value.integer() != 0;
    case Type::kFloat: return value.real() != 0;
    case Type::kStr:
    case Type::kList:
    case Type::kTuple:
    case Type::kDict:
    case Type::kView:
    case Type::kRange: return LengthOf(value) != 0;
    default: return true;
  }
}

bool IsHashable(const Value& value) {
  switch (value.type()) {
    case Type::kList:
    case Type::kDict:
    case Type::kView: return false;
    case Type::kTuple:
      return value.weight() <= kMaxKeyWeight &&
             std::all_of(value.items().begin(), value.items().end(), IsHashable);
    default: return true;
  }
}

size_t HashOf(const Value& value) {
  switch (value.type()) {
    case Type::kUndefined: return 7;
    case Type::kNone: return 11;
    case Type::kBool:
    case Type::kInt: return std::hash<int64_t>()(value.integer());
    case Type::kFloat: {
      const double d = value.real();
      if (d == std::floor(d) && std::abs(d) < 9e18) return std::hash<int64_t>()(static_cast<int64_t>(d));
      return std::hash<double>()(d);
    }
    case Type::kBigInt: return std::hash<std::string>()(value.As<BigInt>().digits);
    case Type::kStr: return std::hash<std::string_view>()(value.view());
    case Type::kTuple: {
      size_t hash = value.items().size();
      for (const Value& item : value.items()) hash = Mix(hash, HashOf(item));
      return hash;
    }
    default: return std::hash<const void*>()(value.object());
  }
}

bool KeysEqual(const Value& a, const Value& b) {
  if (a.is_str() || b.is_str()) return a.is_str() && b.is_str() && a.view() == b.view();
  if (a.is_int() && b.is_int()) return a.integer() == b.integer();
  if (a.is_number() && b.is_number()) return NumbersEqual(a, b);
  if (a.is_undefined() && b.is_undefined()) return true;
  if (a.Is(Type::kTuple) && b.Is(Type::kTuple)) {
    return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), KeysEqual);
  }
  return a.SameAs(b);
}

void CountIn(const Value& item, Object* container) {
  container->depth = std::max(container->depth, item.depth() + 1);
  container->weight = std::min(container->weight + item.weight(), kMaxWeight);
}

namespace {

Value NewItems(Type type, std::vector<Value> items) {
  auto* list = new List;
  for (const Value& item : items) CountIn(item, list);
  list->items = std::move(items);
  return Value::Of(type, list);
}

}  // namespace

Value NewList(std::vector<Value> items) { return NewItems(Type::kList, std::move(items)); }
Value NewTuple(std::vector<Value> items) { return NewItems(Type::kTuple, std::move(items)); }

Value NewUndefined(std::string hint) {
  auto* undefined = new Undefined;
  undefined->hint = std::move(hint);
  return Value::Of(Type::kUndefined, undefined);
}

Value NewUndefinedName(Value name) {
  auto* undefined = new Undefined;
  undefined->name = std::move(name);
  return Value::Of(Type::kUndefined, undefined);
}

Value NewUndefinedAttribute(const Value& owner, const Value& name) {
  auto* undefined = new Undefined;
  undefined->owner = TypeName(owner);
  // Not more than a name: no chain of values hangs on it.
  undefined->name = name.depth() <= 1 ? name : Value::String(TypeName(name), true);
  return Value::Of(Type::kUndefined, undefined);
}

std::string UndefinedMessage(const Value& value) {
  const auto& undefined = value.As<Undefined>();
  if (!undefined.hint.empty()) return undefined.hint;
  const std::string name = ShortRepr(undefined.name);
  if (undefined.owner == nullptr) return name + " is undefined";
  const std::string owner = undefined.owner;
  if (!undefined.name.is_str()) return owner + " object has no element " + name;
  return "'" + owner + " object' has no attribute " + name;
}

}  // namespace motley::jinja
