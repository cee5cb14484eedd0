// The methods of str.
#include <algorithm>
#include <optional>

#include "core/text/template/format.h"
#include "core/text/template/interp.h"
#include "core/text/template/methods.h"
#include "core/text/template/operators.h"
#include "core/text/template/repr.h"
#include "core/text/template/text_ops.h"
#include "core/text/template/unicode.h"

namespace motley::jinja {
namespace {

Result NoArguments(std::string_view name, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind(name, {}, args, &none));
  return Value();
}

template <Text (*kMap)(const Text&)>
Result Mapped(Interp& interp, const Value& self, Arguments& args) {
  MOTLEY_RETURN_IF_ERROR(NoArguments("str method", args).status());
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(self.str().text.size()));
  return interp.NewStr(kMap(self.str().text), self.str().markup);
}

template <bool kLeft, bool kRight>
Result Stripped(Interp& interp, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("strip", {{""}}, args, &a));
  std::optional<std::string_view> chars;
  if (!a[0].is_missing() && !a[0].is_none()) {
    MOTLEY_ASSIGN_OR_RETURN(const Str* given, StrArgument("strip", a[0]));
    chars = given->text.view();
    MOTLEY_RETURN_IF_ERROR(interp.budget().Step(self.str().text.size() * given->length / 1024));
  }
  return interp.NewStr(Strip(self.str().text, chars, kLeft, kRight), self.str().markup);
}

Result TextList(Interp& interp, std::vector<Text> parts, bool markup) {
  std::vector<Value> items;
  items.reserve(parts.size());
  for (Text& part : parts) {
    MOTLEY_ASSIGN_OR_RETURN(Value item, interp.NewStr(std::move(part), markup));
    items.push_back(std::move(item));
  }
  return NewList(std::move(items));
}

template <bool kFromRight>
Result SplitMethod(Interp& interp, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("split", {{"sep"}, {"maxsplit"}}, args, &a));
  int64_t most = -1;
  if (!a[1].is_missing()) {
    MOTLEY_ASSIGN_OR_RETURN(most, IntArgument("split", a[1]));
  }
  const Text& text = self.str().text;
  const bool markup = self.str().markup;
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(text.size()));
  if (a[0].is_missing() || a[0].is_none()) {
    return TextList(interp, kFromRight ? SplitSpaceRight(text, most) : SplitSpace(text, most), markup);
  }
  MOTLEY_ASSIGN_OR_RETURN(const Str* separator, StrArgument("split", a[0]));
  if (separator->text.empty()) return InvalidArgumentError("empty separator");
  // The parts' headers, before they are made.
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(CountOf(text.view(), separator->text.view(), most) * sizeof(Text)));
  const std::string_view by = separator->text.view();
  return TextList(interp, kFromRight ? SplitByRight(text, by, most) : SplitBy(text, by, most), markup);
}

Result SplitLinesMethod(Interp& interp, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("splitlines", {{"keepends"}}, args, &a));
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(self.str().text.size()));
  return TextList(interp, SplitLines(self.str().text, Truth(a[0])), self.str().markup);
}

template <bool kFromRight>
Result Partition(Interp& interp, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("partition", {{"", true}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const Str* separator, StrArgument("partition", a[0]));
  if (separator->text.empty()) return InvalidArgumentError("empty separator");
  const Text& text = self.str().text;
  const std::string_view by = separator->text.view();
  const size_t at = kFromRight ? FindLast(text.view(), by) : Find(text.view(), by);
  std::vector<Text> parts(3);
  if (at == std::string_view::npos) {
    parts[kFromRight ? 2 : 0] = text;
  } else {
    parts[0] = text.Part(0, at);
    parts[1] = separator->text;
    parts[2] = text.Part(at + by.size(), text.size());
  }
  MOTLEY_ASSIGN_OR_RETURN(const Value list, TextList(interp, std::move(parts), self.str().markup));
  return NewTuple(list.items());
}

// A Markup escapes what is put into it.
Text ForMarkup(const Value& self, const Str& argument) {
  return self.str().markup && !argument.markup ? EscapeHtml(argument.text) : argument.text;
}

Result ReplaceMethod(Interp& interp, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("replace", {{"", true}, {"", true}, {""}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const Str* old, StrArgument("replace", a[0]));
  MOTLEY_ASSIGN_OR_RETURN(const Str* with, StrArgument("replace", a[1]));
  int64_t most = -1;
  if (!a[2].is_missing()) {
    MOTLEY_ASSIGN_OR_RETURN(most, IntArgument("replace", a[2]));
  }
  return ReplaceIn(interp, self.str(), old->text.view(), ForMarkup(self, *with), most);
}

Result JoinMethod(Interp& interp, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("join", {{"", true}}, args, &a));
  auto items = interp.ToVector(a[0]);
  if (!items.ok()) return items.status();
  Text out;
  for (size_t i = 0; i < items->size(); ++i) {
    const Value& item = (*items)[i];
    if (item.is_undefined()) return InvalidArgumentError("join(): item " + std::to_string(i) + ": " + UndefinedMessage(item));
    if (!item.is_str()) {
      return InvalidArgumentError("sequence item " + std::to_string(i) + ": expected str instance, " + TypeName(item) + " found");
    }
    if (i > 0) out.Append(self.str().text);
    out.Append(ForMarkup(self, item.str()));
    MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(self.str().text.size() + item.str().text.size()));
  }
  return interp.NewStr(std::move(out), self.str().markup);
}

