#include "core/base/mmap_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "tests/support/temp_dir.h"

namespace motley {
namespace {

// The message must name the path and `why`.
void ExpectRefused(const std::string& path, Code code, std::string_view why) {
  const StatusOr<MmapFile> file = MmapFile::Open(path);
  ASSERT_FALSE(file.ok()) << path;
  EXPECT_EQ(file.status().code(), code) << file.status().ToString();
  EXPECT_NE(file.status().message().find(path), std::string::npos) << file.status().ToString();
  EXPECT_NE(file.status().message().find(why), std::string::npos) << file.status().ToString();
}

TEST(MmapFile, ShowsTheFilesBytesSizePathAndDescriptor) {
  test::TempDir dir;
  const std::string path = dir.Write("a.bin", "hello");
  const StatusOr<MmapFile> file = MmapFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->bytes(), "hello");
  EXPECT_EQ(file->size(), 5u);
  EXPECT_EQ(file->path(), path);
  EXPECT_EQ(file->base_name(), "a.bin");
  char read[3];
  ASSERT_EQ(pread(file->fd(), read, 3, 2), 3);
  EXPECT_EQ(std::string_view(read, 3), "llo");
}

TEST(MmapFile, FollowsLinks) {
  test::TempDir dir;
  ASSERT_EQ(symlink(dir.Write("blob", "x").c_str(), (dir.path() / "link").c_str()), 0);
  const StatusOr<MmapFile> file = MmapFile::Open(dir.path() / "link");
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->bytes(), "x");
  EXPECT_EQ(file->base_name(), "link");
}

TEST(MmapFile, RefusesWhatIsNoRegularFileWithoutBlocking) {
  test::TempDir dir;
  ExpectRefused(dir.path(), Code::kInvalidArgument, "is a folder");
  const std::string fifo = dir.path() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ExpectRefused(fifo, Code::kInvalidArgument, "is a FIFO");
  ExpectRefused("/dev/zero", Code::kInvalidArgument, "is a device");
  const std::string socket_path = dir.path() / "socket";
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ExpectRefused(socket_path, Code::kInvalidArgument, "is a socket");
  close(fd);
}

TEST(MmapFile, RefusesAnEmptyFile) {
  test::TempDir dir;
  ExpectRefused(dir.Write("empty", ""), Code::kInvalidArgument, "is empty");
}

TEST(MmapFile, NamesAMissingFileAndTheSystemsReason) {
  test::TempDir dir;
  ExpectRefused(dir.path() / "none", Code::kNotFound, "No such file or directory");
  ExpectRefused(dir.Write("file", "x") + "/below", Code::kNotFound, "Not a directory");
  ExpectRefused(std::string(5000, 'a'), Code::kInvalidArgument, "File name too long");
}

TEST(MmapFile, RefusesNamesThatTheSystemWouldCutOff) {
  test::TempDir dir;
  const std::string path = dir.Write("file", "x");
  EXPECT_FALSE(MmapFile::Open(path + std::string("\0.gguf", 6)).ok());
  EXPECT_FALSE(MmapFile::Open("").ok());
}

TEST(MmapFile, MovesItsMappingAndClosesOnce) {
  test::TempDir dir;
  StatusOr<MmapFile> a = MmapFile::Open(dir.Write("a", "first"));
  StatusOr<MmapFile> b = MmapFile::Open(dir.Write("b", "second"));
  ASSERT_TRUE(a.ok() && b.ok());
  const int old_fd = a->fd();
  *a = std::move(*b);
  EXPECT_EQ(a->bytes(), "second");
  EXPECT_EQ(fcntl(old_fd, F_GETFD), -1);  // the first was closed
  EXPECT_EQ(b->data(), nullptr);
  const int fd = a->fd();
  { const MmapFile last = std::move(*a); }
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

// Pages of [data, data + bytes) that this process has mapped in.
uint64_t ResidentKib(const MmapFile& file) {
  char line[512];
  char start[32];
  std::snprintf(start, sizeof start, "%lx-", reinterpret_cast<unsigned long>(file.data()));
  FILE* maps = std::fopen("/proc/self/smaps", "r");
  bool here = false;
  unsigned long kib = ~0ul;
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    if (std::strncmp(line, start, std::strlen(start)) == 0) here = true;
    if (here && std::sscanf(line, "Rss: %lu kB", &kib) == 1) break;
  }
  if (maps != nullptr) std::fclose(maps);
  return kib;
}

TEST(MmapFile, DontNeedGivesBackMemoryAndKeepsTheBytes) {
  test::TempDir dir;
  const std::string text(1 << 20, 'z');
  const StatusOr<MmapFile> file = MmapFile::Open(dir.Write("a", text));
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(file->bytes(), text);
  const uint64_t before = ResidentKib(*file);
  EXPECT_EQ(before, 1024u);
  // Half a page at each end is shared with neighbours and stays.
  ASSERT_TRUE(file->AdviseDontNeed(2048, (1 << 20) - 4096).ok());
  EXPECT_EQ(ResidentKib(*file), 8u);
  EXPECT_EQ(file->bytes(), text);
}

TEST(MmapFile, DontNeedRefusesRangesOutside) {
  test::TempDir dir;
  const StatusOr<MmapFile> file = MmapFile::Open(dir.Write("a", "12345"));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->AdviseDontNeed(0, 5).ok());
  EXPECT_FALSE(file->AdviseDontNeed(1, 5).ok());
  EXPECT_FALSE(file->AdviseDontNeed(UINT64_MAX, 2).ok());
}

}  // namespace
}  // namespace motley
