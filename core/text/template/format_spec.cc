#include "core/text/template/format_spec.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "core/text/template/interp.h"
#include "core/text/template/methods.h"
#include "core/text/template/unicode.h"

namespace motley::jinja {

int64_t ReadNumber(std::string_view text, size_t* at) {
  int64_t value = 0;
  while (*at < text.size() && text[*at] >= '0' && text[*at] <= '9') {
    value = std::min<int64_t>(value * 10 + (text[(*at)++] - '0'), kMaxWidth + 1);
  }
  return value;
}

std::string CFormat(char type, bool alternate, int64_t precision, double value) {
  const char format[] = {'%', alternate ? '#' : '.', alternate ? '.' : '*', alternate ? '*' : type, alternate ? type : '\0', '\0'};
  const int size = std::snprintf(nullptr, 0, format, static_cast<int>(precision), value);
  std::string text(static_cast<size_t>(std::max(size, 0)) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, static_cast<int>(precision), value);
  text.pop_back();
  return text;
}

std::string Grouped(const std::string& digits, char separator, size_t every) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % every == 0) out += separator;
    out += digits[i];
  }
  return out;
}

StatusOr<std::string> IntDigits(const Value& value, char type, bool* negative) {
  if (value.Is(Type::kBigInt)) {
    std::string digits = value.As<BigInt>().digits;
    *negative = digits[0] == '-';
    if (type != 'd') return InvalidArgumentError("an integer of more than 64 bits can be formatted in decimal only");
    return *negative ? digits.substr(1) : digits;
  }
  const int64_t integer = value.integer();
  *negative = integer < 0;
  uint64_t size = integer < 0 ? 0 - static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
  const uint64_t base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  const char* const alphabet = type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits += alphabet[size % base];
    size /= base;
  } while (size > 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string FloatDigits(double value, const Spec& spec, char type) {
  const double size = std::abs(value);
  const int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  const bool upper = type == 'F' || type == 'E' || type == 'G';
  std::string text;
  if (!std::isfinite(size)) {
    text = std::isnan(size) ? "nan" : "inf";
    if (upper) std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  } else if (type == '%') {
    text = CFormat('f', spec.alternate, precision, size * 100);
  } else {
    text = CFormat(type, spec.alternate, precision, size);
  }
  return type == '%' ? text + "%" : text;
}

std::string Signed(bool negative, const Spec& spec) {
  return negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
}

Result FinishNumber(Interp& interp, const std::string& lead, const std::string& digits, const Spec& spec, bool trusted) {
  const auto size = static_cast<int64_t>(lead.size() + digits.size());
  const int64_t pad = std::max<int64_t>(0, spec.width - size);
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(static_cast<uint64_t>(pad) * spec.fill.size()));
  std::string padding;
  for (int64_t i = 0; i < pad; ++i) padding += spec.fill;
  std::string text;
  switch (spec.align) {
    case '<': text = lead + digits + padding; break;
    case '=': text = lead + padding + digits; break;
    case '^': text = padding.substr(0, static_cast<size_t>(pad / 2) * spec.fill.size()) + lead + digits +
                     padding.substr(static_cast<size_t>(pad / 2) * spec.fill.size()); break;
    default: text = padding + lead + digits;
  }
  return interp.NewStr(Text(std::move(text), trusted));
}

Result FinishText(Interp& interp, const Value& value, const Spec& spec) {
  const Str& str = value.str();
  Text text = str.text;
  auto length = static_cast<int64_t>(str.length);
  if (spec.precision >= 0 && spec.precision < length) {
    text = text.Part(0, OffsetOf(text.view(), static_cast<size_t>(spec.precision)));
    length = spec.precision;
  }
  const int64_t pad = std::max<int64_t>(0, spec.width - length);
  const int64_t left = spec.align == '>' ? pad : spec.align == '^' ? pad / 2 : 0;
  const Str cut(std::move(text), str.markup);
  return Padded(interp, cut, Text(spec.fill, true), left, pad - left);
}

}  // namespace motley::jinja