// The bytes that start and end, in characters, mean; absent where nothing can be found there.
struct Span { size_t begin, end; };
StatusOr<std::optional<Span>> SpanOf(std::string_view function, const Str& str, const Value& start, const Value& end) {
  const auto length = static_cast<int64_t>(str.length);
  int64_t bounds[2] = {0, length};
  const Value* given[2] = {&start, &end};
  for (size_t i = 0; i < 2; ++i) {
    if (given[i]->is_missing() || given[i]->is_none()) continue;
    MOTLEY_ASSIGN_OR_RETURN(bounds[i], IntArgument(function, *given[i]));
    if (bounds[i] < 0) bounds[i] = std::max<int64_t>(0, bounds[i] + length);
  }
  bounds[1] = std::min(bounds[1], length);
  if (bounds[0] > bounds[1]) return std::optional<Span>();
  const auto offset = [&](int64_t i) {
    return str.ascii ? static_cast<size_t>(i) : OffsetOf(str.text.view(), static_cast<size_t>(i));
  };
  return std::optional<Span>({offset(bounds[0]), offset(bounds[1])});
}

template <bool kAtEnd>
Result StartsOrEnds(Interp&, const Value& self, Arguments& args) {
  const char* name = kAtEnd ? "endswith" : "startswith";
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind(name, {{"", true}, {""}, {""}}, args, &a));
  std::vector<Value> choices = {a[0]};
  if (a[0].Is(Type::kTuple)) choices = a[0].items();
  MOTLEY_ASSIGN_OR_RETURN(const auto span, SpanOf(name, self.str(), a[1], a[2]));
  bool any = false;
  for (const Value& choice : choices) {
    if (!choice.is_str()) {
      return InvalidArgumentError(std::string(name) + " first arg must be str or a tuple of str, not " + TypeName(choice));
    }
    if (!span.has_value()) continue;
    const std::string_view text = self.view().substr(span->begin, span->end - span->begin);
    const std::string_view what = choice.view();
    if (what.size() > text.size()) continue;
    any = any || text.substr(kAtEnd ? text.size() - what.size() : 0, what.size()) == what;
  }
  return Value::Bool(any);
}

