// Filters of strings and numbers.
#include <algorithm>
#include <cmath>

#include "core/text/template/filters.h"
#include "core/text/template/format.h"
#include "core/text/template/methods.h"
#include "core/text/template/numbers.h"
#include "core/text/template/operators.h"
#include "core/text/template/repr.h"
#include "core/text/template/text_ops.h"
#include "core/text/template/unicode.h"

namespace motley::jinja {
namespace {

// A string as it is, Markup or not; anything else by str().
Result SoftStr(Interp& interp, const Value& value) { return value.is_str() ? Result(value) : interp.ToStr(value); }

template <Text (*kMap)(const Text&)>
Result Mapped(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("filter", {}, args, &none));
  MOTLEY_ASSIGN_OR_RETURN(const Value text, SoftStr(interp, subject));
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(text.str().text.size()));
  return interp.NewStr(kMap(text.str().text), text.str().markup);
}

// |title: words begin behind space, hyphens and opening brackets.
Text TitleWords(const Text& text) {
  Text out;
  Text::Cursor trust(text);
  std::string mapped;
  bool begins = true;
  size_t rest = 0;  // where the part of the word that becomes lower begins: a sigma looks no further back
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeOne(text.view().substr(at));
    mapped.clear();
    if (point.code == kInvalidCode) {
      mapped = text.bytes()[at];
    } else if (begins) {
      AppendUpper(point.code, &mapped);
      rest = at + point.size;
    } else {
      AppendLower(text.view().substr(rest), at - rest, point, &mapped);
    }
    begins = IsSpace(point.code) || (point.code < 0x80 && std::string_view("-({[<").find(static_cast<char>(point.code)) !=
                                                              std::string_view::npos);
    out.Append(mapped, trust.TrustedAt(at));
    at += point.size;
  }
  return out;
}

Result TrimFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("trim", {{"chars"}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const Value text, SoftStr(interp, subject));
  std::optional<std::string_view> chars;
  if (!a[0].is_missing() && !a[0].is_none()) {
    MOTLEY_ASSIGN_OR_RETURN(const Str* given, StrArgument("trim", a[0]));
    chars = given->text.view();
    MOTLEY_RETURN_IF_ERROR(interp.budget().Step(text.str().text.size() * given->length / 1024));
  }
  return interp.NewStr(Strip(text.str().text, chars, true, true), text.str().markup);
}

Result ReplaceFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("replace", {{"old", true}, {"new", true}, {"count"}}, args, &a));
  int64_t most = -1;
  if (!a[2].is_missing() && !a[2].is_none()) {
    MOTLEY_ASSIGN_OR_RETURN(most, IntArgument("replace", a[2]));
  }
  MOTLEY_ASSIGN_OR_RETURN(const Value text, interp.ToStr(subject));
  MOTLEY_ASSIGN_OR_RETURN(const Value old, interp.ToStr(a[0]));
  MOTLEY_ASSIGN_OR_RETURN(const Value with, interp.ToStr(a[1]));
  return ReplaceIn(interp, text.str(), old.view(), with.str().text, most);
}

Result StringFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("string", {}, args, &none));
  return SoftStr(interp, subject);
}

Result SafeFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("safe", {}, args, &none));
  MOTLEY_ASSIGN_OR_RETURN(const Value text, interp.ToStr(subject));
  return interp.NewStr(text.str().text, true);
}

template <bool kForce>
Result EscapeFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("escape", {}, args, &none));
  if (!kForce && subject.is_str() && subject.str().markup) return subject;
  MOTLEY_ASSIGN_OR_RETURN(const Value text, interp.ToStr(subject));
  return interp.NewStr(EscapeHtml(text.str().text), true);
}

Result IndentFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("indent", {{"width"}, {"first"}, {"blank"}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const Str* str, StrArgument("indent", subject));
  Text indention("    ", true);
  if (a[0].is_str()) {
    indention = a[0].str().text;
  } else if (!a[0].is_missing()) {
    MOTLEY_ASSIGN_OR_RETURN(const int64_t width, IntArgument("indent", a[0]));
    MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(width > 0 ? static_cast<uint64_t>(width) : 0));
    indention = Text(std::string(width > 0 ? static_cast<size_t>(width) : 0, ' '), true);
  }
  Text text = str->text;
  text.Append("\n", true);  // so that a last empty line is one
  const std::vector<Text> lines = SplitLines(text, false);
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(lines.size() * (indention.size() + sizeof(Text)) + text.size()));
  Text out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.Append("\n", true);
    const bool indented = i == 0 ? Truth(a[1]) : Truth(a[2]) || !lines[i].empty();
    if (indented) out.Append(indention);
    out.Append(lines[i]);
  }
  return interp.NewStr(std::move(out), str->markup);
}

