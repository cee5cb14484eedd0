// Completion scripts for shells, made of the commands and flags as they are.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace motley {

// What may follow a flag, or stand as an argument.
enum class Completes { kNothing, kAnything, kFile, kModel, kFolder, kWords };

struct CompletionFlag {
  std::vector<std::string> names;             // "-m", "--model"; of an argument none
  std::string doc;                            // a line
  std::string value;                          // "FILE"; "" = it takes none
  Completes completes = Completes::kNothing;  // kNothing: it takes no value
  std::vector<std::string> words;             // of kWords
};

struct CompletionCommand {
  std::string name, doc;
  std::vector<CompletionFlag> flags;
  std::vector<CompletionFlag> arguments;
};

// The commands, and one without a name for what stands before them. What a value may be is read off its
// type's name: "on|off" are words; FILE, OUT.npy, CONFIG, MODEL and DIR are paths.
std::vector<CompletionCommand> DescribeForCompletion(const CLI::App& app);

std::string BashCompletion(const std::vector<CompletionCommand>& commands);
std::string ZshCompletion(const std::vector<CompletionCommand>& commands);
std::string FishCompletion(const std::vector<CompletionCommand>& commands);

}  // namespace motley
