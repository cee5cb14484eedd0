// History: the messages that were typed in chats, kept in a file from one chat to the next.
//
// One message a line, as a JSON text, so that a message of several lines is one line; what is no such line is
// skipped. The file is the owner's alone (0600), bounded, and each message is in it once, at its latest
// place. Several chats may add to it at once. Nothing here is worth ending a chat for: what cannot be read or
// written is told once, as a Status.
//
// One thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace motley {

inline constexpr size_t kMostHistoryEntries = 1000;
inline constexpr size_t kMostHistoryBytes = 1u << 20;        // of the file
inline constexpr size_t kMostHistoryEntryBytes = 32u << 10;  // longer messages are not kept

class History {
 public:
  // Keeps messages in memory alone.
  History() = default;

  // Reads what is there; a file that is missing is an empty one. What is wrong with it is in *problem: then
  // it is left alone.
  static History Open(const std::string& path, Status* problem);

  // Oldest first.
  const std::vector<std::string>& entries() const { return entries_; }

  // The newest message from now on. Empty ones are ignored.
  Status Add(std::string_view message);

 private:
  std::string path_;  // "" = none
  std::vector<std::string> entries_;
};

// $XDG_STATE_HOME/motley/history, else ~/.local/state/motley/history; "" where neither is known.
std::string HistoryPath();

}  // namespace motley
