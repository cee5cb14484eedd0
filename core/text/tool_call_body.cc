#include "core/text/tool_call_body.h"

#include <utility>
#include <vector>

#include "core/text/json_slice.h"
#include "core/text/tag_match.h"
#include "core/text/tool_arguments.h"

namespace motley {
namespace {

constexpr std::string_view kCallEnd = "</tool_call>";

// {"name": ..., "arguments": ...}; with `closing`, before it.
class JsonBody : public ToolCallBody {
 public:
  JsonBody(const ToolSchemas& tools, std::string_view closing) : tools_(tools), closing_(closing) {}

  Result Read(std::string_view text, bool final) override {
    if (begin_ == std::string_view::npos) begin_ = SkipSpace(text, 0);
    if (begin_ == std::string_view::npos) return Result::kMore;
    if (!complete_) {
      const JsonObjectEnd::Result read = end_.Read(text.substr(begin_));
      if (read == JsonObjectEnd::Result::kMore) return Result::kMore;
      if (read == JsonObjectEnd::Result::kBad || !Take(text.substr(begin_, end_.end()))) return Result::kBad;
      complete_ = true;
    }
    return closing_.empty() ? ReadSeparator(text, final) : ReadClosing(text, final);
  }

 private:
  // An answer may end right behind the object, in the middle of the closing tag too.
  Result ReadClosing(std::string_view text, bool final) {
    const size_t at = SkipSpace(text, begin_ + end_.end());
    const Match match = MatchAt(text, at, closing_);
    if (match == Match::kNo) return Result::kBad;
    if (match == Match::kPart && !final) return Result::kMore;
    used_ = match == Match::kYes ? at + closing_.size() : text.size();
    return Result::kDone;
  }

  // Llama writes several calls with semicolons between.
  Result ReadSeparator(std::string_view text, bool final) {
    used_ = begin_ + end_.end();
    const size_t semicolon = SkipSpace(text, used_);
    if (semicolon == std::string_view::npos) return final ? Result::kDone : Result::kMore;
    if (text[semicolon] != ';') return Result::kDone;
    const size_t next = SkipSpace(text, semicolon + 1);
    if (next == std::string_view::npos) return final ? Result::kDone : Result::kMore;
    if (text[next] == '{') used_ = next;
    return Result::kDone;
  }

  bool Take(std::string_view written) {
    const std::string object = EscapeControls(written);
    if (!IsJson(object)) return false;
    const auto name = MemberText(object, "name");
    if (!name.has_value() || !ParseJsonString(*name, &call_.name) || call_.name.empty()) return false;
    if (closing_.empty() && !tools_.empty() && !tools_.Has(call_.name)) return false;
    auto arguments = MemberText(object, "arguments");
    if (!arguments.has_value()) arguments = MemberText(object, "parameters");
    // Any object has a name; only a call has arguments too.
    if (!arguments.has_value()) return !closing_.empty() && SetArguments("{}");
    std::string inner;  // OpenAI's form: JSON in a string
    if (ParseJsonString(*arguments, &inner)) return SetArguments(inner);
    return SetArguments(*arguments == "null" ? "{}" : *arguments);
  }

  bool SetArguments(std::string_view text) {
    const size_t first = text.find_first_not_of(kTextSpace);
    if (first == std::string_view::npos || text[first] != '{' || !IsJson(text)) return false;
    call_.arguments = Trimmed(text);
    return true;
  }

  const ToolSchemas& tools_;
  const std::string_view closing_;
  size_t begin_ = std::string_view::npos;
  JsonObjectEnd end_;
  bool complete_ = false;
};

// f<arg_key>k</arg_key><arg_value>v</arg_value>...</tool_call>
class PairsBody : public ToolCallBody {
 public:
  explicit PairsBody(const ToolSchemas& tools) : arguments_(tools) {}

  Result Read(std::string_view text, bool) override {
    for (;;) {
      const State before = state_;
      Result result = Result::kMore;
      switch (state_) {
        case State::kName: result = ReadName(text); break;
        case State::kNext: result = ReadNext(text); break;
        case State::kKey: result = ReadKey(text); break;
        case State::kValueOpen: result = ReadValueOpen(text); break;
        case State::kValue: result = ReadValue(text); break;
      }
      if (result != Result::kMore || state_ == before) return result;
    }
  }

 private:
  enum class State : uint8_t { kName, kNext, kKey, kValueOpen, kValue };

