#include "core/text/answer_parser.h"

#include <algorithm>
#include <utility>

#include "core/text/tag_match.h"

namespace motley {
namespace {

// Where the white space begins that `text` ends with before `end`.
size_t SpaceBefore(std::string_view text, size_t end) {
  const size_t last = text.substr(0, end).find_last_not_of(kTextSpace);
  return last == std::string_view::npos ? 0 : last + 1;
}

// How much of `text` cannot be the beginning of `tag` with white space before it.
size_t CertainBytes(std::string_view text, std::string_view tag) {
  size_t begin = text.size() - std::min(text.size(), tag.size() - 1);
  while (begin < text.size() && MatchAt(text, begin, tag) == Match::kNo) ++begin;
  return SpaceBefore(text, begin);
}

}  // namespace

AnswerParser::AnswerParser(AnswerFormat format, const ToolSchemas* tools, uint64_t first_call)
    : format_(std::move(format)), tools_(tools), next_call_(first_call) {
  if (tools_ != nullptr && format_.tools == ToolSyntax::kTagged) call_open_ = "<tool_call>";
  if (tools_ != nullptr && format_.tools == ToolSyntax::kJson) call_open_ = "<|python_tag|>";
  if (!format_.has_thinking()) return;
  if (format_.start == AnswerStart::kReasoning) state_ = State::kReasoning;
  if (format_.start == AnswerStart::kAfterTag) drop_space_ = repeated_close_ = begun_ = true;
}

AnswerParser::~AnswerParser() = default;

void AnswerParser::Push(std::string_view piece, std::vector<AnswerPart>* parts) {
  pending_ += piece;
  Run(/*final=*/false, parts);
}

void AnswerParser::Finish(std::vector<AnswerPart>* parts) {
  Run(/*final=*/true, parts);
}

void AnswerParser::Run(bool final, std::vector<AnswerPart>* parts) {
  parts_ = parts;
  first_part_ = parts->size();
  for (bool more = true; more;) {
    switch (state_) {
      case State::kBetween: more = Between(final); break;
      case State::kReasoning: more = Reasoning(final); break;
      case State::kContent: more = Content(final); break;
      case State::kCall: more = Call(final); break;
    }
  }
  parts_ = nullptr;
}

bool AnswerParser::Between(bool final) {
  const size_t space = pending_.find_first_not_of(kTextSpace);
  if (space == std::string::npos) {
    if (!final) return false;
    if (!begun_) Give(AnswerPart::Kind::kContent, pending_);
    pending_.clear();
    return false;
  }
  const std::string_view rest = std::string_view(pending_).substr(space);
  const Match open = content_given_ ? Match::kNo : MatchAt(rest, 0, format_.think_open);
  const Match close = repeated_close_ ? MatchAt(rest, 0, format_.think_close) : Match::kNo;
  const Match call = MatchAt(rest, 0, call_open_);
  if (open == Match::kYes || close == Match::kYes) {
    if (open == Match::kYes) state_ = State::kReasoning;
    reasoning_given_ = false;
    begun_ = true;
    pending_.erase(0, space + (open == Match::kYes ? format_.think_open : format_.think_close).size());
    return true;
  }
  if (call == Match::kYes) return BeginCall(space, call_open_.size());
  if (rest.front() == '{' && format_.tools == ToolSyntax::kJson && tools_ != nullptr && !content_given_) {
    return BeginCall(space, 0);
  }
  const bool part = open == Match::kPart || close == Match::kPart || call == Match::kPart;
  if (part && !final) return false;
  if (drop_space_) pending_.erase(0, space);
  state_ = State::kContent;
  return true;
}

bool AnswerParser::Reasoning(bool final) {
  if (!reasoning_given_) {
    pending_.erase(0, std::min(pending_.find_first_not_of(kTextSpace), pending_.size()));
    const Match repeated = MatchAt(pending_, 0, format_.think_open);
    if (repeated == Match::kYes) {
      pending_.erase(0, format_.think_open.size());
      return true;
    }
    if (repeated == Match::kPart && !final) return false;
  }
  const size_t close = pending_.find(format_.think_close);
  const bool ends = close != std::string::npos;
  const size_t certain =
      ends || final ? SpaceBefore(pending_, close) : CertainBytes(pending_, format_.think_close);
  Give(AnswerPart::Kind::kReasoning, std::string_view(pending_).substr(0, certain));
  reasoning_given_ |= certain > 0;
  if (!ends) {
    pending_.erase(0, final ? pending_.size() : certain);
    return false;
  }
  pending_.erase(0, close + format_.think_close.size());
  state_ = State::kBetween;
  begun_ = drop_space_ = repeated_close_ = true;
  return true;
}

bool AnswerParser::Content(bool final) {
  const size_t open = call_open_.empty() ? std::string::npos : pending_.find(call_open_);
  size_t certain = pending_.size();
  if (open != std::string::npos) {
    certain = SpaceBefore(pending_, open);
  } else if (!final && !call_open_.empty()) {
    certain = CertainBytes(pending_, call_open_);
  }
  Give(AnswerPart::Kind::kContent, std::string_view(pending_).substr(0, certain));
  pending_.erase(0, certain);
  if (open == std::string::npos) return false;
  drop_space_ = false;
  return BeginCall(open - certain, call_open_.size());
}

// pending_ begins with `lead` bytes of white space and the opening.
bool AnswerParser::BeginCall(size_t lead, size_t opening) {
  lead_ = lead;
  body_ = lead + opening;
  call_ = format_.tools == ToolSyntax::kTagged ? NewTaggedBody(*tools_) : NewBareBody(*tools_);
  state_ = State::kCall;
  return true;
}

bool AnswerParser::Call(bool final) {
  const ToolCallBody::Result result = call_->Read(std::string_view(pending_).substr(body_), final);
  if (result == ToolCallBody::Result::kMore && !final) return false;
  if (result == ToolCallBody::Result::kDone) {
    AnswerPart part;
    part.kind = AnswerPart::Kind::kToolCall;
    part.call = call_->call();
    part.call.id = "call_" + std::to_string(next_call_++);
    parts_->push_back(std::move(part));
    pending_.erase(0, body_ + call_->used());
    state_ = State::kBetween;
    begun_ = true;
    drop_space_ = !content_given_;
    repeated_close_ = false;
    return true;
  }
  // No call: content as it was written. What was read of the body may hold another call, unless the answer is
  // over.
  const size_t begin = drop_space_ ? lead_ : 0;
  const size_t end = result == ToolCallBody::Result::kMore ? pending_.size() : body_;
  Give(AnswerPart::Kind::kContent, std::string_view(pending_).substr(begin, end - begin));
  pending_.erase(0, end);
  state_ = State::kContent;
  return true;
}

void AnswerParser::Give(AnswerPart::Kind kind, std::string_view text) {
  if (text.empty()) return;
  begun_ = true;
  if (kind == AnswerPart::Kind::kContent) content_given_ = true;
  if (parts_->size() == first_part_ || parts_->back().kind != kind) {
    parts_->emplace_back();
    parts_->back().kind = kind;
  }
  parts_->back().text += text;
}

}  // namespace motley