template <bool kFromRight, bool kMustBe>
Result FindMethodOf(Interp&, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("find", {{"", true}, {""}, {""}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const Str* what, StrArgument("find", a[0]));
  MOTLEY_ASSIGN_OR_RETURN(const auto span, SpanOf("find", self.str(), a[1], a[2]));
  if (span.has_value()) {
    const std::string_view text = self.view().substr(0, span->end);
    size_t at = kFromRight ? FindLast(text, what->text.view()) : Find(text, what->text.view(), span->begin);
    if (at != std::string_view::npos && at >= span->begin) {
      return Value::Int(static_cast<int64_t>(CountCharacters(text.substr(0, at))));
    }
  }
  if (kMustBe) return InvalidArgumentError("substring not found");
  return Value::Int(-1);
}

Result CountMethod(Interp&, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("count", {{"", true}, {""}, {""}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const Str* what, StrArgument("count", a[0]));
  MOTLEY_ASSIGN_OR_RETURN(const auto span, SpanOf("count", self.str(), a[1], a[2]));
  if (!span.has_value()) return Value::Int(0);
  const size_t count = CountOf(self.view().substr(span->begin, span->end - span->begin), what->text.view(), -1);
  return Value::Int(static_cast<int64_t>(count));
}

enum class Side { kLeft, kRight, kCenter };

template <Side kText>
Result Justified(Interp& interp, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("justify", {{"", true}, {""}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const int64_t width, IntArgument("justify", a[0]));
  Text fill(" ", true);
  if (!a[1].is_missing()) {
    MOTLEY_ASSIGN_OR_RETURN(const Str* given, StrArgument("justify", a[1]));
    if (given->length != 1) return InvalidArgumentError("The fill character must be exactly one character long");
    fill = given->text;
  }
  const auto length = static_cast<int64_t>(self.str().length);
  const int64_t total = std::max<int64_t>(0, width - length);
  const int64_t left = kText == Side::kLeft ? 0 : kText == Side::kRight ? total : total / 2 + (total & width & 1);
  return Padded(interp, self.str(), fill, left, total - left);
}

Result ZFill(Interp& interp, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("zfill", {{"", true}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const int64_t width, IntArgument("zfill", a[0]));
  const Text& text = self.str().text;
  const int64_t zeros = std::max<int64_t>(0, width - static_cast<int64_t>(self.str().length));
  const size_t sign = !text.empty() && (text.bytes()[0] == '+' || text.bytes()[0] == '-') ? 1 : 0;
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(static_cast<uint64_t>(zeros)));
  Text out = text.Part(0, sign);
  out.Append(std::string(static_cast<size_t>(zeros), '0'), true);
  out.Append(text, sign, text.size());
  return interp.NewStr(std::move(out), self.str().markup);
}

template <bool kAtEnd>
Result WithoutAffix(Interp& interp, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("removeprefix", {{"", true}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const Str* affix, StrArgument("removeprefix", a[0]));
  const Text& text = self.str().text;
  const std::string_view what = affix->text.view();
  if (what.size() > text.size()) return self;
  const size_t rest = text.size() - what.size();
  if (text.view().substr(kAtEnd ? rest : 0, what.size()) != what) return self;
  return interp.NewStr(kAtEnd ? text.Part(0, rest) : text.Part(what.size(), text.size()), self.str().markup);
}

Result ExpandTabsMethod(Interp& interp, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("expandtabs", {{"tabsize"}}, args, &a));
  int64_t width = 8;
  if (!a[0].is_missing()) {
    MOTLEY_ASSIGN_OR_RETURN(width, IntArgument("expandtabs", a[0]));
  }
  uint64_t bytes = 0;
  const uint64_t tabs = CountOf(self.view(), "\t", -1);
  if (__builtin_mul_overflow(tabs, static_cast<uint64_t>(std::max<int64_t>(width, 0)), &bytes)) bytes = UINT64_MAX;
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(bytes));
  return interp.NewStr(ExpandTabs(self.str().text, width), self.str().markup);
}

// Whether there are characters, and all are so.
template <bool (*kIs)(uint32_t), bool kIfEmpty = false>
Result AllAre(Interp&, const Value& self, Arguments& args) {
  MOTLEY_RETURN_IF_ERROR(NoArguments("str method", args).status());
  const std::string_view text = self.view();
  if (text.empty()) return Value::Bool(kIfEmpty);
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeOne(text.substr(at));
    if (!kIs(point.code)) return Value::Bool(false);
    at += point.size;
  }
  return Value::Bool(true);
}

bool IsAsciiCode(uint32_t code) { return code < 0x80; }

template <bool (*kHas)(std::string_view)>
Result Holds(Interp&, const Value& self, Arguments& args) {
  MOTLEY_RETURN_IF_ERROR(NoArguments("str method", args).status());
  return Value::Bool(kHas(self.view()));
}

bool IsTitleText(std::string_view text) {
  bool cased = false, in_word = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeOne(text.substr(at));
    at += point.size;
    const bool upper = IsUpper(point.code) || IsTitle(point.code), lower = IsLower(point.code);
    if ((upper && in_word) || (lower && !in_word)) return false;
    in_word = upper || lower;
    cased = cased || in_word;
  }
  return cased;
}

bool IsIdentifier(std::string_view text) {
  if (text.empty() || !IsIdentifierStart(DecodeOne(text).code)) return false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeOne(text.substr(at));
    if (!IsIdentifierPart(point.code)) return false;
    at += point.size;
  }
  return true;
}

Result FormatMethod(Interp& interp, const Value& self, Arguments& args) { return FormatBraces(interp, self.str(), args); }

