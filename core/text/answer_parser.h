// AnswerParser: takes a model's answer apart, while it comes, into thinking, content and calls of tools.
//
//   AnswerParser parser(format, &tools);
//   parser.Push(piece, &parts);  ...  parser.Finish(&parts);
//
// The parts do not depend on where the pieces were cut: those of one kind that follow each other, joined, are
// what the whole answer at once gives. Nothing that a model writes is an error, and nothing is lost but the
// tags and the white space beside them: a call that is malformed, cut short, or of no known form stays in the
// content as it was written.
//
// Rules:
// - Thinking begins with the opening tag, as long as there is no content yet, or before the answer does
//   (AnswerStart::kReasoning), and ends with the first closing tag; without one all the rest is thinking,
//   tool calls too. An opening tag that is repeated at the beginning of thinking, and a closing tag that is
//   repeated behind it, are dropped. Any other stray tag is text.
// - White space is dropped at both ends of thinking, between thinking and content, and around calls; at both
// ends of
//   an answer without them it stays.
// - A call is given when it is complete. Its arguments are a JSON object, always.
//
// One object an answer; not for several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/answer_format.h"
#include "core/text/tool_call_body.h"

namespace motley {

struct AnswerPart {
  enum class Kind : uint8_t { kReasoning, kContent, kToolCall };
  Kind kind = Kind::kContent;
  std::string text;  // of reasoning and content
  ToolCall call;
};

class AnswerParser {
 public:
  // `tools`: the tools that the model was told of; must outlive the parser. nullptr: none, calls are not
  // looked for. Calls get the ids "call_N", N from `first_call` on.
  AnswerParser(AnswerFormat format, const ToolSchemas* tools, uint64_t first_call = 0);
  ~AnswerParser();

  // Appends to `parts` what is certain now. Pieces are whole characters (as Detokenizer and StopMatcher give
  // them).
  void Push(std::string_view piece, std::vector<AnswerPart>* parts);
  // The answer is over: appends what was held back.
  void Finish(std::vector<AnswerPart>* parts);

  uint64_t next_call() const { return next_call_; }

 private:
  // kBetween: at the beginning, and behind thinking or a call: white space may be dropped, any tag may
  // follow.
  enum class State : uint8_t { kBetween, kReasoning, kContent, kCall };

  // Each decides what it can about pending_, and returns whether there may be more to decide.
  bool Between(bool final);
  bool Reasoning(bool final);
  bool Content(bool final);
  bool Call(bool final);
  bool BeginCall(size_t lead, size_t opening);
  void Run(bool final, std::vector<AnswerPart>* parts);
  void Give(AnswerPart::Kind kind, std::string_view text);

  AnswerFormat format_;
  const ToolSchemas* tools_;
  std::string call_open_;  // "" = calls are not looked for
  uint64_t next_call_;
  State state_ = State::kBetween;
  std::string pending_;  // not decided yet; of a call, all of it
  std::unique_ptr<ToolCallBody> call_;
  size_t lead_ = 0, body_ = 0;  // of a call: white space at pending_'s beginning, where the body begins
  bool begun_ = false;          // a tag was read, or something given
  bool content_given_ = false;
  bool reasoning_given_ = false;  // of the thinking that goes on
  bool drop_space_ = false;       // of kBetween: before content too
  bool repeated_close_ = false;   // of kBetween: a closing tag is a repeated one
  std::vector<AnswerPart>* parts_ = nullptr;
  size_t first_part_ = 0;  // of those that this call gives
};

}  // namespace motley
