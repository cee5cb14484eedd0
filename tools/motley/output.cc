#include "tools/motley/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <boost/json/serialize.hpp>

#include "core/text/utf8.h"

namespace motley {

Output::Output()
    : stdin_is_terminal_(isatty(STDIN_FILENO) != 0),
      stdout_is_terminal_(isatty(STDOUT_FILENO) != 0),
      stderr_is_terminal_(isatty(STDERR_FILENO) != 0) {
  const char* no_colour = std::getenv("NO_COLOR");
  colour_ = stdout_is_terminal_ && (no_colour == nullptr || *no_colour == '\0');
}

void Output::Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void Output::PrintJson(const boost::json::object& object) {
  Print(boost::json::serialize(object) + "\n");
}

void Output::Flush() {
  std::fflush(stdout);
}

void Output::Note(std::string_view text) {
  if (quiet) return;
  std::fflush(stdout);  // so that the two streams stand in order on a terminal
  std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
}

void Output::Error(const Status& status) {
  std::fflush(stdout);
  std::fprintf(stderr, "motley: %s\n", status.message().c_str());
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

std::string Output::Styled(std::string_view code, std::string_view text) const {
  return colour_ ? std::string(code) + std::string(text) + "\x1b[0m" : std::string(text);
}

namespace {

// Columns a terminal gives the text: characters, not bytes.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool IsNumber(const std::string& cell) {
  return cell.empty() || cell == "-" || (cell[0] >= '0' && cell[0] <= '9');
}

}  // namespace

std::string FormatTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  std::vector<bool> right;
  for (size_t r = 0; r < rows.size(); ++r) {
    widths.resize(std::max(widths.size(), rows[r].size()));
    right.resize(widths.size(), true);
    for (size_t c = 0; c < rows[r].size(); ++c) {
      widths[c] = std::max(widths[c], Width(rows[r][c]));
      if (r > 0 && !IsNumber(rows[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - Width(row[c]), ' ');
      const bool last = c + 1 == row.size();
      text += right[c] ? pad + row[c] : row[c] + (last ? "" : pad);
      text += last ? "\n" : "  ";
    }
  }
  return text;
}

}  // namespace motley
