#include "core/text/template/lexer.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "core/text/template/unicode.h"

namespace motley::jinja {
namespace {

constexpr size_t kNowhere = std::string_view::npos;

// Line ends become \n, and one at the very end goes, as Jinja does without keep_trailing_newline.
std::string NormalizeSource(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

int IsDigitByte(int c) { return static_cast<int>(c >= '0' && c <= '9'); }

// How Python spells a character in ASCII; Jinja meets that behind a backslash.
std::string AsciiName(uint32_t code) {
  char name[16];
  std::snprintf(name, sizeof(name), code < 0x100 ? "x%02x" : code < 0x10000 ? "u%04x" : "U%08x", code);
  return name;
}

class Lexer {
 public:
  Lexer(std::string_view source, std::vector<Token>* tokens, TemplateError* error)
      : source_(NormalizeSource(source)), tokens_(tokens), error_(error) {}

  bool Run() {
    while (at_ < source_.size()) {
      if (!NextPart()) return false;
    }
    Push(TokenKind::kEnd, "");
    return true;
  }

 private:
  std::string_view Rest() const { return std::string_view(source_).substr(at_); }
  bool StartsWith(std::string_view what) const { return Rest().substr(0, what.size()) == what; }

  bool Fail(std::string message) {
    *error_ = {line_, std::move(message)};
    return false;
  }

  void Push(TokenKind kind, std::string text) { tokens_->push_back({kind, line_, std::move(text)}); }

  void Skip(size_t bytes) {
    line_ += static_cast<uint32_t>(std::count(source_.begin() + static_cast<ptrdiff_t>(at_),
                                              source_.begin() + static_cast<ptrdiff_t>(at_ + bytes), '\n'));
    at_ += bytes;
    if (bytes > 0) line_starting_ = source_[at_ - 1] == '\n';
  }

  // Text up to the next tag, and the tag's beginning.
  bool NextPart() {
    size_t tag = at_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == kNowhere || tag + 1 >= source_.size()) {
        tag = kNowhere;
        break;
      }
      const char c = source_[tag + 1];
      if (c == '%' || c == '{' || c == '#') break;
    }
    if (tag == kNowhere) {
      PushData(source_.size());
      return true;
    }
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const bool has_sign = sign == '-' || sign == '+';
    PushData(tag, has_sign ? sign : '\0', kind != '{');
    if (kind == '%') {
      if (const size_t raw = RawBegin(tag + 2 + (has_sign ? 1 : 0)); raw != kNowhere) {
        Skip(raw - at_);
        return Raw();
      }
    }
    const uint32_t line = line_;
    Skip(has_sign ? 3 : 2);
    if (kind == '#') return Comment(line);
    tokens_->push_back({kind == '%' ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, line, ""});
    return Inside(kind == '%');
  }

  // The text from here to `end`, less the space that the tag behind it takes away; at_ becomes `end`.
  void PushData(size_t end, char sign = '+', bool may_strip = false) {
    const std::string_view text = Rest().substr(0, end - at_);
    std::string_view kept = text;
    if (sign == '-') {
      kept.remove_suffix(TrailingSpace(kept));
    } else if (sign != '+' && may_strip) {
      const size_t line_begin = text.rfind('\n') == kNowhere ? 0 : text.rfind('\n') + 1;
      const std::string_view last = text.substr(line_begin);
      // An empty stretch strips nothing; otherwise it must be space alone.
      if ((line_begin > 0 || line_starting_) && LeadingSpace(last) == last.size()) kept = text.substr(0, line_begin);
    }
    if (!kept.empty()) Push(TokenKind::kData, std::string(kept));
    Skip(end - at_);
  }

  size_t SkipSpace(size_t at) const { return at + LeadingSpace(std::string_view(source_).substr(at)); }
  bool Has(size_t at, std::string_view what) const { return source_.compare(at, what.size(), what) == 0; }

  // Where the body of a raw block begins, when "raw %}" stands at `at`.
  size_t RawBegin(size_t at) const {
    at = SkipSpace(std::min(at, source_.size()));
    if (!Has(at, "raw")) return kNowhere;
    at = SkipSpace(at + 3);
    if (Has(at, "-%}")) return SkipSpace(at + 3);
    return Has(at, "%}") ? at + 2 : kNowhere;
  }

