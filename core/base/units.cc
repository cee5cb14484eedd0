#include "core/base/units.h"

#include <array>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>

#include "core/base/checked.h"

namespace motley {
namespace {

struct Unit {
  std::string_view name;
  uint64_t scale;
};
constexpr std::array<Unit, 4> kSizeUnits{
    {{"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40}}};
constexpr std::array<Unit, 3> kTimeUnits{{{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}}};

constexpr std::string_view kSizeFix = "write a whole number of bytes, or a number with KiB, MiB, GiB or TiB";
constexpr std::string_view kTimeFix = "write a number with us, ms or s, e.g. 20 ms";

// The number as written, without its point: 1.25 is digits 125 and divisor 100.
struct Decimal {
  uint64_t digits = 0;
  uint64_t divisor = 1;
  size_t length = 0;  // bytes of text it took
  bool overflow = false;
};

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsSpace(char c) {
  return c == ' ' || c == '\t';
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<Decimal> ReadDecimal(std::string_view text) {
  Decimal d;
  bool point = false;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !point && i > 0) {
      point = true;
      continue;
    }
    if (!IsDigit(text[i])) break;
    if (!CheckedMul(d.digits, 10, &d.digits) ||
        !CheckedAdd(d.digits, static_cast<uint64_t>(text[i] - '0'), &d.digits))
      d.overflow = true;
    if (point && !CheckedMul(d.divisor, 10, &d.divisor)) d.overflow = true;
  }
  if (i == 0 || text[i - 1] == '.') return std::nullopt;  // no number, or "1."
  d.length = i;
  return d;
}

Status Bad(std::string_view text, std::string_view what, std::string_view fix) {
  // A text from outside may be megabytes long; its beginning is enough to find it.
  const std::string shown = text.size() > 40 ? std::string(text.substr(0, 40)) + "..." : std::string(text);
  return InvalidArgumentError("\"" + shown + "\" " + std::string(what) + ": " + std::string(fix));
}

// scale 0 in `plain_scale`: a number without a unit is refused.
StatusOr<uint64_t> ParseScaled(std::string_view text, std::span<const Unit> units, uint64_t plain_scale,
                               std::string_view noun, std::string_view fix) {
  const std::string_view trimmed = Trim(text);
  const auto number = ReadDecimal(trimmed);
  if (!number) return Bad(text, "is no " + std::string(noun), fix);
  const std::string_view name = Trim(trimmed.substr(number->length));
  uint64_t scale = 0;
  if (name.empty()) {
    if (plain_scale == 0) return Bad(text, "has no unit", fix);
    scale = plain_scale;
  }
  for (const Unit& unit : units) {
    if (name == unit.name) scale = unit.scale;
  }
  if (scale == 0) return Bad(text, "has an unknown unit \"" + std::string(name.substr(0, 16)) + "\"", fix);

  uint64_t scaled = 0;
  if (number->overflow || !CheckedMul(number->digits, scale, &scaled)) return Bad(text, "is too large", fix);
  if (scaled % number->divisor != 0) return Bad(text, "is no whole number of the smallest unit", fix);
  const uint64_t value = scaled / number->divisor;
  // Values end up in signed 64-bit integers too (TOML, the ABI): nothing real is larger.
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return Bad(text, "is too large", fix);
  return value;
}

std::string Print(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

}  // namespace

StatusOr<uint64_t> ParseSize(std::string_view text) {
  return ParseScaled(text, kSizeUnits, 1, "size", kSizeFix);
}

StatusOr<uint64_t> ParseTimeNs(std::string_view text) {
  return ParseScaled(text, kTimeUnits, 0, "time", kTimeFix);
}

std::string FormatSize(uint64_t bytes) {
  if (bytes < (1ull << 10)) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  const Unit* best = &kSizeUnits[0];
  for (const Unit& unit : kSizeUnits) {
    if (bytes >= unit.scale) best = &unit;
  }
  if (bytes % best->scale == 0) return std::to_string(bytes / best->scale) + " " + std::string(best->name);
  return Print("%.2f ", static_cast<double>(bytes) / static_cast<double>(best->scale)) +
         std::string(best->name);
}

std::string FormatSizeExact(uint64_t bytes) {
  for (size_t i = kSizeUnits.size(); i-- > 0;) {
    const Unit& unit = kSizeUnits[i];
    if (bytes >= unit.scale && bytes % unit.scale == 0)
      return std::to_string(bytes / unit.scale) + " " + std::string(unit.name);
  }
  return std::to_string(bytes);
}

std::string FormatTimeNs(uint64_t time_ns) {
  const double ns = static_cast<double>(time_ns);
  if (time_ns < 1000) return std::to_string(time_ns) + " ns";
  if (time_ns < 1000000) return Print("%.1f us", ns / 1e3);
  if (time_ns < 1000000000) return Print("%.1f ms", ns / 1e6);
  return Print("%.2f s", ns / 1e9);
}

}  // namespace motley
