#include "tools/motley/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <boost/json/serialize.hpp>

#include "core/text/utf8.h"
#include "tools/motley/terminal_text.h"

namespace motley {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Styled(bool coloured, std::string_view style, std::string_view text) {
  return coloured ? std::string(style) + std::string(text) + std::string(kPlain) : std::string(text);
}

}  // namespace

Output::Output()
    : stdin_is_terminal_(isatty(STDIN_FILENO) != 0),
      stdout_is_terminal_(isatty(STDOUT_FILENO) != 0),
      stderr_is_terminal_(isatty(STDERR_FILENO) != 0) {
  const std::string term = Variable("TERM");
  can_edit_ = !term.empty() && term != "dumb";
  SetColour(ColourChoice::kAuto);
}

void Output::SetColour(ColourChoice choice) {
  choice_ = choice;
  colour_out_ = Coloured(stdout_is_terminal_);
  colour_err_ = Coloured(stderr_is_terminal_);
}

bool Output::Coloured(bool terminal) const {
  if (choice_ != ColourChoice::kAuto) return choice_ == ColourChoice::kAlways;
  return terminal && can_edit_ && Variable("NO_COLOR").empty();
}

void Output::Print(std::string_view text) {
  if (stdout_is_terminal_) {
    PrintExact(SafeButStyled(text));
  } else {
    PrintExact(text);
  }
}

void Output::PrintExact(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void Output::PrintJson(const boost::json::object& object) {
  Print(boost::json::serialize(object) + "\n");
}

void Output::Flush() {
  std::fflush(stdout);
}

void Output::Note(std::string_view text) {
  NotePart(std::string(text) + "\n");
}

void Output::NotePart(std::string_view text) {
  if (quiet) return;
  std::fflush(stdout);  // so that the two streams stand in order on a terminal
  const std::string safe = stderr_is_terminal_ ? SafeButStyled(text) : std::string(text);
  std::fwrite(safe.data(), 1, safe.size(), stderr);
}

void Output::Complain(const Status& status) {
  std::fflush(stdout);
  const std::string text = stderr_is_terminal_ ? SafeForTerminal(status.message()) : status.message();
  std::fprintf(stderr, "motley: %s\n", text.c_str());
}

void Output::Error(const Status& status) {
  Complain(status);
  if (!json || (result_ended && status.code() == Code::kCancelled)) return;
  PrintJson({{"type", "error"},
             {"code", std::string(CodeName(status.code()))},
             {"message", ToValidUtf8(status.message())}});
}

Status Output::Finish() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return OkStatus();
  return InternalError(std::string("standard output: results were lost: ") +
                       (errno != 0 ? std::strerror(errno) : "it cannot be written"));
}

size_t Output::columns() const {
  return stdout_is_terminal_ ? TerminalColumns(STDOUT_FILENO) : 0;
}

std::string Output::Bold(std::string_view text) const {
  return Styled(colour_out_, kBold, text);
}

std::string Output::Dim(std::string_view text) const {
  return Styled(colour_out_, kDim, text);
}

std::string Output::Table(const std::vector<std::vector<std::string>>& rows) const {
  return FormatTable(rows, columns());
}

size_t TerminalColumns(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const long columns = std::strtol(Variable("COLUMNS").c_str(), nullptr, 10);
  return columns > 0 && columns < 10000 ? static_cast<size_t>(columns) : 80;
}

}  // namespace motley
