#include "core/text/template/repr.h"

#include <algorithm>
#include <cmath>

#include "core/text/template/numbers.h"
#include "core/text/template/operators.h"
#include "core/text/template/unicode.h"

namespace motley::jinja {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void AppendHex(uint32_t code, int digits, std::string* out) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) *out += kHex[code >> shift & 15];
}

// What a character becomes in repr(); false where it stands for itself.
bool ReprEscape(CodePoint point, unsigned char byte, char quote, std::string* escape) {
  escape->clear();
  const uint32_t code = point.code;
  if (code == '\\' || code == static_cast<uint32_t>(quote)) {
    *escape = {'\\', static_cast<char>(code)};
  } else if (code == '\n') {
    *escape = "\\n";
  } else if (code == '\r') {
    *escape = "\\r";
  } else if (code == '\t') {
    *escape = "\\t";
  } else if (code == kInvalidCode) {  // as the surrogate that Python would have for it
    *escape = "\\udc";
    AppendHex(byte, 2, escape);
  } else if (!IsPrintable(code)) {
    *escape = code < 0x100 ? "\\x" : code < 0x10000 ? "\\u" : "\\U";
    AppendHex(code, code < 0x100 ? 2 : code < 0x10000 ? 4 : 8, escape);
  }
  return !escape->empty();
}

// Copies `text` with some characters written in another way; `escape` says which.
template <typename Escape>
void AppendEscaped(const Text& text, const Escape& escape, Text* out) {
  std::string written;
  Text::Cursor trust(text);
  size_t copied = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeOne(text.view().substr(at));
    if (escape(point, static_cast<unsigned char>(text.bytes()[at]), &written)) {
      out->Append(text, copied, at);
      out->Append(written, trust.TrustedAt(at));
      copied = at + point.size;
    }
    at += point.size;
  }
  out->Append(text, copied, text.size());
}

void AppendStringRepr(const Text& text, Text* out) {
  const bool has_single = text.bytes().find('\'') != std::string::npos;
  const char quote = has_single && text.bytes().find('"') == std::string::npos ? '"' : '\'';
  const std::string mark(1, quote);
  out->Append(mark, false);
  AppendEscaped(
      text, [&](CodePoint p, unsigned char byte, std::string* e) { return ReprEscape(p, byte, quote, e); }, out);
  out->Append(mark, false);
}

std::string LoopRepr() { return "<LoopContext>"; }

Status AppendItems(Budget& budget, const std::vector<Value>& items, std::string_view open, std::string_view close,
                   Text* out) {
  out->Append(open, false);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out->Append(", ", false);
    MOTLEY_RETURN_IF_ERROR(AppendRepr(budget, items[i], out));
  }
  out->Append(close, false);
  return OkStatus();
}

Status AppendDictRepr(Budget& budget, const Dict& dict, Text* out) {
  out->Append("{", false);
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (!first) out->Append(", ", false);
    first = false;
    MOTLEY_RETURN_IF_ERROR(AppendRepr(budget, key, out));
    out->Append(": ", false);
    MOTLEY_RETURN_IF_ERROR(AppendRepr(budget, value, out));
  }
  out->Append("}", false);
  return OkStatus();
}

Status AppendViewRepr(Budget& budget, const Value& value, Text* out) {
  const View& view = value.As<View>();
  out->Append(std::string(TypeName(value)) + "([", false);
  bool first = true;
  for (const auto& [key, item] : view.dict.dict().entries) {
    if (!first) out->Append(", ", false);
    first = false;
    if (view.kind == View::kItems) {
      MOTLEY_RETURN_IF_ERROR(AppendItems(budget, {key, item}, "(", ")", out));
    } else {
      MOTLEY_RETURN_IF_ERROR(AppendRepr(budget, view.kind == View::kKeys ? key : item, out));
    }
  }
  out->Append("])", false);
  return OkStatus();
}

std::string RangeRepr(const Range& range) {
  std::string text = "range(" + std::to_string(range.start) + ", " + std::to_string(range.stop);
  if (range.step != 1) text += ", " + std::to_string(range.step);
  return text + ")";
}

Status AppendContainer(Budget& budget, const Value& value, Text* out) {
  switch (value.type()) {
    case Type::kList: return AppendItems(budget, value.items(), "[", "]", out);
    case Type::kTuple: return AppendItems(budget, value.items(), "(", value.items().size() == 1 ? ",)" : ")", out);
    case Type::kDict: return AppendDictRepr(budget, value.dict(), out);
    case Type::kView: return AppendViewRepr(budget, value, out);
    case Type::kNamespace:
      out->Append("<Namespace ", false);
      MOTLEY_RETURN_IF_ERROR(AppendDictRepr(budget, value.As<Namespace>().values, out));
      out->Append(">", false);
      return OkStatus();
    default: return OkStatus();
  }
}

