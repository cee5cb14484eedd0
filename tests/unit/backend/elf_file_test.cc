#include "core/backend/elf_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/support/temp_dir.h"

namespace motley {
namespace {

TEST(FieldFailure, L02_ALibraryThatIsCutShortIsRefusedBeforeItIsMapped) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(self)), std::istreambuf_iterator<char>());
  ASSERT_GT(whole.size(), 4096u);
  const test::TempDir dir;
  EXPECT_TRUE(CheckElf(dir.Write("whole.so", whole)).ok());
  // Behind its segments a file holds only what debuggers want.
  for (size_t bytes : {size_t{5}, size_t{63}, size_t{100}, size_t{4096}, size_t{65536}}) {
    const Status status = CheckElf(dir.Write("cut.so", whole.substr(0, bytes)));
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << bytes;
    EXPECT_NE(status.message().find("cut.so"), std::string::npos) << status.message();
  }
  std::string other = whole;
  other[18] = 22, other[19] = 0;  // e_machine: EM_S390
  const Status machine = CheckElf(dir.Write("other.so", other));
  EXPECT_EQ(machine.code(), Code::kFailedPrecondition);
  EXPECT_NE(machine.message().find("other.so: built for s390, this machine is "), std::string::npos)
      << machine.message();
  EXPECT_TRUE(CheckElf(dir.Write("text.so", "not a library")).ok());  // the loader's to say
}

}  // namespace
}  // namespace motley
