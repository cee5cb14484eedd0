#include "core/text/template/operators.h"

#include <string.h>

#include <algorithm>
#include <cmath>

#include "core/text/template/format.h"
#include "core/text/template/interp.h"
#include "core/text/template/numbers.h"
#include "core/text/template/repr.h"
#include "core/text/template/unicode.h"

namespace motley::jinja {
namespace {

constexpr const char* kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

Status TypeError(BinaryOp op, const Value& left, const Value& right) {
  return InvalidArgumentError(std::string("unsupported operand type(s) for ") + kSymbols[static_cast<int>(op)] + ": '" +
                              TypeName(left) + "' and '" + TypeName(right) + "'");
}

Status TooLarge() { return InvalidArgumentError("an integer of more than 64 bits: arithmetic with it is not supported"); }
Status DivisionByZero() { return InvalidArgumentError("division by zero"); }

Result IntPow(int64_t base, int64_t exponent, bool trusted) {
  if (exponent < 0) {
    if (base == 0) return InvalidArgumentError("0.0 cannot be raised to a negative power");
    return Value::Float(std::pow(static_cast<double>(base), static_cast<double>(exponent)), trusted);
  }
  int64_t result = 1;
  for (bool overflow = false; exponent > 0;) {
    if ((exponent & 1) != 0) {
      if (overflow || __builtin_mul_overflow(result, base, &result)) return TooLarge();
    }
    exponent >>= 1;
    if (exponent > 0) overflow = __builtin_mul_overflow(base, base, &base) || overflow;
  }
  return Value::Int(result, trusted);
}

Result IntBinary(BinaryOp op, int64_t a, int64_t b, bool trusted) {
  int64_t result = 0;
  switch (op) {
    case BinaryOp::kAdd: return __builtin_add_overflow(a, b, &result) ? Result(TooLarge()) : Value::Int(result, trusted);
    case BinaryOp::kSub: return __builtin_sub_overflow(a, b, &result) ? Result(TooLarge()) : Value::Int(result, trusted);
    case BinaryOp::kMul: return __builtin_mul_overflow(a, b, &result) ? Result(TooLarge()) : Value::Int(result, trusted);
    case BinaryOp::kPow: return IntPow(a, b, trusted);
    default: break;
  }
  if (b == 0) return DivisionByZero();
  if (op == BinaryOp::kDiv) {
    return Value::Float(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)), trusted);
  }
  if (b == -1) {
    if (op == BinaryOp::kMod) return Value::Int(0, trusted);
    return a == INT64_MIN ? Result(TooLarge()) : Value::Int(-a, trusted);
  }
  int64_t quotient = a / b, rest = a % b;
  if (rest != 0 && (rest < 0) != (b < 0)) {  // Python rounds down, and the rest has the divisor's sign
    --quotient;
    rest += b;
  }
  return Value::Int(op == BinaryOp::kMod ? rest : quotient, trusted);
}

Result FloatPow(double a, double b, bool trusted) {
  if (a == 0 && b < 0) return InvalidArgumentError("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
    return InvalidArgumentError("a root of a negative number: complex numbers are not supported");
  }
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
    return InvalidArgumentError("(34, 'Numerical result out of range')");
  }
  return Value::Float(result, trusted);
}

Result FloatBinary(BinaryOp op, double a, double b, bool trusted) {
  switch (op) {
    case BinaryOp::kAdd: return Value::Float(a + b, trusted);
    case BinaryOp::kSub: return Value::Float(a - b, trusted);
    case BinaryOp::kMul: return Value::Float(a * b, trusted);
    case BinaryOp::kPow: return FloatPow(a, b, trusted);
    default: break;
  }
  if (b == 0) return DivisionByZero();
  if (op == BinaryOp::kDiv) return Value::Float(a / b, trusted);
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
      quotient -= 1;
    }
  } else {
    rest = std::copysign(0.0, b);
  }
  if (op == BinaryOp::kMod) return Value::Float(rest, trusted);
  if (quotient == 0) return Value::Float(std::copysign(0.0, a / b), trusted);
  double whole = std::floor(quotient);
  if (quotient - whole > 0.5) whole += 1;
  return Value::Float(whole, trusted);
}

Result NumberBinary(BinaryOp op, const Value& left, const Value& right) {
  const bool trusted = left.trusted() && right.trusted();
  if (left.is_int() && right.is_int()) return IntBinary(op, left.integer(), right.integer(), trusted);
  if (left.Is(Type::kFloat) || right.Is(Type::kFloat)) return FloatBinary(op, ToDouble(left), ToDouble(right), trusted);
  return TooLarge();
}