  // Each goes on to the next state, or says kMore in the same.
  Result ReadName(std::string_view text) {
    const size_t begin = SkipSpace(text, 0);
    if (begin == std::string_view::npos) return Result::kMore;
    const size_t end = text.find_first_of("<\n", begin);
    if (std::min(end, text.size()) - begin > kMaxNameBytes) return Result::kBad;
    if (end == std::string_view::npos) return Result::kMore;
    call_.name = Trimmed(text.substr(begin, end - begin));
    if (!IsName(call_.name)) return Result::kBad;
    return GoOn(State::kNext, end);
  }

  Result ReadNext(std::string_view text) {
    const size_t at = SkipSpace(text, at_);
    const Match key = MatchAt(text, at, kKeyOpen), end = MatchAt(text, at, kCallEnd);
    if (key == Match::kYes) return GoOn(State::kKey, at + kKeyOpen.size());
    if (end != Match::kYes) return key == Match::kNo && end == Match::kNo ? Result::kBad : Result::kMore;
    used_ = at + kCallEnd.size();
    call_.arguments = arguments_.Json();
    return Result::kDone;
  }

  Result ReadKey(std::string_view text) {
    const size_t end = text.find(kKeyClose, at_);
    if (end == std::string_view::npos) {
      return text.size() - at_ >= kMaxNameBytes + kKeyClose.size() ? Result::kBad : Result::kMore;
    }
    key_ = Trimmed(text.substr(at_, end - at_));
    if (end - at_ > kMaxNameBytes || key_.empty()) return Result::kBad;
    return GoOn(State::kValueOpen, end + kKeyClose.size());
  }

  Result ReadValueOpen(std::string_view text) {
    const size_t at = SkipSpace(text, at_);
    const Match match = MatchAt(text, at, kValueOpen);
    if (match != Match::kYes) return match == Match::kNo ? Result::kBad : Result::kMore;
    search_ = at + kValueOpen.size();
    return GoOn(State::kValue, search_);
  }

  // A closing tag ends the value where a pair or the call's end follows; else it is part of it.
  Result ReadValue(std::string_view text) {
    for (;;) {
      const size_t end = text.find(kValueClose, search_);
      if (end == std::string_view::npos) {
        search_ = std::max(search_, text.size() - std::min(text.size(), kValueClose.size() - 1));
        return Result::kMore;
      }
      search_ = end;
      const size_t next = SkipSpace(text, end + kValueClose.size());
      const Match key = MatchAt(text, next, kKeyOpen), call_end = MatchAt(text, next, kCallEnd);
      if (key == Match::kYes || call_end == Match::kYes) {
        arguments_.Add(call_.name, key_, text.substr(at_, end - at_));
        return GoOn(State::kNext, next);
      }
      if (key == Match::kPart || call_end == Match::kPart) return Result::kMore;
      search_ = end + 1;
    }
  }

  Result GoOn(State state, size_t at) {
    state_ = state;
    at_ = at;
    return Result::kMore;
  }

  static constexpr std::string_view kKeyOpen = "<arg_key>", kKeyClose = "</arg_key>";
  static constexpr std::string_view kValueOpen = "<arg_value>", kValueClose = "</arg_value>";

  ToolArguments arguments_;
  State state_ = State::kName;
  size_t at_ = 0;      // where the state's text begins
  size_t search_ = 0;  // of a value: where its end may be
  std::string key_;
};

// <function=f><parameter=k>\nv\n</parameter>...</function></tool_call>
class FunctionBody : public ToolCallBody {
 public:
  explicit FunctionBody(const ToolSchemas& tools) : arguments_(tools) {}

  Result Read(std::string_view text, bool final) override {
    for (;;) {
      const State before = state_;
      const size_t at_before = at_;
      Result result = Result::kMore;
      switch (state_) {
        case State::kOpen:
          result = ReadTag(text, SkipSpace(text, 0), kFunctionOpen, State::kNext, &call_.name);
          break;
        case State::kNext: result = ReadNext(text); break;
        case State::kValue: result = ReadValue(text); break;
        case State::kEnd: result = ReadEnd(text, final); break;
      }
      if (result != Result::kMore || (state_ == before && at_ == at_before)) return result;
    }
  }

 private:
  enum class State : uint8_t { kOpen, kNext, kValue, kEnd };

