// Value: what a template computes with, after Python's types.
//
// Immutable and counted; only namespaces, loops, cyclers, joiners and iterators change, and Interp keeps those until
// the rendering is over, so that nothing is freed in a circle or along a long chain. Numbers, bools and none know
// whether they come from the input, as strings do (Text).
//
// Threads: one at a time for values of one rendering. Constants of a parsed template are immortal (not counted), so
// that threads may share them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/text/template/budget.h"
#include "core/text/template/text.h"

namespace motley::jinja {

class Interp;
class Value;
using Result = StatusOr<Value>;

inline constexpr uint32_t kMaxDepth = 400;  // of values inside values
inline constexpr uint32_t kMaxWeight = 1u << 30;
inline constexpr uint32_t kMaxKeyWeight = 1u << 12;  // a tuple with more in it is no key

struct Object {
  static constexpr uint32_t kImmortal = 1u << 31;
  virtual ~Object() = default;
  uint32_t refs = 0;
  uint32_t depth = 1;   // of objects inside objects
  uint32_t weight = 1;  // objects in it, those that are there twice counted twice; at most kMaxWeight
};

template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { Retain(); }
  Ref(const Ref& other) : object_(other.object_) { Retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr && object_->refs < Object::kImmortal && --object_->refs == 0) delete object_;
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  void Retain() {
    if (object_ != nullptr && object_->refs < Object::kImmortal) ++object_->refs;
  }
  T* object_ = nullptr;
};

enum class Type : uint8_t {
  kMissing,  // no value at all: a variable that was not set, an argument that was not given
  kUndefined, kNone, kBool, kInt, kBigInt, kFloat, kStr, kList, kTuple, kDict, kView, kRange, kIterator,
  kNamespace, kFunction, kLoop, kCycler, kJoiner,
};

struct Str;
struct List;
struct Dict;

class Value {
 public:
  Value() : type_(Type::kMissing), i_(0) {}
  Value(const Value& other) : type_(other.type_), trusted_(other.trusted_), watched_(other.watched_), i_(other.i_) {
    Retain();
  }
  Value(Value&& other) noexcept
      : type_(other.type_), trusted_(other.trusted_), watched_(other.watched_), i_(other.i_) {
    other.type_ = Type::kMissing;
  }
  Value& operator=(Value other) noexcept {
    std::swap(type_, other.type_);
    std::swap(trusted_, other.trusted_);
    std::swap(watched_, other.watched_);
    std::swap(i_, other.i_);
    return *this;
  }
  ~Value() { Release(); }

  static Value None(bool trusted = true) { return Value(Type::kNone, 0, trusted); }
  static Value Bool(bool value, bool trusted = true) { return Value(Type::kBool, value ? 1 : 0, trusted); }
  static Value Int(int64_t value, bool trusted = true) { return Value(Type::kInt, value, trusted); }
  static Value Float(double value, bool trusted = true);
  static Value Of(Type type, Object* object) {
    Value value;
    value.type_ = type;
    value.o_ = object;
    value.Retain();
    return value;
  }
  static Value String(Text text, bool markup = false);
  static Value String(std::string_view text, bool trusted) { return String(Text(std::string(text), trusted)); }

  Type type() const { return type_; }
  bool Is(Type type) const { return type_ == type; }
  bool is_missing() const { return type_ == Type::kMissing; }
  bool is_undefined() const { return type_ == Type::kUndefined; }
  bool is_none() const { return type_ == Type::kNone; }
  bool is_str() const { return type_ == Type::kStr; }
  bool is_dict() const { return type_ == Type::kDict; }
  bool is_list() const { return type_ == Type::kList; }
  bool is_sequence() const { return type_ == Type::kList || type_ == Type::kTuple; }
  bool is_int() const { return type_ == Type::kInt || type_ == Type::kBool; }  // as Python: bool is an int
  bool is_number() const { return is_int() || type_ == Type::kFloat || type_ == Type::kBigInt; }

  bool trusted() const { return trusted_; }  // of a number, bool or none
  // A value whose use as data, where text was wanted, is noted in the budget (see Budget::Notes). Copies are watched
  // too.
  bool watched() const { return watched_; }
  Value Watched() const {
    Value copy = *this;
    copy.watched_ = true;
    return copy;
  }
  bool boolean() const { return i_ != 0; }
  int64_t integer() const { return i_; }
  double real() const { return d_; }
  Object* object() const { return o_; }
  template <typename T>
  T& As() const { return *static_cast<T*>(o_); }