Result FormatMapMethod(Interp& interp, const Value& self, Arguments& args) {
  if (args.positional.size() != 1 || !args.named.empty() || !args.positional[0].is_dict()) {
    return InvalidArgumentError("format_map() takes one dict");
  }
  Arguments named;
  for (const auto& [key, value] : args.positional[0].dict().entries) {
    if (key.is_str()) named.named.emplace_back(std::string(key.view()), value);
  }
  return FormatBraces(interp, self.str(), named);
}

constexpr MethodRow kRows[] = {
    {"capitalize", Mapped<Capitalize>},
    {"casefold", nullptr},
    {"center", Justified<Side::kCenter>},
    {"count", CountMethod},
    {"encode", nullptr},
    {"endswith", StartsOrEnds<true>},
    {"expandtabs", ExpandTabsMethod},
    {"find", FindMethodOf<false, false>},
    {"format", FormatMethod},
    {"format_map", FormatMapMethod},
    {"index", FindMethodOf<false, true>},
    {"isalnum", AllAre<IsAlnum>},
    {"isalpha", AllAre<IsAlpha>},
    {"isascii", AllAre<IsAsciiCode, true>},
    {"isdecimal", AllAre<IsDecimal>},
    {"isdigit", AllAre<IsDigit>},
    {"isidentifier", Holds<IsIdentifier>},
    {"islower", Holds<IsLowerText>},
    {"isnumeric", AllAre<IsNumeric>},
    {"isprintable", AllAre<IsPrintable, true>},
    {"isspace", AllAre<IsSpace>},
    {"istitle", Holds<IsTitleText>},
    {"isupper", Holds<IsUpperText>},
    {"join", JoinMethod},
    {"ljust", Justified<Side::kLeft>},
    {"lower", Mapped<Lower>},
    {"lstrip", Stripped<true, false>},
    {"maketrans", nullptr},
    {"partition", Partition<false>},
    {"removeprefix", WithoutAffix<false>},
    {"removesuffix", WithoutAffix<true>},
    {"replace", ReplaceMethod},
    {"rfind", FindMethodOf<true, false>},
    {"rindex", FindMethodOf<true, true>},
    {"rjust", Justified<Side::kRight>},
    {"rpartition", Partition<true>},
    {"rsplit", SplitMethod<true>},
    {"rstrip", Stripped<false, true>},
    {"split", SplitMethod<false>},
    {"splitlines", SplitLinesMethod},
    {"startswith", StartsOrEnds<false>},
    {"strip", Stripped<true, true>},
    {"swapcase", Mapped<SwapCase>},
    {"title", Mapped<TitleCase>},
    {"translate", nullptr},
    {"upper", Mapped<Upper>},
    {"zfill", ZFill},
};

}  // namespace

const MethodRow* FindStrMethod(std::string_view name) {
  const auto row = std::lower_bound(std::begin(kRows), std::end(kRows), name,
                                    [](const MethodRow& r, std::string_view n) { return r.name < n; });
  return row != std::end(kRows) && row->name == name ? row : nullptr;
}

bool IsLowerText(std::string_view text) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeOne(text.substr(at));
    at += point.size;
    if (IsUpper(point.code) || IsTitle(point.code)) return false;
    any = any || IsLower(point.code);
  }
  return any;
}

bool IsUpperText(std::string_view text) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeOne(text.substr(at));
    at += point.size;
    if (IsLower(point.code) || IsTitle(point.code)) return false;
    any = any || IsUpper(point.code);
  }
  return any;
}

Result ReplaceIn(Interp& interp, const Str& str, std::string_view old, const Text& with, int64_t most) {
  uint64_t bytes = 0;
  const uint64_t count = CountOf(str.text.view(), old, most);
  if (__builtin_mul_overflow(count, static_cast<uint64_t>(with.size()), &bytes)) bytes = UINT64_MAX;
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(bytes));
  return interp.NewStr(Replace(str.text, old, with, most), str.markup);
}

Result Padded(Interp& interp, const Str& str, const Text& fill, int64_t left, int64_t right) {
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes((static_cast<uint64_t>(left) + static_cast<uint64_t>(right)) * fill.size()));
  Text out;
  for (int64_t i = 0; i < left; ++i) out.Append(fill);
  out.Append(str.text);
  for (int64_t i = 0; i < right; ++i) out.Append(fill);
  return interp.NewStr(std::move(out), str.markup);
}

}  // namespace motley::jinja
