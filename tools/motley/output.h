// Output: results to stdout, messages to stderr, in text or JSON. One object, made in main.
// One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "core/base/status.h"

namespace motley {

class Output {
 public:
  Output();

  bool json = false;  // set by the command line
  bool quiet = false;
  bool result_ended =
      false;  // the object that ends a stream was printed: an interruption needs no second one

  // A result, as it is.
  void Print(std::string_view text);
  // A result: one JSON object on a line of its own.
  void PrintJson(const boost::json::object& object);
  // What was printed reaches the reader now: a stream of tokens.
  void Flush();

  // A message for a person, one line; left out with -q.
  void Note(std::string_view text);
  // The error on stderr, and with --json as an object on stdout.
  void Error(const Status& status);

  // OK, or what became of stdout (a full disk): results that were lost are an error.
  Status Finish();

  bool stdin_is_terminal() const { return stdin_is_terminal_; }
  bool stdout_is_terminal() const { return stdout_is_terminal_; }
  bool stderr_is_terminal() const { return stderr_is_terminal_; }

  // The text in bold or dim on a terminal, as it is elsewhere. NO_COLOR is honoured.
  std::string Bold(std::string_view text) const { return Styled("\x1b[1m", text); }
  std::string Dim(std::string_view text) const { return Styled("\x1b[2m", text); }

 private:
  std::string Styled(std::string_view code, std::string_view text) const;

  bool stdin_is_terminal_, stdout_is_terminal_, stderr_is_terminal_, colour_;
};

// Columns that line up: the first row is the heading. Columns whose cells are all numbers or sizes stand
// right.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace motley
