// LineReader: messages that a person types. With an editor (libedit) where the terminal can move its cursor,
// else line by line as the terminal gives them.
//
// Several lines become one message by a backslash at a line's end, a """ block (message_text.h), Alt-Enter,
// or by being pasted. Ctrl-C never ends the process here: it is a result.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/motley/interrupt.h"
#include "tools/motley/output.h"

namespace motley {

struct TypedMessage {
  enum Kind {
    kMessage,
    kInterrupt,  // Ctrl-C; `text` is what stood there, and is gone
    kEnd,        // Ctrl-D on an empty line, a terminal that is gone, or a kill
  };
  Kind kind = kEnd;
  std::string text;
};

// What Tab makes of the text before the cursor: a longer text, or the same.
using Completer = std::function<std::string(const std::string& before)>;

class LineReader {
 public:
  virtual ~LineReader() = default;
  // Waits for a message. `history`: oldest first.
  virtual TypedMessage Read(const std::vector<std::string>& history) = 0;
};

// Reads the terminal that stdin is. The prompt goes to stdout, or to stderr where stdout is no terminal.
// While Read waits, it owns what `interrupt` does; behind it the work under way only looks at the flag.
std::unique_ptr<LineReader> MakeLineReader(const Output& out, Interrupt& interrupt, Completer completer);

// The two kinds, for MakeLineReader.
std::unique_ptr<LineReader> MakePlainReader(Interrupt& interrupt, int prompt_fd);
// nullptr where the library finds no way to edit on this terminal.
std::unique_ptr<LineReader> MakeEditedReader(Interrupt& interrupt, std::FILE* terminal, bool coloured,
                                             Completer completer);

}  // namespace motley
