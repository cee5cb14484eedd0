#include "core/text/template/unicode.h"

#include <algorithm>
#include <iterator>

#include "core/text/utf8.h"

namespace motley::jinja {
namespace {

struct PropertyRun {
  uint32_t first;  // up to the next row's
  uint16_t bits;
};
struct CaseRun {
  uint32_t first, last;
  int32_t step, delta;
};
struct CaseMultiple {
  uint32_t code;
  const char* to;
};

#include "core/text/template/unicode_table.inc"

// In the order of make_unicode_table.
enum UnicodeBit : uint16_t {
  kAlphaBit = 1, kDecimalBit = 2, kDigitBit = 4, kNumericBit = 8, kUpperBit = 16, kLowerBit = 32, kTitleBit = 64,
  kSpaceBit = 128, kPrintableBit = 256, kIgnorableBit = 512, kIdStartBit = 1024, kIdContinueBit = 2048,
};

uint16_t BitsOf(uint32_t code) {
  if (code > 0x10FFFF) return 0;
  const auto next = std::upper_bound(std::begin(kProperties), std::end(kProperties), code,
                                     [](uint32_t c, const PropertyRun& run) { return c < run.first; });
  return std::prev(next)->bits;
}

bool Has(uint32_t code, uint16_t bits) { return (BitsOf(code) & bits) != 0; }

template <size_t N, size_t M>
void AppendMapped(const CaseRun (&runs)[N], const CaseMultiple (&multiples)[M], uint32_t code, std::string* out) {
  for (const CaseMultiple& row : multiples) {
    if (row.code == code) {
      *out += row.to;
      return;
    }
  }
  auto run = std::upper_bound(std::begin(runs), std::end(runs), code,
                              [](uint32_t c, const CaseRun& r) { return c < r.first; });
  // Runs of every second letter lie inside one another.
  for (int back = 0; back < 3 && run != std::begin(runs); ++back) {
    --run;
    if (code <= run->last && (code - run->first) % static_cast<uint32_t>(run->step) == 0) {
      AppendUtf8(static_cast<uint32_t>(static_cast<int32_t>(code) + run->delta), out);
      return;
    }
  }
  AppendUtf8(code, out);
}

bool IsCased(uint16_t bits) { return (bits & (kUpperBit | kLowerBit | kTitleBit)) != 0; }

// The character that ends before byte `end`.
CodePoint DecodeBefore(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  const CodePoint point = DecodeOne(text.substr(begin, end - begin));
  if (point.size == end - begin) return point;
  return {kInvalidCode, 1};
}

bool IsFinalSigma(std::string_view text, size_t at, size_t size) {
  size_t end = at;
  bool cased_before = false;
  while (end > 0) {
    const CodePoint point = DecodeBefore(text, end);
    const uint16_t bits = BitsOf(point.code);
    end -= point.size;
    if ((bits & kIgnorableBit) != 0) continue;
    cased_before = IsCased(bits);
    break;
  }
  if (!cased_before) return false;
  for (size_t next = at + size; next < text.size();) {
    const CodePoint point = DecodeOne(text.substr(next));
    const uint16_t bits = BitsOf(point.code);
    next += point.size;
    if ((bits & kIgnorableBit) != 0) continue;
    return !IsCased(bits);
  }
  return true;
}

}  // namespace

CodePoint DecodeOne(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (first < 0x80) return {first, 1};
  const Utf8Step step = NextUtf8(bytes);
  if (step.kind != Utf8Step::kCharacter) return {kInvalidCode, 1};
  uint32_t code = first & (0xFF >> (step.size + 1));
  for (size_t i = 1; i < step.size; ++i) code = code << 6 | (static_cast<unsigned char>(bytes[i]) & 0x3F);
  return {code, static_cast<uint32_t>(step.size)};
}

void AppendUtf8(uint32_t code, std::string* out) {
  const auto tail = [&](int shift) { out->push_back(static_cast<char>(0x80 | (code >> shift & 0x3F))); };
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xC0 | code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | code >> 12));
    tail(6);
    tail(0);
  } else {
    out->push_back(static_cast<char>(0xF0 | code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

bool IsAscii(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

size_t CountCharacters(std::string_view bytes) {
  if (IsAscii(bytes)) return bytes.size();
  size_t count = 0;
  for (size_t at = 0; at < bytes.size(); at += DecodeOne(bytes.substr(at)).size) ++count;
  return count;
}

size_t OffsetOf(std::string_view bytes, size_t index) {
  size_t at = 0;
  for (; index > 0 && at < bytes.size(); --index) at += DecodeOne(bytes.substr(at)).size;
  return at;
}

bool IsSpace(uint32_t code) {
  if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x1F);
  return Has(code, kSpaceBit);
}
bool IsAlpha(uint32_t code) { return Has(code, kAlphaBit); }
bool IsDecimal(uint32_t code) { return Has(code, kDecimalBit); }
bool IsDigit(uint32_t code) { return Has(code, kDigitBit); }
bool IsNumeric(uint32_t code) { return Has(code, kNumericBit); }
bool IsUpper(uint32_t code) { return Has(code, kUpperBit); }
bool IsLower(uint32_t code) { return Has(code, kLowerBit); }
bool IsTitle(uint32_t code) { return Has(code, kTitleBit); }
bool IsPrintable(uint32_t code) {
  if (code < 0x7F) return code >= 0x20;
  return Has(code, kPrintableBit);
}
bool IsIdentifierStart(uint32_t code) { return Has(code, kIdStartBit); }
bool IsIdentifierPart(uint32_t code) { return Has(code, kIdContinueBit); }

void AppendUpper(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code >= 'a' && code <= 'z' ? code - 32 : code));
  } else {
    AppendMapped(kUpper, kUpperMultiple, code, out);
  }
}

void AppendTitle(uint32_t code, std::string* out) {
  if (code < 0x80) {
    AppendUpper(code, out);
  } else {
    AppendMapped(kTitle, kTitleMultiple, code, out);
  }
}

void AppendLower(std::string_view text, size_t at, CodePoint point, std::string* out) {
  constexpr uint32_t kSigma = 0x3A3, kFinalSigma = 0x3C2;
  if (point.code < 0x80) {
    out->push_back(static_cast<char>(point.code >= 'A' && point.code <= 'Z' ? point.code + 32 : point.code));
  } else if (point.code == kSigma && IsFinalSigma(text, at, point.size)) {
    AppendUtf8(kFinalSigma, out);
  } else {
    AppendMapped(kLower, kLowerMultiple, point.code, out);
  }
}

size_t LeadingSpace(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const CodePoint point = DecodeOne(bytes.substr(at));
    if (!IsSpace(point.code)) break;
    at += point.size;
  }
  return at;
}

size_t TrailingSpace(std::string_view bytes) {
  size_t end = bytes.size();
  while (end > 0) {
    const CodePoint point = DecodeBefore(bytes, end);
    if (!IsSpace(point.code)) break;
    end -= point.size;
  }
  return bytes.size() - end;
}

}  // namespace motley::jinja