// What holds no other values. A function of its own, never inlined: AppendRepr calls itself, and its frame must be small
// enough for the deepest nesting, under sanitizers too.
[[gnu::noinline]] void AppendLeaf(Budget& budget, const Value& value, Text* out) {
  switch (value.type()) {
    case Type::kMissing:
    case Type::kUndefined: out->Append("Undefined", false); break;
    case Type::kNone:
      budget.notes.none_printed = budget.notes.none_printed || value.watched();
      out->Append("None", value.trusted());
      break;
    case Type::kBool:
    case Type::kInt:
    case Type::kBigInt:
    case Type::kFloat: out->Append(NumberRepr(value), value.trusted()); break;
    case Type::kStr:
      budget.notes.text_quoted = budget.notes.text_quoted || value.watched();
      if (value.str().markup) out->Append("Markup(", false);
      AppendStringRepr(value.str().text, out);
      if (value.str().markup) out->Append(")", false);
      break;
    case Type::kRange: out->Append(RangeRepr(value.As<Range>()), false); break;
    case Type::kIterator: out->Append("<generator object>", false); break;
    case Type::kFunction: out->Append(value.As<Function>().repr(), false); break;
    case Type::kLoop: out->Append(LoopRepr(), false); break;
    case Type::kCycler: out->Append("<Cycler>", false); break;
    case Type::kJoiner: out->Append("<Joiner>", false); break;
    default: break;
  }
}

bool HoldsValues(Type type) {
  return type == Type::kList || type == Type::kTuple || type == Type::kDict || type == Type::kView ||
         type == Type::kNamespace;
}

}  // namespace

Status AppendRepr(Budget& budget, const Value& value, Text* out) {
  MOTLEY_RETURN_IF_ERROR(budget.Step());
  if (HoldsValues(value.type())) {
    budget.notes.list_printed = budget.notes.list_printed || value.watched();
    const Nesting nesting(budget);
    MOTLEY_RETURN_IF_ERROR(nesting.status());
    return AppendContainer(budget, value, out);
  }
  const size_t before = out->size();
  AppendLeaf(budget, value, out);
  return budget.Bytes(out->size() - before);
}

Status AppendStr(Budget& budget, const Value& value, Text* out) {
  if (value.is_str()) {
    out->Append(value.str().text);
    return budget.Bytes(value.str().text.size());
  }
  if (value.is_undefined() || value.is_missing()) return OkStatus();
  return AppendRepr(budget, value, out);
}

std::string ShortRepr(const Value& value) {
  constexpr size_t kMost = 80;
  if (value.is_number()) return NumberRepr(value);
  if (value.is_none()) return "None";
  if (!value.is_str()) return std::string("a value of type ") + TypeName(value);
  Text out;
  const Text& text = value.str().text;
  const bool cut = value.str().length > kMost;
  AppendStringRepr(cut ? text.Part(0, OffsetOf(text.view(), kMost)) : text, &out);
  return out.bytes() + (cut ? "..." : "");
}

namespace {

bool JsonEscape(CodePoint point, unsigned char byte, bool ensure_ascii, std::string* escape) {
  escape->clear();
  const uint32_t code = point.code;
  switch (code) {
    case '"': *escape = "\\\""; break;
    case '\\': *escape = "\\\\"; break;
    case '\n': *escape = "\\n"; break;
    case '\r': *escape = "\\r"; break;
    case '\t': *escape = "\\t"; break;
    case '\f': *escape = "\\f"; break;
    case '\b': *escape = "\\b"; break;
    default:
      if (code == kInvalidCode) {
        if (!ensure_ascii) return false;
        *escape = "\\udc";
        AppendHex(byte, 2, escape);
      } else if (code < 0x20 || (ensure_ascii && code >= 0x7F && code < 0x10000)) {
        *escape = "\\u";
        AppendHex(code, 4, escape);
      } else if (ensure_ascii && code >= 0x10000) {
        *escape = "\\u";
        AppendHex(0xD800 + ((code - 0x10000) >> 10), 4, escape);
        *escape += "\\u";
        AppendHex(0xDC00 + ((code - 0x10000) & 0x3FF), 4, escape);
      }
  }
  return !escape->empty();
}

class JsonWriter {
 public:
  JsonWriter(Budget& budget, const JsonStyle& style, Text* out) : budget_(budget), style_(style), out_(out) {}

