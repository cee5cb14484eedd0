// '{}'.format(values)
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

StatusOr<Spec> ParseSpec(std::string_view text) {
  Spec spec;
  size_t at = 0;
  const auto is_align = [&](size_t i) { return i < text.size() && std::string_view("<>^=").find(text[i]) != std::string_view::npos; };
  if (!text.empty()) {
    const size_t first = DecodeOne(text).size;
    if (is_align(first)) {
      spec.fill = std::string(text.substr(0, first));
      spec.align = text[first];
      at = first + 1;
    } else if (is_align(0)) {
      spec.align = text[at++];
    }
  }
  const auto take = [&](std::string_view any) {
    return at < text.size() && any.find(text[at]) != std::string_view::npos ? text[at++] : '\0';
  };
  if (const char sign = take("+- "); sign != '\0') spec.sign = sign;
  spec.alternate = take("#") != '\0';
  if (take("0") != '\0') {
    if (spec.align == '\0') {
      spec.fill = "0";
      spec.align = '=';
    }
  }
  spec.width = ReadNumber(text, &at);
  spec.grouping = take(",_");
  if (take(".") != '\0') {
    const size_t begin = at;
    spec.precision = ReadNumber(text, &at);
    if (at == begin) return InvalidArgumentError("Format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at < text.size() || static_cast<unsigned char>(spec.type) >= 0x80) {
    return InvalidArgumentError("Invalid format specifier '" + std::string(text) + "'");
  }
  if (spec.width > kMaxWidth || spec.precision > kMaxWidth) return InvalidArgumentError("width or precision too big");
  return spec;
}

Status UnknownCode(const Spec& spec, const Value& value) {
  return InvalidArgumentError(std::string("Unknown format code '") + spec.type + "' for object of type '" +
                              TypeName(value) + "'");
}

Result FormatInt(Interp& interp, const Value& value, Spec spec) {
  const char type = spec.type == '\0' || spec.type == 'n' ? 'd' : spec.type;
  if (type == 'c') {
    std::string text;
    const int64_t code = value.is_int() ? value.integer() : -1;
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return InvalidArgumentError("%c arg not in range(0x110000)");
    AppendUtf8(static_cast<uint32_t>(code), &text);
    return FinishText(interp, Value::String(text, value.trusted()), spec);
  }
  if (spec.precision >= 0) return InvalidArgumentError("Precision not allowed in integer format specifier");
  bool negative = false;
  MOTLEY_ASSIGN_OR_RETURN(std::string digits, IntDigits(value, type, &negative));
  if (spec.grouping == ',' && type != 'd') return InvalidArgumentError(std::string("Cannot specify ',' with '") + type + "'.");
  if (spec.grouping != '\0') digits = Grouped(digits, spec.grouping, type == 'd' ? 3 : 4);
  std::string lead = Signed(negative, spec);
  if (spec.alternate && type != 'd') lead += std::string("0") + type;
  return FinishNumber(interp, lead, std::move(digits), spec, value.trusted());
}

Result FormatFloat(Interp& interp, const Value& value, const Spec& spec) {
  const double real = ToDouble(value);
  std::string digits;
  if (spec.type == '\0') {
    if (spec.precision < 0) {
      digits = FloatRepr(std::abs(real));
    } else {  // as g, but with a digit behind the point, and sooner with an exponent
      const int64_t precision = std::max<int64_t>(spec.precision, 1);
      digits = CFormat('g', false, precision, std::abs(real));
      const size_t e = digits.find('e');
      if (std::isfinite(real) && e == std::string::npos && digits.find('.') == std::string::npos) {
        if (static_cast<int64_t>(digits.size()) >= precision && real != 0) {
          digits = CFormat('e', false, precision - 1, std::abs(real));
          std::string mantissa = digits.substr(0, digits.find('e'));
          if (mantissa.find('.') != std::string::npos) {
            while (mantissa.back() == '0') mantissa.pop_back();
            if (mantissa.back() == '.') mantissa.pop_back();
          }
          digits = mantissa + digits.substr(digits.find('e'));
        } else {
          digits += ".0";
        }
      }
    }
  } else {
    digits = FloatDigits(real, spec, spec.type == 'n' ? 'g' : spec.type);
  }
  if (spec.grouping != '\0') {
    const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
    digits = Grouped(digits.substr(0, end), spec.grouping, 3) + digits.substr(end);
  }
  return FinishNumber(interp, Signed(std::signbit(real) && !std::isnan(real), spec), digits, spec, value.trusted());
}

Result FormatValue(Interp& interp, const Value& value, std::string_view text) {
  if (text.empty()) return interp.ToStr(value);
  MOTLEY_ASSIGN_OR_RETURN(Spec spec, ParseSpec(text));
  if (value.is_str()) {
    if (spec.type != '\0' && spec.type != 's') return UnknownCode(spec, value);
    if (spec.align == '=' && spec.fill != "0") return InvalidArgumentError("'=' alignment not allowed in string format specifier");
    if (spec.align == '=') spec.align = '<';
    if (spec.sign != '-' || spec.alternate || spec.grouping != '\0') {
      return InvalidArgumentError("Sign not allowed in string format specifier");
    }
    return FinishText(interp, value, spec);
  }
  if (value.is_number()) {
    const bool as_float = std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos && spec.type != '\0';
    const bool as_int = std::string_view("dbcoxXn").find(spec.type) != std::string_view::npos || spec.type == '\0';
    if (!as_float && !as_int) return UnknownCode(spec, value);
    if (value.Is(Type::kBool) && spec.type == '\0') return FinishText(interp, Value::String(NumberRepr(value), value.trusted()), spec);
    if (value.Is(Type::kFloat) && !as_float && spec.type != '\0' && spec.type != 'n') return UnknownCode(spec, value);
    return as_float || value.Is(Type::kFloat) ? FormatFloat(interp, value, spec) : FormatInt(interp, value, spec);
  }
  return InvalidArgumentError(std::string("unsupported format string passed to ") + TypeName(value) + ".__format__");
}

class BraceFormatter {
 public:
  BraceFormatter(Interp& interp, const Str& format, const Arguments& args) : interp_(interp), format_(format), args_(args) {}

  StatusOr<Text> Run(size_t begin, size_t end, int depth) {
    if (depth < 0) return InvalidArgumentError("Max string recursion exceeded");
    const Text& text = format_.text;
    Text out;
    for (size_t at = begin; at < end;) {
      const char c = text.bytes()[at];
      if (c != '{' && c != '}') {
        size_t next = at;
        while (next < end && text.bytes()[next] != '{' && text.bytes()[next] != '}') ++next;
        out.Append(text, at, next);
        at = next;
      } else if (at + 1 < end && text.bytes()[at + 1] == c) {
        out.Append(text, at, at + 1);
        at += 2;
      } else if (c == '}') {
        return InvalidArgumentError("Single '}' encountered in format string");
      } else {
        MOTLEY_ASSIGN_OR_RETURN(const Value value, Field(&at, end, depth));
        out.Append(format_.markup && !value.str().markup ? EscapeHtml(value.str().text) : value.str().text);
        MOTLEY_RETURN_IF_ERROR(interp_.budget().Bytes(value.str().text.size()));
      }
    }
    return out;
  }

 private:
  // A field whose { stands at *at; afterwards *at is behind its }.
  Result Field(size_t* at, size_t end, int depth) {
    const std::string& text = format_.text.bytes();
    const size_t begin = *at + 1;
    size_t close = begin, colon = std::string::npos, bang = std::string::npos;
    int braces = 1;
    for (bool bracket = false; close < end; ++close) {
      const char c = text[close];
      if (c == '{') ++braces;
      if (c == '}' && --braces == 0) break;
      if (colon == std::string::npos && braces == 1) {
        if (c == '[') bracket = true;
        if (c == ']') bracket = false;
        if (c == ':' && !bracket) colon = close;
        if (c == '!' && !bracket && bang == std::string::npos) bang = close;
      }
    }
    if (close >= end) return InvalidArgumentError(begin >= end ? "Single '{' encountered in format string" : "expected '}' before end of string");
    *at = close + 1;
    const size_t name_end = std::min({bang, colon, close});
    MOTLEY_ASSIGN_OR_RETURN(Value value, Lookup(std::string_view(text).substr(begin, name_end - begin)));
    if (bang != std::string::npos && bang < std::min(colon, close)) {
      const std::string_view conversion = std::string_view(text).substr(bang + 1, std::min(colon, close) - bang - 1);
      MOTLEY_ASSIGN_OR_RETURN(value, Converted(value, conversion));
    }
    Text spec;
    if (colon != std::string::npos) {
      MOTLEY_ASSIGN_OR_RETURN(spec, Run(colon + 1, close, depth - 1));
    }
    return FormatValue(interp_, value, spec.view());
  }

  Result Converted(const Value& value, std::string_view conversion) {
    if (conversion == "s") return interp_.ToStr(value);
    if (conversion != "r" && conversion != "a") {
      return InvalidArgumentError("Unknown conversion specifier '" + std::string(conversion) + "'");
    }
    Text text;
    MOTLEY_RETURN_IF_ERROR(AppendRepr(interp_.budget(), value, &text));
    return interp_.NewStr(std::move(text));
  }

  Result Lookup(std::string_view path) {
    const size_t first_end = std::min(path.find_first_of(".["), path.size());
    const std::string_view first = path.substr(0, first_end);
    MOTLEY_ASSIGN_OR_RETURN(Value value, First(first));
    for (size_t at = first_end; at < path.size();) {
      if (path[at] == '.') {
        const size_t next = std::min(path.find_first_of(".[", at + 1), path.size());
        MOTLEY_ASSIGN_OR_RETURN(value, interp_.GetAttribute(value, Value::String(path.substr(at + 1, next - at - 1), true)));
        at = next;
      } else {
        const size_t next = path.find(']', at);
        if (next == std::string_view::npos) return InvalidArgumentError("Missing ']' in format string");
        const std::string_view key = path.substr(at + 1, next - at - 1);
        const bool number = !key.empty() && key.find_first_not_of("0123456789") == std::string_view::npos;
        MOTLEY_ASSIGN_OR_RETURN(value, interp_.GetItem(value, number ? IntOfDigits(key, true) : Value::String(key, true)));
        at = next + 1;
        if (at < path.size() && path[at] != '.' && path[at] != '[') {
          return InvalidArgumentError("Only '.' or '[' may follow ']' in format field specifier");
        }
      }
    }
    return value;
  }

  Result First(std::string_view name) {
    const bool number = !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
    if (!name.empty() && !number) {
      for (const auto& [key, value] : args_.named) {
        if (key == name) return value;
      }
      return InvalidArgumentError("'" + std::string(name) + "'");
    }
    if ((number ? automatic_ > 0 : manual_)) {
      return InvalidArgumentError("cannot switch between manual field specification and automatic field numbering");
    }
    manual_ = manual_ || number;
    size_t at = 0;
    const int64_t index = number ? ReadNumber(name, &at) : automatic_++;
    if (index >= static_cast<int64_t>(args_.positional.size())) {
      return InvalidArgumentError("Replacement index " + std::to_string(index) + " out of range for positional args tuple");
    }
    return args_.positional[static_cast<size_t>(index)];
  }

  Interp& interp_;
  const Str& format_;
  const Arguments& args_;
  int64_t automatic_ = 0;
  bool manual_ = false;
};

}  // namespace

Result FormatBraces(Interp& interp, const Str& format, Arguments& args) {
  MOTLEY_ASSIGN_OR_RETURN(Text text, BraceFormatter(interp, format, args).Run(0, format.text.size(), 2));
  return interp.NewStr(std::move(text), format.markup);
}

}  // namespace motley::jinja