  // The end of a tag's end: with '-' the space behind it goes, of a block one line end too.
  size_t TagEnd(size_t at, std::string_view close, bool trim_newline) const {
    if (Has(at, "-" + std::string(close))) return SkipSpace(at + 1 + close.size());
    if (trim_newline && Has(at, "+" + std::string(close))) return at + 1 + close.size();
    if (!Has(at, close)) return kNowhere;
    at += close.size();
    return trim_newline && at < source_.size() && source_[at] == '\n' ? at + 1 : at;
  }

  bool Raw() {
    if (at_ == source_.size()) return true;  // Jinja misses the end only where something is left
    for (size_t tag = at_; (tag = source_.find("{%", tag)) != kNowhere; ++tag) {
      size_t at = tag + 2;
      const char sign = at < source_.size() ? source_[at] : '\0';
      const bool has_sign = sign == '-' || sign == '+';
      at = SkipSpace(std::min(at + (has_sign ? 1 : 0), source_.size()));
      if (!Has(at, "endraw")) continue;
      const size_t end = TagEnd(SkipSpace(at + 6), "%}", true);
      if (end == kNowhere) continue;
      PushData(tag, has_sign ? sign : '\0', true);
      Skip(end - at_);
      return true;
    }
    return Fail("Missing end of raw directive");
  }

  bool Comment(uint32_t line) {
    if (at_ == source_.size()) return true;
    for (size_t at = at_; at < source_.size(); ++at) {
      const size_t end = TagEnd(at, "#}", true);
      if (end == kNowhere) continue;
      Skip(end - at_);
      return true;
    }
    line_ = line;
    return Fail("Missing end of comment tag");
  }

  // Expressions, up to the tag's end.
  bool Inside(bool block) {
    std::string open;  // brackets that wait for their ends
    while (at_ < source_.size()) {
      if (open.empty()) {
        const size_t end = TagEnd(at_, block ? "%}" : "}}", block);
        if (end != kNowhere) {
          Push(block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, "");
          Skip(end - at_);
          return true;
        }
      }
      if (const size_t space = LeadingSpace(Rest()); space > 0) {
        Skip(space);
      } else if (!Number() && !Word()) {
        if (!error_->message.empty()) return false;
        const char c = source_[at_];
        if (c == '\'' || c == '"' ? !String(c) : !Operator(&open)) return false;
      }
    }
    return true;  // the parser says what is missing
  }

  // Digits, with single underscores between; the end, or `at` where there is none.
  size_t Digits(size_t at, int (*is_digit)(int) = IsDigitByte) const {
    size_t end = at;
    while (end < source_.size()) {
      const bool gap = source_[end] == '_' && end > at && end + 1 < source_.size();
      const size_t next = gap ? end + 1 : end;
      if (is_digit(static_cast<unsigned char>(source_[next])) == 0) break;
      end = next + 1;
    }
    return end;
  }

  bool Number() {
    if (IsDigitByte(source_[at_]) == 0) return false;
    size_t end = FloatEnd();
    const bool is_float = end != at_;
    if (!is_float) end = IntegerEnd();
    std::string text = source_.substr(at_, end - at_);
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    Push(is_float ? TokenKind::kFloat : TokenKind::kInteger, std::move(text));
    Skip(end - at_);
    return true;
  }

  size_t FloatEnd() const {
    if (at_ > 0 && source_[at_ - 1] == '.') return at_;  // a.1.5 is two indices
    const size_t whole = Digits(at_);
    size_t end = whole;
    if (end < source_.size() && source_[end] == '.' && Digits(end + 1) > end + 1) end = Digits(end + 1);
    if (end < source_.size() && (source_[end] | 0x20) == 'e') {
      size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
      if (Digits(exponent) > exponent) return Digits(exponent);
    }
    return end > whole ? end : at_;
  }

  size_t IntegerEnd() const {
    if (source_[at_] != '0') return Digits(at_);
    const char base = at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 0x20) : '\0';
    const auto is_base_digit = base == 'b'   ? +[](int c) { return static_cast<int>(c == '0' || c == '1'); }
                               : base == 'o' ? +[](int c) { return static_cast<int>(c >= '0' && c <= '7'); }
                                             : +[](int c) { return std::isxdigit(c); };
    if (base == 'b' || base == 'o' || base == 'x') {
      const size_t skip = at_ + 2 < source_.size() && source_[at_ + 2] == '_' ? 3 : 2;
      if (const size_t end = Digits(at_ + skip, is_base_digit); end > at_ + skip) return end;
    }
    return Digits(at_, +[](int c) { return static_cast<int>(c == '0'); });
  }

