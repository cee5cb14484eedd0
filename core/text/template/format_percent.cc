// '%s' % values
#include <algorithm>
#include <cmath>

#include "core/text/template/format.h"
#include "core/text/template/format_spec.h"
#include "core/text/template/interp.h"
#include "core/text/template/methods.h"
#include "core/text/template/numbers.h"
#include "core/text/template/operators.h"
#include "core/text/template/repr.h"
#include "core/text/template/text_ops.h"
#include "core/text/template/unicode.h"

namespace motley::jinja {
namespace {

class PercentFormatter {
 public:
  PercentFormatter(Interp& interp, const Str& format, const Value& values)
      : interp_(interp), format_(format), values_(values), is_tuple_(values.Is(Type::kTuple)) {}

  Result Run() {
    const Text& text = format_.text;
    Text out;
    size_t copied = 0;
    for (size_t at = 0; (at = text.bytes().find('%', at)) != std::string::npos;) {
      out.Append(text, copied, at);
      const bool trusted = text.TrustedAt(at);
      if (at + 1 < text.size() && text.bytes()[at + 1] == '%') {
        out.Append("%", trusted);
        at += 2;
      } else {
        MOTLEY_ASSIGN_OR_RETURN(const Value part, Field(&at));
        out.Append(format_.markup && !part.str().markup ? EscapeHtml(part.str().text) : part.str().text);
        MOTLEY_RETURN_IF_ERROR(interp_.budget().Bytes(part.str().text.size()));
      }
      copied = at;
    }
    out.Append(text, copied, text.size());
    const bool all_used = is_tuple_ ? next_ == values_.items().size() : used_ || values_.is_dict() || IsListLike();
    if (!all_used) return InvalidArgumentError("not all arguments converted during string formatting");
    return interp_.NewStr(std::move(out), format_.markup);
  }

 private:
  // A mapping, in Python's eyes, is what can be subscripted and is no str or tuple: it need not be used up.
  bool IsListLike() const { return values_.is_list() || values_.Is(Type::kRange); }

  Result NextValue() {
    if (is_tuple_) {
      if (next_ >= values_.items().size()) return InvalidArgumentError("not enough arguments for format string");
      return values_.items()[next_++];
    }
    if (used_) return InvalidArgumentError("not enough arguments for format string");
    used_ = true;
    return values_;
  }

  Result KeyedValue(size_t* at) {
    const std::string& text = format_.text.bytes();
    int depth = 1;
    const size_t begin = ++*at;
    for (; *at < text.size() && depth > 0; ++*at) depth += text[*at] == '(' ? 1 : text[*at] == ')' ? -1 : 0;
    if (depth > 0) return InvalidArgumentError("incomplete format key");
    if (!values_.is_dict()) return InvalidArgumentError("format requires a mapping");
    const std::string key = text.substr(begin, *at - 1 - begin);
    const Value* found = values_.dict().Find(std::string_view(key));
    if (found == nullptr) return InvalidArgumentError("'" + key + "'");
    used_ = true;
    return *found;
  }

  StatusOr<int64_t> StarOrNumber(size_t* at) {
    const std::string& text = format_.text.bytes();
    if (*at < text.size() && text[*at] == '*') {
      ++*at;
      MOTLEY_ASSIGN_OR_RETURN(const Value value, NextValue());
      if (!value.is_int()) return InvalidArgumentError("* wants int");
      return value.integer();
    }
    return ReadNumber(text, at);
  }

  Result Field(size_t* at) {
    const std::string& text = format_.text.bytes();
    ++*at;
    Value value;
    if (*at < text.size() && text[*at] == '(') {
      MOTLEY_ASSIGN_OR_RETURN(value, KeyedValue(at));
    }
    Spec spec;
    bool left = false, zero = false;
    for (; *at < text.size(); ++*at) {
      const char c = text[*at];
      if (c == '-') left = true;
      else if (c == '0') zero = true;
      else if (c == '+') spec.sign = '+';
      else if (c == ' ') spec.sign = spec.sign == '+' ? '+' : ' ';
      else if (c == '#') spec.alternate = true;
      else break;
    }
    MOTLEY_ASSIGN_OR_RETURN(spec.width, StarOrNumber(at));
    if (spec.width < 0) {
      left = true;
      spec.width = -spec.width;
    }
    if (*at < text.size() && text[*at] == '.') {
      ++*at;
      MOTLEY_ASSIGN_OR_RETURN(spec.precision, StarOrNumber(at));
      spec.precision = std::max<int64_t>(spec.precision, 0);
    }
    while (*at < text.size() && (text[*at] == 'h' || text[*at] == 'l' || text[*at] == 'L')) ++*at;
    if (*at >= text.size()) return InvalidArgumentError("incomplete format");
    if (spec.width > kMaxWidth || spec.precision > kMaxWidth) return InvalidArgumentError("width or precision too big");
    spec.type = text[(*at)++];
    spec.align = left ? '<' : '>';
    if (value.is_missing()) {
      MOTLEY_ASSIGN_OR_RETURN(value, NextValue());
    }
    return Write(value, spec, zero && !left);
  }