  const Str& str() const { return As<Str>(); }
  std::string_view view() const;  // of a string
  const std::vector<Value>& items() const;  // of a list or tuple
  const Dict& dict() const { return As<Dict>(); }

  // The same object: Python's `is`.
  bool SameAs(const Value& other) const;
  uint32_t depth() const { return HasObject() ? o_->depth : 0; }
  uint32_t weight() const { return HasObject() ? o_->weight : 1; }

 private:
  Value(Type type, int64_t value, bool trusted) : type_(type), trusted_(trusted), i_(value) {}
  bool HasObject() const {
    return type_ >= Type::kStr || type_ == Type::kBigInt || (type_ == Type::kUndefined && o_ != nullptr);
  }
  void Retain() {
    if (HasObject() && o_->refs < Object::kImmortal) ++o_->refs;
  }
  void Release() {
    if (HasObject() && o_->refs < Object::kImmortal && --o_->refs == 0) delete o_;
  }

  Type type_;
  bool trusted_ = true;
  bool watched_ = false;
  union {
    int64_t i_;
    double d_;
    Object* o_;
  };
};

struct Str : Object {
  Str(Text t, bool is_markup);
  Text text;
  size_t length;        // characters
  bool ascii;           // so that a character's place is its index
  bool markup = false;  // made by |safe: what is added to it is escaped, as MarkupSafe does
};

struct BigInt : Object {
  std::string digits;  // decimal, with a sign where negative; more than an int64 holds
};

struct Undefined : Object {
  std::string hint;       // the whole message, where it is not made of the rest
  const char* owner = nullptr;  // the type it was looked up in, nullptr = a variable
  Value name;
};

struct List : Object {  // and tuple
  std::vector<Value> items;
  bool group = false;  // a tuple (grouper, list), with these names
};

struct Dict : Object {
  std::vector<std::pair<Value, Value>> entries;
  // Absent where the key is not there. Keys that cannot be hashed are never there; ask IsHashable first.
  const Value* Find(const Value& key) const;
  const Value* Find(std::string_view key) const;
  // For building; a later value takes the earlier one's place.
  void Set(Value key, Value value);

 private:
  size_t FindIndex(const Value& key) const;
  std::unordered_multimap<size_t, uint32_t> index_;  // hash to entry, made where there are many
};

struct View : Object {
  enum Kind { kKeys, kValues, kItems } kind = kKeys;
  Value dict;
};

struct Range : Object {
  int64_t start = 0, stop = 0, step = 1;
  int64_t length() const;
};

// A generator: each item once.
struct Iterator : Object {
  // False at the end, and from then on.
  virtual StatusOr<bool> Next(Interp& interp, Value* item) = 0;
};

struct Namespace : Object {
  Dict values;
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
  // Takes a named one out; missing where it is not there.
  Value Take(std::string_view name);
};

struct Function : Object {
  virtual Result Call(Interp& interp, Arguments args) = 0;
  virtual const char* type_name() const { return "builtin_function_or_method"; }
  virtual std::string repr() const = 0;
};

struct Cycler : Object {
  std::vector<Value> items;
  size_t at = 0;
};
struct Joiner : Object {
  Value separator;
  bool used = false;
};

// Python's names, for messages.
const char* TypeName(const Value& value);

bool Truth(const Value& value);
bool IsHashable(const Value& value);
size_t HashOf(const Value& value);
// Of values that can be hashed, which are small: dict keys.
bool KeysEqual(const Value& a, const Value& b);

Value NewList(std::vector<Value> items);
Value NewTuple(std::vector<Value> items);
Value NewUndefined(std::string hint);
Value NewUndefinedName(Value name);
Value NewUndefinedAttribute(const Value& owner, const Value& name);
std::string UndefinedMessage(const Value& undefined);

// Counts `item` into the depth and weight of what it is in. Interp refuses what became too deep.
void CountIn(const Value& item, Object* container);

// Python's len(); absent (-1) where there is none. Iterators have none.
int64_t LengthOf(const Value& value);

}  // namespace motley::jinja
