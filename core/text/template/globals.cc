// Functions that every template has.
#include <ctime>

#include "core/text/template/interp.h"
#include "core/text/template/methods.h"
#include "core/text/template/repr.h"

namespace motley::jinja {
namespace {

constexpr int64_t kMaxRange = 100000;  // of Jinja's sandbox

struct Global : Function {
  std::string_view name;
  Result (*call)(Interp& interp, Arguments& args) = nullptr;
  Result Call(Interp& interp, Arguments args) override { return call(interp, args); }
  const char* type_name() const override { return "function"; }
  std::string repr() const override { return "<function " + std::string(name) + ">"; }
};

Result RangeOf(Interp&, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("range", {{"", true}, {""}, {""}}, args, &a));
  int64_t bounds[3] = {0, 0, 1};
  for (size_t i = 0; i < 3; ++i) {
    if (a[i].is_missing()) continue;
    MOTLEY_ASSIGN_OR_RETURN(bounds[i], IntArgument("range", a[i]));
    constexpr int64_t kFar = int64_t{1} << 60;  // so that no difference overflows
    if (bounds[i] > kFar || bounds[i] < -kFar) {
      return InvalidArgumentError("range(): " + std::to_string(bounds[i]) + " is too large");
    }
  }
  if (bounds[2] == 0) return InvalidArgumentError("range() arg 3 must not be zero");
  auto* range = new Range;
  Value value = Value::Of(Type::kRange, range);
  range->start = a[1].is_missing() ? 0 : bounds[0];
  range->stop = a[1].is_missing() ? bounds[0] : bounds[1];
  range->step = bounds[2];
  if (range->length() > kMaxRange) {
    return InvalidArgumentError("Range too big. The sandbox blocks ranges larger than MAX_RANGE (" +
                                std::to_string(kMaxRange) + ").");
  }
  return value;
}

// The values of dict(...) and namespace(...): a mapping or pairs, then names.
Status FillDict(Interp& interp, Arguments& args, Dict* dict) {
  if (args.positional.size() > 1) {
    return InvalidArgumentError("dict expected at most 1 argument, got " + std::to_string(args.positional.size()));
  }
  if (!args.positional.empty() && args.positional[0].is_dict()) {
    for (const auto& [key, value] : args.positional[0].dict().entries) dict->Set(key, value);
  } else if (!args.positional.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<Value> pairs, interp.ToVector(args.positional[0]));
    for (const Value& pair : pairs) {
      MOTLEY_ASSIGN_OR_RETURN(const std::vector<Value> items, interp.ToVector(pair));
      if (items.size() != 2) return InvalidArgumentError("dict() takes pairs, not " + std::to_string(items.size()) + " items");
      if (!IsHashable(items[0])) return InvalidArgumentError(std::string("unhashable type: '") + TypeName(items[0]) + "'");
      dict->Set(items[0], items[1]);
    }
  }
  for (auto& [name, value] : args.named) dict->Set(Value::String(name, true), std::move(value));
  return interp.budget().Bytes(sizeof(Dict) + dict->entries.size() * 2 * sizeof(Value));
}

Result DictOf(Interp& interp, Arguments& args) {
  auto* dict = new Dict;
  Value value = Value::Of(Type::kDict, dict);
  MOTLEY_RETURN_IF_ERROR(FillDict(interp, args, dict));
  return value;
}

Result NamespaceOf(Interp& interp, Arguments& args) {
  const Ref<Namespace> space = interp.Keep(new Namespace);
  MOTLEY_RETURN_IF_ERROR(FillDict(interp, args, &space->values));
  for (const auto& [key, value] : space->values.entries) {
    if (key.is_str() && key.view().substr(0, 1) == "_") {
      return InvalidArgumentError("a namespace takes no attribute that begins with an underscore: " + ShortRepr(key));
    }
    if (value.depth() > kMaxDepth) return InvalidArgumentError("values lie too deep inside one another");
  }
  return Value::Of(Type::kNamespace, space.get());
}

Result CyclerOf(Interp&, Arguments& args) {
  if (args.positional.empty()) return InvalidArgumentError("at least one item has to be provided");
  if (!args.named.empty()) return InvalidArgumentError("cycler() takes no keyword arguments");
  auto* cycler = new Cycler;
  Value value = Value::Of(Type::kCycler, cycler);
  for (const Value& item : args.positional) CountIn(item, cycler);
  cycler->items = std::move(args.positional);
  return value;
}

Result JoinerOf(Interp&, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("joiner", {{"sep"}}, args, &a));
  auto* joiner = new Joiner;
  Value value = Value::Of(Type::kJoiner, joiner);
  CountIn(a[0], joiner);
  joiner->separator = a[0].is_missing() ? Value::String(", ", true) : a[0];
  return value;
}

Result RaiseException(Interp& interp, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("raise_exception", {{"message", true}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const Value message, interp.ToStr(a[0]));
  return InvalidArgumentError(message.view().empty() ? "raise_exception was called" : std::string(message.view()));
}

Result StrftimeNow(Interp& interp, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("strftime_now", {{"format", true}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const Str* format, StrArgument("strftime_now", a[0]));
  if (format->text.empty()) return a[0];
  const std::time_t now =
      std::chrono::system_clock::to_time_t(interp.clock().now.value_or(std::chrono::system_clock::now()));
  std::tm local = {};
  if (localtime_r(&now, &local) == nullptr) return InvalidArgumentError("strftime_now(): the clock's time is out of range");
  // A mark behind tells an empty result from one that did not fit.
  const std::string marked = std::string(format->text.view()) + "|";
  if (marked.find('\0') != std::string::npos) return InvalidArgumentError("strftime_now(): embedded null character");
  std::string text(4096, '\0');
  const size_t size = std::strftime(text.data(), text.size(), marked.c_str(), &local);
  if (size == 0) return InvalidArgumentError("strftime_now(): the result has more than 4,095 bytes");
  text.resize(size - 1);
  return interp.NewStr(Text(std::move(text), format->text.all_trusted()));
}

Result NotSupported(Interp&, Arguments&) { return InvalidArgumentError("the function lipsum is not supported"); }

}  // namespace

void AddGlobals(Interp&, Interp::Context* globals) {
  const std::pair<std::string_view, Result (*)(Interp&, Arguments&)> rows[] = {
      {"range", RangeOf},   {"dict", DictOf},     {"namespace", NamespaceOf},         {"cycler", CyclerOf},
      {"joiner", JoinerOf}, {"lipsum", NotSupported}, {"raise_exception", RaiseException}, {"strftime_now", StrftimeNow},
  };
  for (const auto& [name, call] : rows) {
    auto* global = new Global;
    global->name = name;
    global->call = call;
    globals->emplace(std::string(name), Value::Of(Type::kFunction, global));
  }
}

}  // namespace motley::jinja
