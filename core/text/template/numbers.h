// Numbers as Python writes, reads and compares them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/text/template/value.h"

namespace motley::jinja {

// repr(): the shortest digits that give the number back.
std::string FloatRepr(double value);
// With so many digits behind the point, rounded by the exact value: "%.*f".
std::string FloatFixed(double value, int digits);

// Of a number, True and False included.
std::string NumberRepr(const Value& number);

bool NumbersEqual(const Value& a, const Value& b);
// -1, 0, 1; absent where one is not a number (nan).
std::optional<int> CompareNumbers(const Value& a, const Value& b);
double ToDouble(const Value& number);

// int(text, base) and float(text); absent where Python raises ValueError.
std::optional<Value> ParseInt(std::string_view text, int base, bool trusted);
std::optional<double> ParseFloat(std::string_view text);
// An integer of these decimal digits ("-12"), however many.
Value IntOfDigits(std::string_view digits, bool trusted);

// Rounds as Python's round(value, digits).
double RoundTo(double value, int64_t digits);

}  // namespace motley::jinja