  Result Write(const Value& value, Spec spec, bool zero) {
    if (std::string_view("sra").find(spec.type) != std::string_view::npos) {
      Text text;
      MOTLEY_RETURN_IF_ERROR(spec.type == 's' ? AppendStr(interp_.budget(), value, &text)
                                              : AppendRepr(interp_.budget(), value, &text));
      const bool markup = value.is_str() && value.str().markup && spec.type == 's';
      return FinishText(interp_, Value::String(std::move(text), markup), spec);
    }
    if (spec.type == 'c') return Character(value, spec);
    if (zero) {
      spec.fill = "0";
      spec.align = '=';
    }
    if (std::string_view("diuxXo").find(spec.type) != std::string_view::npos) return Integer(value, spec);
    if (std::string_view("eEfFgG").find(spec.type) == std::string_view::npos) {
      return InvalidArgumentError(std::string("unsupported format character '") + spec.type + "'");
    }
    if (!value.is_number()) {
      if (value.is_undefined()) return interp_.UndefinedError(value);
      return InvalidArgumentError(std::string("must be real number, not ") + TypeName(value));
    }
    const double real = ToDouble(value);
    return FinishNumber(interp_, Signed(std::signbit(real) && !std::isnan(real), spec), FloatDigits(real, spec, spec.type),
                        spec, value.trusted());
  }

  Result Character(const Value& value, const Spec& spec) {
    if (value.is_str() && value.str().length == 1) return FinishText(interp_, value, spec);
    if (!value.is_int()) return InvalidArgumentError("%c requires int or char");
    const int64_t code = value.integer();
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      return InvalidArgumentError("%c arg not in range(0x110000)");
    }
    std::string text;
    AppendUtf8(static_cast<uint32_t>(code), &text);
    return FinishText(interp_, Value::String(text, value.trusted()), spec);
  }

  Result Integer(const Value& given, const Spec& spec) {
    const char type = spec.type == 'i' || spec.type == 'u' ? 'd' : spec.type;
    Value value = given;
    if (given.Is(Type::kFloat) && type == 'd') {
      if (!std::isfinite(given.real())) return InvalidArgumentError("cannot convert float infinity or NaN to integer");
      value = IntOfDigits(FloatFixed(std::trunc(given.real()), 0), given.trusted());
    }
    if (!value.is_int() && !value.Is(Type::kBigInt)) {
      if (value.is_undefined()) return interp_.UndefinedError(value);
      return InvalidArgumentError(std::string("%") + spec.type + " format: " +
                                  (type == 'd' ? "a real number" : "an integer") + " is required, not " + TypeName(value));
    }
    bool negative = false;
    MOTLEY_ASSIGN_OR_RETURN(std::string digits, IntDigits(value, type, &negative));
    if (spec.precision > static_cast<int64_t>(digits.size())) {
      MOTLEY_RETURN_IF_ERROR(interp_.budget().Bytes(static_cast<uint64_t>(spec.precision)));
      digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
    }
    std::string lead = Signed(negative, spec);
    if (spec.alternate && type != 'd') lead += std::string("0") + type;
    return FinishNumber(interp_, lead, std::move(digits), spec, value.trusted());
  }

  Interp& interp_;
  const Str& format_;
  const Value& values_;
  bool is_tuple_;
  bool used_ = false;
  size_t next_ = 0;
};

}  // namespace

Result FormatPercent(Interp& interp, const Value& format, const Value& values) {
  return PercentFormatter(interp, format.str(), values).Run();
}

}  // namespace motley::jinja