Result Repeat(Interp& interp, const Value& value, const Value& count) {
  if (count.Is(Type::kBigInt)) return InvalidArgumentError("cannot fit 'int' into an index-sized integer");
  const uint64_t times = count.integer() > 0 ? static_cast<uint64_t>(count.integer()) : 0;
  const bool is_text = value.is_str();
  const uint64_t unit = is_text ? value.str().text.size() + 1 : value.items().size() * sizeof(Value) + 1;
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(unit, times, &bytes)) bytes = UINT64_MAX;
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(bytes));
  if (is_text) {
    Text text;
    if (times > 0) text.Reserve(value.str().text.size() * times);
    if (!value.str().text.empty()) {
      for (uint64_t i = 0; i < times; ++i) text.Append(value.str().text);
    }
    return Value::String(std::move(text), value.str().markup);
  }
  std::vector<Value> items;
  if (!value.items().empty()) {
    items.reserve(value.items().size() * times);
    for (uint64_t i = 0; i < times; ++i) items.insert(items.end(), value.items().begin(), value.items().end());
  }
  return value.is_list() ? NewList(std::move(items)) : NewTuple(std::move(items));
}

Result AddStrings(Interp& interp, const Str& left, const Str& right) {
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(left.text.size() + right.text.size()));
  const bool markup = left.markup || right.markup;
  Text text;
  text.Reserve(left.text.size() + right.text.size());
  text.Append(markup && !left.markup ? EscapeHtml(left.text) : left.text);
  text.Append(markup && !right.markup ? EscapeHtml(right.text) : right.text);
  return Value::String(std::move(text), markup);
}

Result Add(Interp& interp, const Value& left, const Value& right) {
  if (left.is_str() && right.is_str()) return AddStrings(interp, left.str(), right.str());
  if (left.is_sequence() && left.type() == right.type()) {
    MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes((left.items().size() + right.items().size()) * sizeof(Value)));
    std::vector<Value> items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    return left.is_list() ? NewList(std::move(items)) : NewTuple(std::move(items));
  }
  if (left.is_str() || left.is_sequence()) {
    return InvalidArgumentError(std::string("can only concatenate ") + TypeName(left) + " (not \"" + TypeName(right) +
                                "\") to " + TypeName(left));
  }
  return TypeError(BinaryOp::kAdd, left, right);
}

}  // namespace

Result Binary(Interp& interp, BinaryOp op, const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) return NumberBinary(op, left, right);
  if (op == BinaryOp::kMod && left.is_str()) return FormatPercent(interp, left, right);
  if (left.is_undefined()) return interp.UndefinedError(left);
  if (right.is_undefined()) return interp.UndefinedError(right);
  if (op == BinaryOp::kAdd) return Add(interp, left, right);
  if (op == BinaryOp::kMul) {
    const auto repeats = [](const Value& v) { return v.is_str() || v.is_sequence(); };
    const auto counts = [](const Value& v) { return v.is_int() || v.Is(Type::kBigInt); };
    if (repeats(left) && counts(right)) return Repeat(interp, left, right);
    if (counts(left) && repeats(right)) return Repeat(interp, right, left);
  }
  return TypeError(op, left, right);
}

Result Negate(const Value& value) {
  if (value.Is(Type::kFloat)) return Value::Float(-value.real(), value.trusted());
  if (value.is_int()) {
    if (value.integer() == INT64_MIN) return TooLarge();
    return Value::Int(-value.integer(), value.trusted());
  }
  if (value.Is(Type::kBigInt)) {
    const std::string& digits = value.As<BigInt>().digits;
    return IntOfDigits(digits[0] == '-' ? digits.substr(1) : "-" + digits, value.trusted());
  }
  if (value.is_undefined()) return InvalidArgumentError(UndefinedMessage(value));
  return InvalidArgumentError(std::string("bad operand type for unary -: '") + TypeName(value) + "'");
}

Result Positive(const Value& value) {
  if (value.Is(Type::kBool)) return Value::Int(value.integer(), value.trusted());
  if (value.is_number()) return value;
  if (value.is_undefined()) return InvalidArgumentError(UndefinedMessage(value));
  return InvalidArgumentError(std::string("bad operand type for unary +: '") + TypeName(value) + "'");
}

