#include "core/text/template/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/text/template/unicode.h"

namespace motley::jinja {
namespace {

std::string_view Strip(std::string_view text) {
  text.remove_prefix(LeadingSpace(text));
  text.remove_suffix(TrailingSpace(text));
  return text;
}

// Without the underscores between digits; absent where one stands elsewhere.
std::optional<std::string> WithoutUnderscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const auto is_digit = [&](size_t at) { return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])); };
    if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) return std::nullopt;
  }
  return out;
}

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

int PrefixBase(std::string_view digits) {
  if (digits.size() < 2 || digits[0] != '0') return 0;
  switch (digits[1] | 0x20) {
    case 'x': return 16;
    case 'o': return 8;
    case 'b': return 2;
    default: return 0;
  }
}

int SignOf(const Value& number) {
  if (number.Is(Type::kBigInt)) return number.As<BigInt>().digits[0] == '-' ? -1 : 1;
  return number.integer() < 0 ? -1 : number.integer() > 0 ? 1 : 0;
}

int CompareInts(const Value& a, const Value& b) {
  if (!a.Is(Type::kBigInt) && !b.Is(Type::kBigInt)) {
    return a.integer() < b.integer() ? -1 : a.integer() > b.integer() ? 1 : 0;
  }
  const std::string x = NumberRepr(Value(a)), y = NumberRepr(Value(b));
  const int sign_x = SignOf(a), sign_y = SignOf(b);
  if (sign_x != sign_y) return sign_x < sign_y ? -1 : 1;
  const int by_size = x.size() != y.size() ? (x.size() < y.size() ? -1 : 1) : x.compare(y);
  const int order = by_size < 0 ? -1 : by_size > 0 ? 1 : 0;
  return sign_x < 0 ? -order : order;
}

}  // namespace

std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  const std::string text(buffer, end);  // "-1.2345e+22"
  const size_t e = text.find('e');
  const int exponent = std::atoi(text.c_str() + e + 1);
  if (exponent < -4 || exponent >= 16) return text;  // to_chars writes two digits of exponent, as Python does
  const bool negative = text[0] == '-';
  std::string digits;
  for (size_t i = negative ? 1 : 0; i < e; ++i) {
    if (text[i] != '.') digits += text[i];
  }
  std::string out = negative ? "-" : "";
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string FloatFixed(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string buffer(static_cast<size_t>(digits) + 330, '\0');
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, digits).ptr;
  buffer.resize(static_cast<size_t>(end - buffer.data()));
  return buffer;
}

std::string NumberRepr(const Value& number) {
  switch (number.type()) {
    case Type::kBool: return number.boolean() ? "True" : "False";
    case Type::kInt: return std::to_string(number.integer());
    case Type::kBigInt: return number.As<BigInt>().digits;
    default: return FloatRepr(number.real());
  }
}

double ToDouble(const Value& number) {
  if (number.Is(Type::kFloat)) return number.real();
  if (number.Is(Type::kBigInt)) return std::strtod(number.As<BigInt>().digits.c_str(), nullptr);
  return static_cast<double>(number.integer());
}

std::optional<int> CompareNumbers(const Value& a, const Value& b) {
  if (!a.Is(Type::kFloat) && !b.Is(Type::kFloat)) return CompareInts(a, b);
  // 64 bits of mantissa hold an int64 whole.
  const auto wide = [](const Value& v) -> long double {
    return v.is_int() ? static_cast<long double>(v.integer()) : static_cast<long double>(ToDouble(v));
  };
  const long double x = wide(a), y = wide(b);
  if (std::isnan(x) || std::isnan(y)) return std::nullopt;
  return x < y ? -1 : x > y ? 1 : 0;
}

bool NumbersEqual(const Value& a, const Value& b) { return CompareNumbers(a, b) == 0; }

Value IntOfDigits(std::string_view digits, bool trusted) {
  const bool negative = !digits.empty() && digits[0] == '-';
  std::string_view bare = digits.substr(negative ? 1 : 0);
  while (bare.size() > 1 && bare[0] == '0') bare.remove_prefix(1);
  const std::string whole = (negative && bare != "0" ? "-" : "") + std::string(bare);
  int64_t small = 0;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), small);
  if (error == std::errc() && end == whole.data() + whole.size()) return Value::Int(small, trusted);
  auto* big = new BigInt;
  big->digits = whole;
  return Value::Of(Type::kBigInt, big);
}

std::optional<Value> ParseInt(std::string_view text, int base, bool trusted) {
  std::string_view body = Strip(text);
  bool negative = false;
  if (!body.empty() && (body[0] == '+' || body[0] == '-')) {
    negative = body[0] == '-';
    body.remove_prefix(1);
  }
  const int prefix = PrefixBase(body);
  if (prefix != 0 && (base == 0 || base == prefix)) {
    base = prefix;
    body.remove_prefix(2);
    if (!body.empty() && body[0] == '_') body.remove_prefix(1);
  } else if (base == 0) {
    base = 10;
  }
  const std::optional<std::string> digits = WithoutUnderscores(body);
  if (!digits.has_value() || digits->empty() || base < 2 || base > 36) return std::nullopt;
  if (!std::all_of(digits->begin(), digits->end(), [&](char c) { return DigitOf(c) < base; })) return std::nullopt;
  if (base == 10) return IntOfDigits((negative ? "-" : "") + *digits, trusted);
  int64_t value = 0;
  for (const char c : *digits) {
    if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, DigitOf(c), &value)) {
      return std::nullopt;
    }
  }
  return Value::Int(negative ? -value : value, trusted);
}

std::optional<double> ParseFloat(std::string_view text) {
  const std::optional<std::string> plain = WithoutUnderscores(Strip(text));
  if (!plain.has_value()) return std::nullopt;
  std::string body = *plain;
  bool negative = false;
  if (!body.empty() && (body[0] == '+' || body[0] == '-')) {
    negative = body[0] == '-';
    body.erase(0, 1);
  }
  if (body.empty()) return std::nullopt;
  std::transform(body.begin(), body.end(), body.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool named = body == "inf" || body == "infinity" || body == "nan";
  if (!named && body.find_first_not_of("0123456789.e+-") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(body.c_str(), &end);
  if (end != body.c_str() + body.size() || body[0] == '+' || body[0] == '-') return std::nullopt;
  return negative ? -value : value;
}

double RoundTo(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 323) return value;
  if (digits < -308) return 0 * value;
  if (digits >= 0) return std::strtod(FloatFixed(value, static_cast<int>(digits)).c_str(), nullptr);
  // Tens and hundreds: by the decimal digits of the whole number, halves to even.
  std::string whole = FloatFixed(std::abs(value), 40);
  const size_t point = whole.find('.');
  const auto keep = static_cast<int64_t>(point) + digits;
  if (keep < 0) return std::copysign(0.0, value);
  std::string head = "0" + whole.substr(0, static_cast<size_t>(keep));
  const std::string tail = whole.substr(static_cast<size_t>(keep), point - static_cast<size_t>(keep)) + whole.substr(point + 1);
  const bool half_or_more = tail[0] >= '5';
  const bool exact_half = tail[0] == '5' && tail.find_first_not_of('0', 1) == std::string::npos;
  if (half_or_more && !(exact_half && (head.back() - '0') % 2 == 0)) {
    size_t i = head.size() - 1;
    while (head[i] == '9') head[i--] = '0';
    ++head[i];
  }
  return std::copysign(std::strtod((head + std::string(static_cast<size_t>(-digits), '0')).c_str(), nullptr), value);
}

}  // namespace motley::jinja
