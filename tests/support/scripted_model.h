// A model that says what it is told to: which token follows which is written into it, whatever stood before.
//
//   ScriptedModel script;
//   script.says = {"Hello", ", ", "you", "."};          // then the end of its turn
//   ASSERT_TRUE(WriteScriptedModel(script, path).ok());
//
// One layer that adds nothing; embeddings are one-hot, and the head has a one where the next token is. It
// answers after
// "\n", with which ChatML's prompt ends, and after the name of whatever control token `begins_after` says.
// Prompts are tokens of one byte each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace motley::test {

struct ScriptedModel {
  std::vector<std::string> says;  // tokens of any bytes, each text once, none of a single byte
  bool forever = false;           // begins again with says[0] instead of ending
  int64_t context = 4096;
  std::string chat_template;        // "" = none
  std::string begins_after = "\n";  // a byte, or one of `says`' control tokens
  std::vector<std::string> control =
      {};  // more control tokens, besides <|endoftext|>, <|im_start|>, <|im_end|>
  std::string name = "scripted";
};

Status WriteScriptedModel(const ScriptedModel& script, const std::filesystem::path& path);

}  // namespace motley::test
