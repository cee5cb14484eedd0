// How one value is written, by '%5d' and by '{:5d}' alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/text/template/value.h"

namespace motley::jinja {

inline constexpr int64_t kMaxWidth = 1 << 24;

struct Spec {
  std::string fill = " ";
  char align = '\0';  // < > ^ =
  char sign = '-';
  bool alternate = false;
  char grouping = '\0';  // , or _
  int64_t width = 0, precision = -1;
  char type = '\0';
};

// The decimal number at *at, which moves behind it; more than kMaxWidth counts as kMaxWidth + 1.
int64_t ReadNumber(std::string_view text, size_t* at);

// "%.*e" and so on of the C library, which are Python's for finite numbers.
std::string CFormat(char type, bool alternate, int64_t precision, double value);
// An integer's digits without a sign, and whether it is negative; a float's, of its size.
StatusOr<std::string> IntDigits(const Value& value, char type, bool* negative);
std::string FloatDigits(double value, const Spec& spec, char type);
std::string Grouped(const std::string& digits, char separator, size_t every);
std::string Signed(bool negative, const Spec& spec);

// A number, sign and prefix first, filled up to the width; and a text, cut to the precision.
Result FinishNumber(Interp& interp, const std::string& lead, const std::string& digits, const Spec& spec, bool trusted);
Result FinishText(Interp& interp, const Value& value, const Spec& spec);

}  // namespace motley::jinja