Result TruncateFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("truncate", {{"length"}, {"killwords"}, {"end"}, {"leeway"}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const Str* str, StrArgument("truncate", subject));
  int64_t length = 255, leeway = 5;
  if (!a[0].is_missing()) {
    MOTLEY_ASSIGN_OR_RETURN(length, IntArgument("truncate", a[0]));
  }
  if (!a[3].is_missing() && !a[3].is_none()) {
    MOTLEY_ASSIGN_OR_RETURN(leeway, IntArgument("truncate", a[3]));
  }
  Text end("...", true);
  if (!a[2].is_missing()) {
    MOTLEY_ASSIGN_OR_RETURN(const Str* given, StrArgument("truncate", a[2]));
    end = given->text;
  }
  const auto end_length = static_cast<int64_t>(CountCharacters(end.view()));
  if (length < end_length) return InvalidArgumentError("expected length >= " + std::to_string(end_length) + ", got " + std::to_string(length));
  if (leeway < 0) return InvalidArgumentError("expected leeway >= 0, got " + std::to_string(leeway));
  if (static_cast<int64_t>(str->length) - leeway <= length) return subject;
  Text out = str->text.Part(0, OffsetOf(str->text.view(), static_cast<size_t>(length - end_length)));
  if (!Truth(a[1])) {
    const size_t space = out.view().rfind(' ');
    if (space != std::string_view::npos) out = out.Part(0, space);
  }
  out.Append(end);
  return interp.NewStr(std::move(out), str->markup);
}

Result CenterFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("center", {{"width"}}, args, &a));
  int64_t width = 80;
  if (!a[0].is_missing()) {
    MOTLEY_ASSIGN_OR_RETURN(width, IntArgument("center", a[0]));
  }
  MOTLEY_ASSIGN_OR_RETURN(const Value text, SoftStr(interp, subject));
  const int64_t total = std::max<int64_t>(0, width - static_cast<int64_t>(text.str().length));
  const int64_t left = total / 2 + (total & width & 1);
  return Padded(interp, text.str(), Text(" ", true), left, total - left);
}

Result WordCountFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("wordcount", {}, args, &none));
  MOTLEY_ASSIGN_OR_RETURN(const Value text, SoftStr(interp, subject));
  int64_t count = 0;
  bool in_word = false;
  for (size_t at = 0; at < text.view().size();) {
    const CodePoint point = DecodeOne(text.view().substr(at));
    const bool word = IsAlnum(point.code) || point.code == '_';
    count += word && !in_word;
    in_word = word;
    at += point.size;
  }
  return Value::Int(count);
}

Result FormatFilter(Interp& interp, const Value& subject, Arguments& args) {
  if (!args.positional.empty() && !args.named.empty()) {
    return InvalidArgumentError("can't handle positional and keyword arguments at the same time");
  }
  MOTLEY_ASSIGN_OR_RETURN(const Value text, SoftStr(interp, subject));
  if (args.named.empty()) return FormatPercent(interp, text, NewTuple(std::move(args.positional)));
  auto* dict = new Dict;
  const Value named = Value::Of(Type::kDict, dict);
  for (auto& [name, value] : args.named) dict->Set(Value::String(name, true), std::move(value));
  return FormatPercent(interp, text, named);
}

Result ToJsonFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("tojson", {{"ensure_ascii"}, {"indent"}, {"separators"}, {"sort_keys"}}, args, &a));
  JsonStyle style;
  style.ensure_ascii = Truth(a[0]);
  style.sort_keys = Truth(a[3]);
  if (a[1].is_str()) {
    style.indent = std::string(a[1].view());
  } else if (!a[1].is_missing() && !a[1].is_none()) {
    MOTLEY_ASSIGN_OR_RETURN(const int64_t width, IntArgument("tojson", a[1]));
    MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(width > 0 ? static_cast<uint64_t>(width) : 0));
    style.indent = std::string(width > 0 ? static_cast<size_t>(width) : 0, ' ');
  }
  if (style.indent.has_value()) style.item_separator = Text(",", false);
  if (!a[2].is_missing() && !a[2].is_none()) {
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<Value> parts, interp.ToVector(a[2]));
    if (parts.size() != 2) return InvalidArgumentError("tojson(): separators are two strings");
    MOTLEY_ASSIGN_OR_RETURN(const Str* item, StrArgument("tojson", parts[0]));
    MOTLEY_ASSIGN_OR_RETURN(const Str* key, StrArgument("tojson", parts[1]));
    style.item_separator = item->text;
    style.key_separator = key->text;
  }
  Text text;
  MOTLEY_RETURN_IF_ERROR(AppendJson(interp.budget(), subject, style, &text));
  return interp.NewStr(std::move(text));
}

// --- numbers ---

Result AbsFilter(Interp&, const Value& subject, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("abs", {}, args, &none));
  if (subject.is_undefined()) return InvalidArgumentError(UndefinedMessage(subject));
  if (!subject.is_number()) return InvalidArgumentError(std::string("bad operand type for abs(): '") + TypeName(subject) + "'");
  if (subject.Is(Type::kFloat)) return Value::Float(std::abs(subject.real()), subject.trusted());
  const bool negative = subject.Is(Type::kBigInt) ? subject.As<BigInt>().digits[0] == '-' : subject.integer() < 0;
  return negative ? Negate(subject) : Positive(subject);
}

