// Output: results to stdout, messages to stderr, in text or JSON. One object, made in main.
//
// What is printed into a pipe or a file is exact. A terminal gets colours, and control characters of models,
// files and devices as \xNN (terminal_text.h). One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "core/base/status.h"

namespace motley {

enum class ColourChoice { kAuto, kAlways, kNever };

class Output {
 public:
  Output();

  bool json = false;  // set by the command line
  bool json_is_stream = false;  // set by a command whose result is objects on lines of their own
  bool quiet = false;
  bool result_ended =
      false;  // the object that ends a stream was printed: an interruption needs no second one

  // kAuto, which is where it begins: on a terminal that is not "dumb", unless NO_COLOR is set.
  void SetColour(ColourChoice choice);
  ColourChoice colour_choice() const { return choice_; }

  // A result, as it is; on a terminal with styles of ours alone.
  void Print(std::string_view text);
  // A result that others wrote, and that went through TerminalText where it needs to: nothing is looked at.
  void PrintExact(std::string_view text);
  // A result: one JSON object on a line of its own.
  void PrintJson(const boost::json::object& object);
  // What was printed reaches the reader now: a stream of tokens.
  void Flush();

  // A message for a person, one line; left out with -q.
  void Note(std::string_view text);
  // Goes on with a message, without a line's end.
  void NotePart(std::string_view text);
  // The error on stderr, and with --json as an object on stdout.
  void Error(const Status& status);
  // The error on stderr alone: what went on after it.
  void Complain(const Status& status);

  // OK, or what became of stdout (a full disk): results that were lost are an error.
  Status Finish();

  bool stdin_is_terminal() const { return stdin_is_terminal_; }
  bool stdout_is_terminal() const { return stdout_is_terminal_; }
  bool stderr_is_terminal() const { return stderr_is_terminal_; }
  // TERM says what the terminal can do: it moves its cursor.
  bool terminal_can_edit() const { return can_edit_; }
  // Columns of stdout where it is a terminal, as it is now; 0 = it is none.
  size_t columns() const;

  // The text in bold or dim on a terminal, as it is elsewhere.
  std::string Bold(std::string_view text) const;
  std::string Dim(std::string_view text) const;
  bool coloured() const { return colour_out_; }
  bool coloured_messages() const { return colour_err_; }

  // A table no wider than the terminal.
  std::string Table(const std::vector<std::vector<std::string>>& rows) const;

 private:
  bool Coloured(bool terminal) const;

  bool stdin_is_terminal_, stdout_is_terminal_, stderr_is_terminal_, can_edit_;
  ColourChoice choice_ = ColourChoice::kAuto;
  bool colour_out_ = false, colour_err_ = false;
};

// Columns of the terminal at `fd`, else of COLUMNS, else 80.
size_t TerminalColumns(int fd);

// Columns that line up: the first row is the heading. Columns whose cells are all numbers or sizes stand
// right. With a width, what is too long for it is wrapped in the last column and shortened in the others; the
// numbers stay whole. Cells are made safe for a terminal then.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows, size_t width = 0);

}  // namespace motley
