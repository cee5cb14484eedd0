#include "tools/motley/history.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "core/model/printable.h"
#include "core/text/utf8.h"
#include "tools/motley/whole_file.h"

namespace motley {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void Reset(int fd) {
    Close();
    fd_ = fd;
  }

 private:
  void Close() {
    if (fd_ >= 0) close(fd_);
  }
  int fd_;
};

Status Problem(const std::string& path, const std::string& what) {
  return UnavailableError("the history " + Printable(path, 200) + " " + what +
                          "; chat.history = false does without");
}

Status SystemProblem(const std::string& path, const char* what) {
  return Problem(path, std::string("cannot be ") + what + ": " + std::strerror(errno));
}

// A plain file of a size that can be ours.
Status CheckFile(int fd, const std::string& path) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return SystemProblem(path, "read");
  if (!S_ISREG(info.st_mode)) return Problem(path, "is no plain file");
  if (static_cast<uint64_t>(info.st_size) > 2 * kMostHistoryBytes)
    return Problem(path, "is too large to be one");
  return OkStatus();
}

StatusOr<std::string> ReadAll(int fd, const std::string& path) {
  std::string text;
  char buffer[65536];
  if (lseek(fd, 0, SEEK_SET) < 0) return SystemProblem(path, "read");
  for (;;) {
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemProblem(path, "read");
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > 2 * kMostHistoryBytes) return Problem(path, "is too large to be one");
  }
}

Status WriteAll(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemProblem(path, "written");
    text.remove_prefix(static_cast<size_t>(count));
  }
  return OkStatus();
}

std::string LineOf(const std::string& entry) {
  return boost::json::serialize(boost::json::string(entry)) + "\n";
}

std::vector<std::string> Parse(std::string_view text) {
  std::vector<std::string> entries;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    boost::json::error_code error;
    const boost::json::value value = boost::json::parse(text.substr(0, end), error);
    if (!error && value.is_string() && !value.as_string().empty()) entries.emplace_back(value.as_string());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return entries;
}

// How many of the newest fit into the bounds.
size_t Fitting(const std::vector<std::string>& entries, size_t most_entries, size_t most_bytes) {
  size_t bytes = 0, count = 0;
  while (count < entries.size() && count < most_entries) {
    bytes += LineOf(entries[entries.size() - 1 - count]).size();
    if (bytes > most_bytes) break;
    ++count;
  }
  return count;
}

// True where an older entry went: for being the same, or for being one too many. Then an eighth goes, so that
// the file is not written anew for each message from there on.
bool AddTo(std::vector<std::string>& entries, const std::string& entry) {
  const size_t before = entries.size();
  entries.erase(std::remove(entries.begin(), entries.end(), entry), entries.end());
  entries.push_back(entry);
  size_t keep = Fitting(entries, kMostHistoryEntries, kMostHistoryBytes);
  if (keep < entries.size()) keep = Fitting(entries, kMostHistoryEntries / 8 * 7, kMostHistoryBytes / 8 * 7);
  entries.erase(entries.begin(), entries.end() - static_cast<ptrdiff_t>(keep));
  return entries.size() != before + 1;
}

// The file under a lock. Whoever rewrites it puts another in its place, so the lock counts only while the
// path still leads to the file that is locked.
Status OpenLocked(const std::string& path, Descriptor* file) {
  for (int attempt = 0; attempt < 40; ++attempt) {
    file->Reset(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600));
    if (file->get() < 0) return SystemProblem(path, "written");
    MOTLEY_RETURN_IF_ERROR(CheckFile(file->get(), path));
    if (flock(file->get(), LOCK_EX | LOCK_NB) == 0) {
      struct stat locked {
      }, there{};
      if (fstat(file->get(), &locked) == 0 && stat(path.c_str(), &there) == 0 &&
          locked.st_ino == there.st_ino)
        return OkStatus();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Problem(path, "is held by another process");
}

Status Replace(const std::string& path, const std::vector<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) text += LineOf(entry);
  return WriteWholeFile(path, text, true, 0600);
}

}  // namespace

History History::Open(const std::string& path, Status* problem) {
  History history;
  *problem = OkStatus();
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0 && errno != ENOENT) {
    *problem = SystemProblem(path, "read");
    return history;
  }
  if (file.get() >= 0) {
    *problem = CheckFile(file.get(), path);
    auto text = problem->ok() ? ReadAll(file.get(), path) : StatusOr<std::string>(*problem);
    if (!text.ok()) {
      *problem = text.status();
      return history;
    }
    history.entries_ = Parse(*text);
    if (history.entries_.size() > kMostHistoryEntries)
      history.entries_.erase(history.entries_.begin(), history.entries_.end() - kMostHistoryEntries);
  }
  history.path_ = path;
  return history;
}

Status History::Add(std::string_view message) {
  const std::string entry = ToValidUtf8(message);
  if (entry.empty() || entry.size() > kMostHistoryEntryBytes) return OkStatus();
  AddTo(entries_, entry);
  if (path_.empty()) return OkStatus();
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  if (!std::filesystem::exists(folder, error)) {
    std::filesystem::create_directories(folder, error);
    if (!error) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  }
  Descriptor file(-1);
  MOTLEY_RETURN_IF_ERROR(OpenLocked(path_, &file));
  (void)fchmod(file.get(), 0600);
  // What other chats have added meanwhile stays.
  MOTLEY_ASSIGN_OR_RETURN(const std::string text, ReadAll(file.get(), path_));
  std::vector<std::string> all = Parse(text);
  const bool whole_lines = text.empty() || text.back() == '\n';
  if (AddTo(all, entry) || !whole_lines) return Replace(path_, all);
  return WriteAll(file.get(), LineOf(entry), path_);
}

std::string HistoryPath() {
  // The rule for XDG_STATE_HOME: a relative path is as good as none.
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + "/motley/history";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.local/state/motley/history";
  return "";
}

}  // namespace motley
