#include "core/base/host_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

namespace motley {
namespace {

// One line of /proc/meminfo, in its own unit; -1 where there is none.
int64_t MemInfo(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(name + ":", 0) == 0) return std::strtoll(line.c_str() + name.size() + 1, nullptr, 10);
  }
  return -1;
}

void TouchAll(const HostPages& pages) {
  for (uint64_t i = 0; i < pages.bytes(); i += 4096) EXPECT_EQ(pages.data()[i], std::byte{0});
  std::memset(pages.data(), 0x5a, pages.bytes());
  EXPECT_EQ(pages.data()[pages.bytes() - 1], std::byte{0x5a});
}

TEST(HostPages, BasePagesAreWhatWasAskedFor) {
  const auto pages = HostPages::Allocate(3'000'000, PageKind::kBase);
  ASSERT_TRUE(pages.ok()) << pages.status().ToString();
  EXPECT_EQ(pages->kind(), PageKind::kBase);
  EXPECT_EQ(pages->notice(), "");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pages->data()) % (2 << 20), 0u);
  TouchAll(*pages);
}

TEST(FieldFailure, P10_HugePagesThatAreNotThereAreAWarningAndAFallback) {
  const int64_t page_kib = std::max<int64_t>(MemInfo("Hugepagesize"), 2048);
  const int64_t free_pages = std::max<int64_t>(MemInfo("HugePages_Free"), 0);
  if (free_pages * page_kib > (1 << 20))
    GTEST_SKIP() << "this machine has more than 1 GiB of huge pages to spare";
  const auto bytes = static_cast<uint64_t>((free_pages + 1) * page_kib) << 10;
  const auto pages = HostPages::Allocate(bytes, PageKind::kHuge);
  ASSERT_TRUE(pages.ok()) << pages.status().ToString();
  EXPECT_NE(pages->kind(), PageKind::kHuge);
  EXPECT_NE(pages->notice().find("in huge pages: "), std::string::npos) << pages->notice();
  EXPECT_NE(pages->notice().find("vm.nr_hugepages"), std::string::npos) << pages->notice();
  TouchAll(*pages);  // no SIGBUS
}

TEST(HostPages, HugePagesThatAreThereAreTaken) {
  if (MemInfo("HugePages_Free") < 1) GTEST_SKIP() << "no huge pages are reserved on this machine";
  const auto pages =
      HostPages::Allocate(static_cast<uint64_t>(MemInfo("Hugepagesize")) << 10, PageKind::kHuge);
  ASSERT_TRUE(pages.ok()) << pages.status().ToString();
  EXPECT_EQ(pages->kind(), PageKind::kHuge) << pages->notice();
  TouchAll(*pages);
}

TEST(HostPages, WhatCannotBeMappedIsAnError) {
  EXPECT_EQ(HostPages::Allocate(0, PageKind::kBase).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(HostPages::Allocate(UINT64_MAX - 5, PageKind::kHuge).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(HostPages::Allocate(uint64_t{1} << 60, PageKind::kHuge).status().code(),
            Code::kResourceExhausted);
}

TEST(HostPages, NamesGoBothWays) {
  for (PageKind kind : {PageKind::kBase, PageKind::kTransparent, PageKind::kHuge})
    EXPECT_EQ(PageKindFromName(PageKindName(kind)), kind);
  EXPECT_EQ(PageKindFromName("4k"), std::nullopt);
}

}  // namespace
}  // namespace motley