namespace {

// A bound of a slice, as an index in [-1, length].
StatusOr<int64_t> SliceBound(const Value& value, int64_t length, bool backward, bool is_start) {
  if (value.is_missing() || value.is_none()) {
    if (is_start) return backward ? length - 1 : 0;
    return backward ? -1 : length;
  }
  if (value.is_undefined()) return InvalidArgumentError(UndefinedMessage(value));
  if (!value.is_int()) {
    return InvalidArgumentError("slice indices must be integers or None or have an __index__ method");
  }
  int64_t at = value.integer();
  if (at < 0) at = at < -length ? -1 : at + length;
  if (at < 0) return backward ? -1 : 0;
  return std::min(at, backward ? length - 1 : length);
}

Result SliceText(Interp& interp, const Str& str, int64_t start, int64_t stop, int64_t step) {
  const Text& text = str.text;
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(text.size()));
  Text out;
  if (step == 1) {
    if (start >= stop) return Value::String(Text(), str.markup);
    const auto from = static_cast<size_t>(start), to = static_cast<size_t>(stop);
    const size_t begin = str.ascii ? from : OffsetOf(text.view(), from);
    const size_t end = str.ascii ? to : begin + OffsetOf(text.view().substr(begin), to - from);
    out.Append(text, begin, end);
    return Value::String(std::move(out), str.markup);
  }
  std::vector<size_t> begins;
  for (size_t at = 0; at < text.size(); at += DecodeOne(text.view().substr(at)).size) begins.push_back(at);
  begins.push_back(text.size());
  for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
    out.Append(text, begins[static_cast<size_t>(i)], begins[static_cast<size_t>(i) + 1]);
  }
  return Value::String(std::move(out), str.markup);
}

Result SliceRange(const Range& range, int64_t start, int64_t stop, int64_t step) {
  auto* part = new Range;
  part->step = range.step * step;
  part->start = range.start + start * range.step;
  part->stop = range.start + stop * range.step;
  return Value::Of(Type::kRange, part);
}

}  // namespace

Result Slice(Interp& interp, const Value& value, const Value& start, const Value& stop, const Value& step) {
  if (value.is_undefined()) return interp.UndefinedError(value);
  const bool can = value.is_str() || value.is_sequence() || value.Is(Type::kRange);
  if (!can) {
    if (value.is_dict()) return InvalidArgumentError("unhashable type: 'slice'");
    return InvalidArgumentError(std::string("'") + TypeName(value) + "' object is not subscriptable");
  }
  int64_t stride = 1;
  if (!step.is_missing() && !step.is_none()) {
    if (!step.is_int()) return InvalidArgumentError("slice indices must be integers or None or have an __index__ method");
    stride = step.integer();
    if (stride == 0) return InvalidArgumentError("slice step cannot be zero");
  }
  const int64_t length = LengthOf(value);
  stride = std::clamp<int64_t>(stride, -(length + 1), length + 1);
  MOTLEY_ASSIGN_OR_RETURN(const int64_t from, SliceBound(start, length, stride < 0, true));
  MOTLEY_ASSIGN_OR_RETURN(const int64_t to, SliceBound(stop, length, stride < 0, false));
  if (value.is_str()) return SliceText(interp, value.str(), from, to, stride);
  if (value.Is(Type::kRange)) return SliceRange(value.As<Range>(), from, to, stride);
  std::vector<Value> items;
  for (int64_t i = from; stride > 0 ? i < to : i > to; i += stride) items.push_back(value.items()[static_cast<size_t>(i)]);
  MOTLEY_RETURN_IF_ERROR(interp.budget().Bytes(items.size() * sizeof(Value)));
  return value.is_list() ? NewList(std::move(items)) : NewTuple(std::move(items));
}

Text EscapeHtml(const Text& text) {
  Text out;
  Text::Cursor trust(text);
  size_t copied = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char* entity = nullptr;
    switch (text.bytes()[at]) {
      case '&': entity = "&amp;"; break;
      case '<': entity = "&lt;"; break;
      case '>': entity = "&gt;"; break;
      case '\'': entity = "&#39;"; break;
      case '"': entity = "&#34;"; break;
      default: continue;
    }
    out.Append(text, copied, at);
    out.Append(entity, trust.TrustedAt(at));
    copied = at + 1;
  }
  out.Append(text, copied, text.size());
  return out;
}

constexpr size_t kShortNeedle = 32;

size_t Find(std::string_view text, std::string_view what, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  // Longer ones by two-way search: std::string_view::find is quadratic on "aaaa...". Shorter ones not: a sanitizer's
  // memmem looks at all of the text each time.
  if (what.size() < kShortNeedle) return text.find(what, from);
  const void* found = memmem(text.data() + from, text.size() - from, what.data(), what.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t FindLast(std::string_view text, std::string_view what) {
  if (what.size() < kShortNeedle) return text.rfind(what);
  const std::string backward_text(text.rbegin(), text.rend()), backward(what.rbegin(), what.rend());
  const size_t at = Find(backward_text, backward);
  return at == std::string_view::npos ? at : text.size() - at - what.size();
}

}  // namespace motley::jinja
