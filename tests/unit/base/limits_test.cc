// Limits of control groups and memory, on made-up roots.
#include <sched.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "core/base/cgroup.h"
#include "core/base/system_memory.h"
#include "tests/support/temp_dir.h"

namespace motley {
namespace {

constexpr uint64_t kGiB = 1ull << 30;

class Root {
 public:
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((dir_.path() / path).parent_path());
    dir_.Write(path, text);
  }
  std::string path() const { return dir_.path().string(); }

  // Control groups of version 2 at /sys/fs/cgroup, with this process in `group`.
  void MountV2(const std::string& group, const std::string& shown = "/") {
    Write("proc/self/cgroup", "0::" + group + "\n");
    Write("proc/self/mountinfo",
          "22 27 0:21 / /proc rw - proc proc rw\n"
          "30 24 0:26 " +
              shown + " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  // Version 1, as systemd mounts it.
  void MountV1(const std::string& group) {
    Write("proc/self/cgroup",
          "11:memory:" + group + "\n4:cpu,cpuacct:" + group + "\n1:name=systemd:/other\n");
    Write("proc/self/mountinfo",
          "31 24 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:10 - cgroup cgroup rw,memory\n"
          "32 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n");
  }
  void Memory(uint64_t total, uint64_t available) {
    Write("proc/meminfo",
          "MemTotal:       " + std::to_string(total >> 10) +
              " kB\nMemFree:        1024 kB\nMemAvailable:   " + std::to_string(available >> 10) + " kB\n");
  }

 private:
  test::TempDir dir_;
};

// P09: a host of 512 GiB, memory.max 16 GiB, the parent group 12 GiB.
TEST(Limits, FieldFailure_P09_TheParentsLimitCounts) {
  Root root;
  root.MountV2("/pod/box");
  root.Memory(512 * kGiB, 500 * kGiB);
  root.Write("sys/fs/cgroup/pod/box/memory.max", std::to_string(16 * kGiB) + "\n");
  root.Write("sys/fs/cgroup/pod/box/memory.current", std::to_string(1 * kGiB) + "\n");
  root.Write("sys/fs/cgroup/pod/memory.max", std::to_string(12 * kGiB) + "\n");
  root.Write("sys/fs/cgroup/pod/memory.current", std::to_string(2 * kGiB) + "\n");
  const CgroupLimits limits = ReadCgroupLimits(root.path());
  ASSERT_TRUE(limits.memory_limit_bytes);
  EXPECT_EQ(*limits.memory_limit_bytes, 12 * kGiB);
  EXPECT_EQ(limits.memory_left_bytes(), 10 * kGiB);
  EXPECT_EQ(limits.memory_source, root.path() + "/sys/fs/cgroup/pod/memory.max");

  const StatusOr<SystemMemory> memory = ReadSystemMemory(root.path());
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->total_bytes, 12 * kGiB);
  EXPECT_EQ(memory->available_bytes, 10 * kGiB);
  EXPECT_EQ(memory->limited_by, limits.memory_source);
}

TEST(Limits, FieldFailure_P09_Version1) {
  Root root;
  root.MountV1("/docker/0123");
  root.Memory(512 * kGiB, 500 * kGiB);
  root.Write("sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes", std::to_string(16 * kGiB) + "\n");
  root.Write("sys/fs/cgroup/memory/docker/0123/memory.usage_in_bytes", std::to_string(5 * kGiB) + "\n");
  root.Write("sys/fs/cgroup/memory/docker/0123/memory.stat",
             "inactive_file 1\ntotal_inactive_file " + std::to_string(2 * kGiB) + "\ntotal_active_file " +
                 std::to_string(1 * kGiB) + "\n");
  root.Write("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "9223372036854771712\n");  // none
  root.Write("sys/fs/cgroup/cpu,cpuacct/docker/0123/cpu.cfs_quota_us", "250000\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/docker/0123/cpu.cfs_period_us", "100000\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
  const StatusOr<SystemMemory> memory = ReadSystemMemory(root.path());
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->total_bytes, 16 * kGiB);
  EXPECT_EQ(memory->available_bytes, 14 * kGiB);  // file pages are given back
  EXPECT_EQ(*ReadCgroupLimits(root.path()).cpus, 2.5);
}

TEST(Limits, FieldFailure_P09_TheCpuQuotaOfAParentCounts) {
  Root root;
  root.MountV2("/pod/box");
  root.Write("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
  root.Write("sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
  const CgroupLimits limits = ReadCgroupLimits(root.path());
  ASSERT_TRUE(limits.cpus);
  EXPECT_EQ(*limits.cpus, 1.5);
  EXPECT_EQ(limits.cpu_source, root.path() + "/sys/fs/cgroup/pod/cpu.max");
  EXPECT_EQ(ReadCpuAllowance(root.path()).threads(), 1u);
}

// A container that sees its own group as the mount's root, and one without a namespace, which sees a subtree.
TEST(Limits, ContainersOfBothKinds) {
  Root root;
  root.MountV2("/");
  root.Write("sys/fs/cgroup/memory.max", std::to_string(3 * kGiB) + "\n");
  EXPECT_EQ(*ReadCgroupLimits(root.path()).memory_limit_bytes, 3 * kGiB);
  root.MountV2("/docker/0123/inner", "/docker/0123");
  root.Write("sys/fs/cgroup/inner/memory.max", std::to_string(2 * kGiB) + "\n");
  EXPECT_EQ(*ReadCgroupLimits(root.path()).memory_limit_bytes, 2 * kGiB);
}

TEST(Limits, NoGroupsNoLimits) {
  Root root;
  root.Memory(8 * kGiB, 6 * kGiB);
  EXPECT_FALSE(ReadCgroupLimits(root.path()).memory_limit_bytes);
  EXPECT_FALSE(ReadCgroupLimits(root.path()).cpus);
  const StatusOr<SystemMemory> memory = ReadSystemMemory(root.path());
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->total_bytes, 8 * kGiB);
  EXPECT_EQ(memory->available_bytes, 6 * kGiB);  // MemAvailable, not MemFree
  EXPECT_EQ(memory->limited_by, "");
  root.MountV2("/pod");
  root.Write("sys/fs/cgroup/pod/memory.max", "max\n");
  root.Write("sys/fs/cgroup/pod/cpu.max", "max 100000\n");
  EXPECT_FALSE(ReadCgroupLimits(root.path()).memory_limit_bytes);
  EXPECT_FALSE(ReadCgroupLimits(root.path()).cpus);
}

TEST(Limits, OddTextsSetNoLimit) {
  for (const char* text : {"", "abc", "-5", "1 2 3", "99999999999999999999999999", "0x10"}) {
    Root root;
    root.MountV2("/pod/../../etc");
    root.Write("sys/fs/cgroup/memory.max", text);
    root.Write("sys/fs/cgroup/cpu.max", text);
    EXPECT_FALSE(ReadCgroupLimits(root.path()).memory_limit_bytes) << text;
    EXPECT_FALSE(ReadCgroupLimits(root.path()).cpus) << text;
  }
  Root root;
  EXPECT_EQ(ReadSystemMemory(root.path()).status().code(), Code::kNotFound);
  root.Write("proc/meminfo", "MemTotal: lots\n");
  EXPECT_EQ(ReadSystemMemory(root.path()).status().code(), Code::kDataLoss);
  root.Write("proc/meminfo", "MemTotal: 99999999999999999999 kB\nMemAvailable: 5 kB\n");
  EXPECT_EQ(ReadSystemMemory(root.path()).status().code(), Code::kDataLoss);
}

TEST(Limits, UsedMoreThanTheLimitLeavesNothing) {
  Root root;
  root.MountV2("/pod");
  root.Write("sys/fs/cgroup/pod/memory.max", "1000\n");
  root.Write("sys/fs/cgroup/pod/memory.current", "2000\n");
  EXPECT_EQ(ReadCgroupLimits(root.path()).memory_left_bytes(), 0u);
}

TEST(Limits, FieldFailure_P09_AffinityCounts) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  Root root;
  const CpuAllowance allowance = ReadCpuAllowance(root.path());
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_EQ(allowance.cpus, std::vector<int>{first});
  EXPECT_EQ(allowance.threads(), 1u);
  EXPECT_EQ(allowance.source, "affinity");
}

TEST(Limits, CpuLists) {
  EXPECT_EQ(ParseCpuList("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(ParseCpuList("5"), (std::vector<int>{5}));
  EXPECT_EQ(ParseCpuList(""), std::vector<int>());
  EXPECT_EQ(ParseCpuList("x,3-1,2-,7,0-999999999999"), (std::vector<int>{7}));
}

TEST(Limits, ThisMachineHasSome) {
  const StatusOr<SystemMemory> memory = ReadSystemMemory();
  ASSERT_TRUE(memory.ok()) << memory.status().ToString();
  EXPECT_GT(memory->available_bytes, 0u);
  EXPECT_LE(memory->available_bytes, memory->total_bytes);
  EXPECT_GE(ReadCpuAllowance().threads(), 1u);
}

}  // namespace
}  // namespace motley