  // <function=NAME>, <parameter=NAME>
  Result ReadTag(std::string_view text, size_t at, std::string_view open, State then, std::string* name) {
    const Match match = MatchAt(text, at, open);
    if (match != Match::kYes) return match == Match::kNo ? Result::kBad : Result::kMore;
    at += open.size();
    const size_t end = text.find('>', at);
    if (std::min(end, text.size()) - at > kMaxNameBytes) return Result::kBad;
    if (end == std::string_view::npos) return Result::kMore;
    *name = Trimmed(text.substr(at, end - at));
    if (!IsName(*name)) return Result::kBad;
    state_ = then;
    at_ = search_ = end + 1;
    return Result::kMore;
  }

  Result ReadNext(std::string_view text) {
    const size_t at = SkipSpace(text, at_);
    const Match end = MatchAt(text, at, kFunctionClose);
    if (end == Match::kYes) {
      state_ = State::kEnd;
      at_ = at + kFunctionClose.size();
      return Result::kMore;
    }
    const Result parameter = ReadTag(text, at, kParameterOpen, State::kValue, &key_);
    return parameter == Result::kBad && end == Match::kPart ? Result::kMore : parameter;
  }

  Result ReadValue(std::string_view text) {
    for (;;) {
      const size_t end = text.find(kParameterClose, search_);
      if (end == std::string_view::npos) {
        search_ = std::max(search_, text.size() - std::min(text.size(), kParameterClose.size() - 1));
        return Result::kMore;
      }
      search_ = end;
      const size_t next = SkipSpace(text, end + kParameterClose.size());
      const Match more = MatchAt(text, next, kParameterOpen), last = MatchAt(text, next, kFunctionClose);
      if (more == Match::kYes || last == Match::kYes) {
        arguments_.Add(call_.name, key_, WithoutLineBreaks(text.substr(at_, end - at_)));
        state_ = State::kNext;
        at_ = next;
        return Result::kMore;
      }
      if (more == Match::kPart || last == Match::kPart) return Result::kMore;
      search_ = end + 1;
    }
  }

  // Models leave the closing tag out now and then.
  Result ReadEnd(std::string_view text, bool final) {
    const size_t at = SkipSpace(text, at_);
    const Match match = MatchAt(text, at, kCallEnd);
    if (match == Match::kPart && !final) return Result::kMore;
    used_ = match == Match::kYes ? at + kCallEnd.size() : match == Match::kPart ? text.size() : at_;
    call_.arguments = arguments_.Json();
    return Result::kDone;
  }

  // One on either side belongs to the form.
  static std::string_view WithoutLineBreaks(std::string_view value) {
    if (!value.empty() && value.front() == '\n') value.remove_prefix(1);
    if (!value.empty() && value.back() == '\n') value.remove_suffix(1);
    return value;
  }

  static constexpr std::string_view kFunctionOpen = "<function=", kFunctionClose = "</function>";
  static constexpr std::string_view kParameterOpen = "<parameter=", kParameterClose = "</parameter>";

  ToolArguments arguments_;
  State state_ = State::kOpen;
  size_t at_ = 0, search_ = 0;
  std::string key_;
};

// Chooses by the first letters.
class OneOf : public ToolCallBody {
 public:
  OneOf(const ToolSchemas& tools, bool tagged) : tools_(tools), tagged_(tagged) {}

  Result Read(std::string_view text, bool final) override {
    if (body_ == nullptr) {
      const size_t at = SkipSpace(text, 0);
      if (at == std::string_view::npos) return Result::kMore;
      if (text[at] == '{') {
        body_ = std::make_unique<JsonBody>(tools_, tagged_ ? kCallEnd : std::string_view());
      } else if (!tagged_) {
        body_ = NewPythonBody(tools_);
      } else if (text[at] == '<') {
        body_ = std::make_unique<FunctionBody>(tools_);
      } else {
        body_ = std::make_unique<PairsBody>(tools_);
      }
    }
    const Result result = body_->Read(text, final);
    if (result == Result::kDone) {
      used_ = body_->used();
      call_ = body_->call();
    }
    return result;
  }

 private:
  const ToolSchemas& tools_;
  const bool tagged_;
  std::unique_ptr<ToolCallBody> body_;
};

}  // namespace

std::unique_ptr<ToolCallBody> NewTaggedBody(const ToolSchemas& tools) {
  return std::make_unique<OneOf>(tools, true);
}
std::unique_ptr<ToolCallBody> NewBareBody(const ToolSchemas& tools) {
  return std::make_unique<OneOf>(tools, false);
}

}  // namespace motley