  Status Write(const Value& value) {
    MOTLEY_RETURN_IF_ERROR(budget_.Step());
    const size_t before = out_->size();
    switch (value.type()) {
      case Type::kNone: out_->Append("null", value.trusted()); break;
      case Type::kBool: out_->Append(value.boolean() ? "true" : "false", value.trusted()); break;
      case Type::kInt:
      case Type::kBigInt:
      case Type::kFloat: out_->Append(Number(value), value.trusted()); break;
      case Type::kStr:
        budget_.notes.text_quoted = budget_.notes.text_quoted || value.watched();
        WriteString(value.str().text);
        break;
      case Type::kList:
      case Type::kTuple:
      case Type::kDict: {
        const Nesting nesting(budget_);
        MOTLEY_RETURN_IF_ERROR(nesting.status());
        ++level_;
        const Status status = value.is_dict() ? WriteDict(value.dict()) : WriteList(value.items());
        --level_;
        return status;
      }
      default:
        return InvalidArgumentError(std::string("Object of type ") + TypeName(value) + " is not JSON serializable");
    }
    return budget_.Bytes(out_->size() - before);
  }

 private:
  static std::string Number(const Value& value) {
    if (!value.Is(Type::kFloat)) return NumberRepr(value);
    const double d = value.real();
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
    return FloatRepr(d);
  }

  void WriteString(const Text& text) {
    out_->Append("\"", false);
    AppendEscaped(
        text,
        [&](CodePoint p, unsigned char byte, std::string* e) { return JsonEscape(p, byte, style_.ensure_ascii, e); },
        out_);
    out_->Append("\"", false);
  }

  void WriteNewLine(int level) {
    if (!style_.indent.has_value()) return;
    std::string line = "\n";
    for (int i = 0; i < level; ++i) line += *style_.indent;
    out_->Append(line, false);
  }

  Status WriteList(const std::vector<Value>& items) {
    if (items.empty()) {
      out_->Append("[]", false);
      return OkStatus();
    }
    out_->Append("[", false);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_->Append(style_.item_separator);
      WriteNewLine(level_);
      MOTLEY_RETURN_IF_ERROR(budget_.Bytes(IndentBytes()));
      MOTLEY_RETURN_IF_ERROR(Write(items[i]));
    }
    WriteNewLine(level_ - 1);
    out_->Append("]", false);
    return OkStatus();
  }

  Status WriteKey(const Value& key) {
    if (key.is_str()) {
      WriteString(key.str().text);
    } else if (key.is_number() || key.is_none()) {
      out_->Append("\"", false);
      MOTLEY_RETURN_IF_ERROR(Write(key));
      out_->Append("\"", false);
    } else {
      return InvalidArgumentError(std::string("keys must be str, int, float, bool or None, not ") + TypeName(key));
    }
    return OkStatus();
  }

  Status WriteDict(const Dict& dict) {
    if (dict.entries.empty()) {
      out_->Append("{}", false);
      return OkStatus();
    }
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) MOTLEY_RETURN_IF_ERROR(SortByKey(&entries));
    out_->Append("{", false);
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_->Append(style_.item_separator);
      WriteNewLine(level_);
      MOTLEY_RETURN_IF_ERROR(budget_.Bytes(IndentBytes()));
      MOTLEY_RETURN_IF_ERROR(WriteKey(entries[i]->first));
      out_->Append(style_.key_separator);
      MOTLEY_RETURN_IF_ERROR(Write(entries[i]->second));
    }
    WriteNewLine(level_ - 1);
    out_->Append("}", false);
    return OkStatus();
  }

  Status SortByKey(std::vector<const std::pair<Value, Value>*>* entries) {
    Status status;
    std::stable_sort(entries->begin(), entries->end(), [&](const auto* a, const auto* b) {
      const auto less = Less(budget_, a->first, b->first);
      if (!less.ok() && status.ok()) status = less.status();
      return less.ok() && *less;
    });
    return status;
  }

  uint64_t IndentBytes() const {
    return 64 + (style_.indent.has_value() ? style_.indent->size() * static_cast<uint64_t>(level_) : 0);
  }

  Budget& budget_;
  const JsonStyle& style_;
  Text* out_;
  int level_ = 0;
};

}  // namespace

Status AppendJson(Budget& budget, const Value& value, const JsonStyle& style, Text* out) {
  JsonWriter writer(budget, style, out);
  return writer.Write(value);
}

}  // namespace motley::jinja