  bool Word() {
    size_t end = at_;
    bool valid = true;
    while (end < source_.size()) {
      const CodePoint point = DecodeOne(std::string_view(source_).substr(end));
      if (!IsAlnum(point.code) && point.code != '_') break;
      valid = valid && (end == at_ ? IsIdentifierStart(point.code) : IsIdentifierPart(point.code));
      end += point.size;
    }
    if (end == at_) return false;
    if (!valid) return Fail("Invalid character in identifier");
    Push(TokenKind::kName, source_.substr(at_, end - at_));
    Skip(end - at_);
    return true;
  }

  bool String(char quote) {
    std::string value;
    size_t i = at_ + 1;
    for (; i < source_.size() && source_[i] != quote; ++i) {
      if (source_[i] != '\\') {
        value += source_[i];
        continue;
      }
      if (i + 1 >= source_.size()) break;
      if (!Escape(&i, &value)) return false;
    }
    if (i >= source_.size()) return Fail(std::string("unexpected char ") + (quote == '"' ? "'\"'" : "\"'\""));
    Push(TokenKind::kString, std::move(value));
    Skip(i + 1 - at_);
    return true;
  }

  // The escape whose backslash stands at *i; afterwards *i is at its last byte.
  bool Escape(size_t* i, std::string* value) {
    const char c = source_[++*i];
    constexpr std::string_view kNames = "\\'\"abfnrtv", kBytes = "\\'\"\a\b\f\n\r\t\v";
    if (const size_t simple = kNames.find(c); simple != kNowhere) {
      *value += kBytes[simple];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      return HexEscape(c == 'x' ? 2 : c == 'u' ? 4 : 8, i, value);
    } else if (c >= '0' && c <= '7') {
      uint32_t code = 0;
      size_t end = *i;
      while (end < *i + 3 && end < source_.size() && source_[end] >= '0' && source_[end] <= '7') {
        code = code * 8 + static_cast<uint32_t>(source_[end++] - '0');
      }
      *i = end - 1;
      AppendUtf8(code, value);
    } else if (c == 'N') {
      return Fail("\\N{...} in a string: characters by name are not supported");
    } else if (c != '\n') {  // a backslash joins lines; before anything else it stands for itself
      const CodePoint point = DecodeOne(std::string_view(source_).substr(*i));
      *value += '\\';
      *value += point.code < 0x80 ? std::string(1, c) : AsciiName(point.code);
      *i += point.size - 1;
    }
    return true;
  }

  bool HexEscape(size_t digits, size_t* i, std::string* value) {
    uint32_t code = 0;
    for (size_t n = 0; n < digits; ++n) {
      const size_t at = *i + 1 + n;
      const int c = at < source_.size() ? static_cast<unsigned char>(source_[at]) : 0;
      if (std::isxdigit(c) == 0) return Fail(std::string("truncated \\") + source_[*i] + " escape in a string");
      code = code * 16 + static_cast<uint32_t>(std::isdigit(c) != 0 ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    *i += digits;
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return Fail("a string's escape names no character");
    AppendUtf8(code, value);
    return true;
  }

  bool Operator(std::string* open) {
    constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                               "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    for (const std::string_view symbol : kOperators) {
      if (!StartsWith(symbol)) continue;
      const char c = symbol[0];
      if (c == '(' || c == '[' || c == '{') {
        open->push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
      } else if (c == ')' || c == ']' || c == '}') {
        if (open->empty()) return Fail("unexpected '" + std::string(symbol) + "'");
        if (open->back() != c) return Fail("unexpected '" + std::string(symbol) + "', expected '" + open->back() + "'");
        open->pop_back();
      }
      Push(TokenKind::kOperator, std::string(symbol));
      Skip(symbol.size());
      return true;
    }
    const CodePoint point = DecodeOne(Rest());
    return Fail("unexpected char '" + std::string(Rest().substr(0, point.size)) + "'");
  }

  std::string source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  bool line_starting_ = true;
  std::vector<Token>* tokens_;
  TemplateError* error_;
};

}  // namespace

bool Tokenize(std::string_view source, std::vector<Token>* tokens, TemplateError* error) {
  return Lexer(source, tokens, error).Run();
}

}  // namespace motley::jinja