Result IntFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("int", {{"default"}, {"base"}}, args, &a));
  const Value otherwise = a[0].is_missing() ? Value::Int(0) : a[0];
  int64_t base = 10;
  if (!a[1].is_missing()) {
    MOTLEY_ASSIGN_OR_RETURN(base, IntArgument("int", a[1]));
  }
  if (subject.is_undefined()) return interp.UndefinedError(subject);
  if (subject.is_int() || subject.Is(Type::kBigInt)) return Positive(subject);
  std::optional<double> real;
  bool trusted = true;
  if (subject.Is(Type::kFloat)) {
    real = subject.real();
    trusted = subject.trusted();
    if (std::isinf(*real)) return InvalidArgumentError("cannot convert float infinity to integer");
  } else if (subject.is_str()) {
    trusted = subject.str().text.all_trusted();
    const auto whole = ParseInt(subject.view(), static_cast<int>(std::clamp<int64_t>(base, -1, 99)), trusted);
    if (whole.has_value()) return *whole;
    real = ParseFloat(subject.view());
  }
  if (!real.has_value() || !std::isfinite(*real)) return otherwise;
  return IntOfDigits(FloatFixed(std::trunc(*real), 0), trusted);
}

Result FloatFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("float", {{"default"}}, args, &a));
  if (subject.is_undefined()) return interp.UndefinedError(subject);
  if (subject.is_number()) return Value::Float(ToDouble(subject), subject.trusted());
  if (subject.is_str()) {
    if (const auto value = ParseFloat(subject.view())) return Value::Float(*value, subject.str().text.all_trusted());
  }
  return a[0].is_missing() ? Value::Float(0) : a[0];
}

// round(int, digits): to tens and so on, halves to even.
Result RoundInt(int64_t value, int64_t digits, bool trusted) {
  if (digits >= 0) return Value::Int(value, trusted);
  if (digits < -18) return Value::Int(0, trusted);
  int64_t unit = 1;
  for (int64_t i = digits; i < 0; ++i) unit *= 10;
  int64_t down = value / unit, rest = value % unit;
  if (rest < 0) {
    rest += unit;
    --down;
  }
  if (rest > unit - rest || (rest == unit - rest && down % 2 != 0)) ++down;
  int64_t result = 0;
  if (__builtin_mul_overflow(down, unit, &result)) return InvalidArgumentError("round(): the number is too large");
  return Value::Int(result, trusted);
}

Result RoundFilter(Interp& interp, const Value& subject, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("round", {{"precision"}, {"method"}}, args, &a));
  int64_t digits = 0;
  if (!a[0].is_missing()) {
    MOTLEY_ASSIGN_OR_RETURN(digits, IntArgument("round", a[0]));
  }
  std::string_view method = "common";
  if (!a[1].is_missing()) {
    MOTLEY_ASSIGN_OR_RETURN(const Str* given, StrArgument("round", a[1]));
    method = given->text.view();
  }
  if (method != "common" && method != "ceil" && method != "floor") {
    return InvalidArgumentError("method must be common, ceil or floor");
  }
  if (subject.is_undefined()) return interp.UndefinedError(subject);
  if (!subject.is_number()) {
    return InvalidArgumentError(std::string("type ") + TypeName(subject) + " doesn't define __round__ method");
  }
  if (method == "common") {
    if (subject.Is(Type::kFloat)) return Value::Float(RoundTo(subject.real(), digits), subject.trusted());
    if (subject.Is(Type::kBigInt)) return subject;
    return RoundInt(subject.integer(), digits, subject.trusted());
  }
  if (digits < -300 || digits > 300) return InvalidArgumentError("round(): precision out of range");
  const double unit = std::pow(10.0, static_cast<double>(digits)), scaled = ToDouble(subject) * unit;
  if (!std::isfinite(scaled)) return InvalidArgumentError("cannot convert float to integer");
  return Value::Float((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit, subject.trusted());
}

constexpr Filter kRows[] = {
    {"abs", AbsFilter},
    {"capitalize", Mapped<Capitalize>},
    {"center", CenterFilter},
    {"e", EscapeFilter<false>},
    {"escape", EscapeFilter<false>},
    {"filesizeformat", nullptr},
    {"float", FloatFilter},
    {"forceescape", EscapeFilter<true>},
    {"format", FormatFilter},
    {"indent", IndentFilter},
    {"int", IntFilter},
    {"lower", Mapped<Lower>},
    {"pprint", nullptr},
    {"replace", ReplaceFilter},
    {"round", RoundFilter},
    {"safe", SafeFilter},
    {"string", StringFilter},
    {"striptags", nullptr},
    {"title", Mapped<TitleWords>},
    {"tojson", ToJsonFilter},
    {"trim", TrimFilter},
    {"truncate", TruncateFilter},
    {"upper", Mapped<Upper>},
    {"urlencode", nullptr},
    {"urlize", nullptr},
    {"wordcount", WordCountFilter},
    {"wordwrap", nullptr},
    {"xmlattr", nullptr},
};

}  // namespace

FilterRows TextFilters() { return {kRows, std::size(kRows)}; }

}  // namespace motley::jinja
