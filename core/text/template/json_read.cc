#include "core/text/template/json_read.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>

#include "core/text/template/numbers.h"
#include "core/text/template/unicode.h"

namespace motley::jinja {
namespace {

using boost::json::error_code;

// Called by the parser piece by piece. Containers wait on a stack until they are whole.
struct Handler {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  struct Open {
    bool is_dict = false;
    std::vector<Value> items;
    Dict* dict = nullptr;
    Value dict_value, key;
  };

  bool trusted = false;
  std::vector<Open> open;
  std::string text, number;
  Value result;

  bool Put(Value value) {
    if (open.empty()) {
      result = std::move(value);
    } else if (open.back().is_dict) {
      open.back().dict->Set(std::move(open.back().key), std::move(value));
    } else {
      open.back().items.push_back(std::move(value));
    }
    return true;
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_array_begin(error_code&) {
    open.emplace_back();
    return true;
  }
  bool on_array_end(std::size_t, error_code&) {
    Value list = NewList(std::move(open.back().items));
    open.pop_back();
    return Put(std::move(list));
  }
  bool on_object_begin(error_code&) {
    open.emplace_back();
    open.back().is_dict = true;
    open.back().dict = new Dict;
    open.back().dict_value = Value::Of(Type::kDict, open.back().dict);
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    Value dict = std::move(open.back().dict_value);
    open.pop_back();
    return Put(std::move(dict));
  }
  bool on_key_part(boost::json::string_view part, std::size_t, error_code&) {
    text.append(part.data(), part.size());
    return true;
  }
  bool on_key(boost::json::string_view part, std::size_t, error_code&) {
    text.append(part.data(), part.size());
    open.back().key = Value::String(Text(std::exchange(text, std::string()), trusted));
    return true;
  }
  bool on_string_part(boost::json::string_view part, std::size_t, error_code&) {
    text.append(part.data(), part.size());
    return true;
  }
  bool on_string(boost::json::string_view part, std::size_t, error_code&) {
    text.append(part.data(), part.size());
    return Put(Value::String(Text(std::exchange(text, std::string()), trusted)));
  }
  // The digits are read anew: the parser's own doubles may be off in the last place, its integers stop at 64 bits.
  bool on_number_part(boost::json::string_view part, error_code&) {
    number.append(part.data(), part.size());
    return true;
  }
  bool Number(boost::json::string_view part) {
    number.append(part.data(), part.size());
    const std::string digits = std::exchange(number, std::string());
    if (digits.find_first_of(".eE") == std::string::npos) return Put(IntOfDigits(digits, trusted));
    return Put(Value::Float(std::strtod(digits.c_str(), nullptr), trusted));
  }
  bool on_int64(int64_t, boost::json::string_view part, error_code&) { return Number(part); }
  bool on_uint64(uint64_t, boost::json::string_view part, error_code&) { return Number(part); }
  bool on_double(double, boost::json::string_view part, error_code&) { return Number(part); }
  bool on_bool(bool value, error_code&) { return Put(Value::Bool(value, trusted)); }
  bool on_null(error_code&) { return Put(Value::None(trusted)); }
  bool on_comment_part(boost::json::string_view, error_code&) { return true; }
  bool on_comment(boost::json::string_view, error_code&) { return true; }
};

std::string Position(std::string_view text, size_t at) {
  at = std::min(at, text.size());
  const std::string_view before = text.substr(0, at);
  const size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ":" +
         std::to_string(1 + CountCharacters(before.substr(line_begin)));
}

}  // namespace

Result ReadJson(std::string_view text, std::string_view name, bool trusted) {
  boost::json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  boost::json::basic_parser<Handler> parser(options);
  parser.handler().trusted = trusted;
  error_code error;
  size_t consumed = parser.write_some(false, text.data(), text.size(), error);
  if (!error && consumed < text.size()) error = boost::json::error::extra_data;
  if (!error) return std::move(parser.handler().result);
  std::string what = error == boost::json::error::too_deep
                         ? "more than " + std::to_string(kMaxJsonDepth) + " levels inside one another"
                         : error.message();
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) what = "it is empty";
  return InvalidArgumentError(std::string(name) + ":" + Position(text, consumed) + ": not JSON: " + what);
}

}  // namespace motley::jinja
