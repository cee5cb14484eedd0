// Devices and their handles: calls reach the plugin, and what it answers is checked.
#include "core/backend/device.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "fakes.h"

namespace {
thread_local uint64_t allocations = 0;
}  // namespace

// Counts this thread's allocations. Not inlined, so that the compiler sees a pair of new and delete.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace motley {
namespace {

using test::Contains;
using test::PluginFolder;

class DeviceTest : public ::testing::Test {
 protected:
  // The device of a fake with this fault.
  Device& Make(const std::string& fault = "", const char* more = nullptr) {
    folder_ = std::make_unique<PluginFolder>();
    folder_->Add("fake", "fake");
    DiscoveryOptions options = folder_->Options();
    if (!fault.empty()) options.plugins["fake"].options.push_back({"fault", fault, ""});
    if (more != nullptr) options.plugins["fake"].options.push_back({"mode", std::string(more), ""});
    StatusOr<std::unique_ptr<Backends>> backends = Backends::Open(options, host_, logger_);
    EXPECT_TRUE(backends.ok()) << backends.status().ToString();
    backends_ = *std::move(backends);
    EXPECT_EQ(backends_->devices().size(), 1u) << backends_->reports()[0].reason;
    return *backends_->devices()[0];
  }
  motley_graph Graph(uint64_t nodes) {
    motley_graph graph{};
    graph.size = sizeof graph;
    nodes_.assign(nodes, motley_node{});
    graph.nodes = {nodes_.data(), nodes, sizeof(motley_node), 0};
    return graph;
  }

  Logger logger_{LogLevel::kError};
  Host host_{logger_};
  std::unique_ptr<PluginFolder> folder_;
  std::vector<motley_node> nodes_;
  std::unique_ptr<Backends> backends_;
};

TEST_F(DeviceTest, InfoIsCopied) {
  const Device& device = Make();
  EXPECT_EQ(device.name(), "fake:0");
  EXPECT_EQ(device.plugin(), "fake");
  EXPECT_EQ(device.info().kind, DeviceKind::kTest);
  EXPECT_EQ(device.info().arch, "fake-arch");
  EXPECT_EQ(device.info().pool, "ram");
  EXPECT_EQ(device.info().alignment, 64u);
  EXPECT_TRUE(device.info().device_sync());
  EXPECT_FALSE(device.info().row_invariant());
  ASSERT_EQ(device.info().rates.size(), 1u);
  EXPECT_EQ(device.info().rates[0].ops_per_s, 1e9);
  const StatusOr<MemoryInfo> memory = device.Memory();
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->free_bytes, 1u << 19);
}

// P09: a plugin sees the machine's 512 GiB, the process may use 12.
TEST_F(DeviceTest, FieldFailure_P09_TheContainersLimitCounts) {
  const MemoryInfo machine = {512ull << 30, 500ull << 30};
  const SystemMemory box = {12ull << 30, 10ull << 30, "memory.max"};
  for (const char* pool : {"ram", "ram:1"}) {
    EXPECT_EQ(WithinSystem(pool, machine, box).total_bytes, 12ull << 30);
    EXPECT_EQ(WithinSystem(pool, machine, box).free_bytes, 10ull << 30);
  }
  for (const char* pool : {"pci:0000:0a:00.0", "spark2/ram", "ramses"}) {
    EXPECT_EQ(WithinSystem(pool, machine, box).free_bytes, 500ull << 30);
  }
}

TEST_F(DeviceTest, BytesGoInAndOut) {
  Device& device = Make();
  Queue queue = *device.CreateQueue();
  Fence fence = *device.CreateFence(5);
  Buffer a = *device.AllocBuffer(64, Usage::kWork), b = *device.AllocBuffer(64, Usage::kWork);
  EXPECT_EQ(*fence.Query(), 5u);
  const char text[] = "sixteen bytes ..";
  char back[16] = {};
  const motley_point six = fence.At(6), seven = fence.At(7);
  const motley_sync first = MakeSync({}, {&six, 1}), second = MakeSync({&six, 1}, {&seven, 1});
  ASSERT_TRUE(queue.Write(a.Slice(8, 16), text, &first).ok());
  ASSERT_TRUE(fence.Wait(6).ok());
  ASSERT_TRUE(queue.Copy(b.Slice(0, 16), a.Slice(8, 16), &second).ok());
  ASSERT_TRUE(fence.Wait(7, 0).ok());
  ASSERT_TRUE(queue.Read(back, b.Slice(0, 16), nullptr).ok());
  ASSERT_TRUE(queue.Flush().ok());
  EXPECT_EQ(std::memcmp(back, text, 16), 0);
  EXPECT_EQ(queue.Copy(b.Slice(0, 8), a.Slice(0, 16), nullptr).code(), Code::kInvalidArgument);
  const StatusOr<std::byte*> mapped = b.Map(0, 64);
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(std::memcmp(*mapped, text, 16), 0);
  b.Unmap();
  EXPECT_EQ(b.Map(60, 5).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(b.Map(UINT64_MAX, 2).status().code(), Code::kInvalidArgument);
}

TEST_F(DeviceTest, FencesTimeOutAndPoison) {
  Device& device = Make();
  Fence fence = *device.CreateFence();
  EXPECT_EQ(fence.Wait(1, 1000000).code(), Code::kDeadlineExceeded);
  ASSERT_TRUE(fence.Signal(1).ok());
  EXPECT_TRUE(fence.Wait(1).ok());
  ASSERT_TRUE(fence.Poison(Code::kCancelled, "the user left").ok());
  EXPECT_EQ(fence.Wait(1).code(), Code::kCancelled);
  EXPECT_EQ(fence.Query().status().message(), "fake:0: fence_query: the user left");
  EXPECT_FALSE(fence.can_notify());
  EXPECT_EQ(fence
                .Notify(
                    1, [](void*, int32_t) {}, nullptr)
                .code(),
            Code::kUnimplemented);
}

TEST_F(DeviceTest, ErrorsNameTheDeviceAndWhatIsShort) {
  Device& device = Make();
  Status status = device.AllocBuffer(8192, Usage::kKv).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(), "fake:0: buffer_alloc: no room for the buffer (3 MiB short)");
  status = device.AllocBuffer(1 << 17, Usage::kKv).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_TRUE(Contains(status.message(), "at most 64 KiB (64 KiB short)"));
  EXPECT_EQ(device.AllocBuffer(0, Usage::kKv).status().code(), Code::kInvalidArgument);

  bool released = false;
  motley_range range{};
  range.size = sizeof range;
  range.released = [](void* arg) { *static_cast<bool*>(arg) = true; };
  range.arg = &released;
  EXPECT_EQ(device.ImportBuffer(range).status().code(), Code::kUnimplemented);
  EXPECT_TRUE(released);

  Device& failing = Make("supports_fails");
  const int64_t at[] = {1};
  EXPECT_EQ(failing.Supports(Graph(4), at).status().message(),
            "fake:0: supports: cannot read the node (node 3)");
}

TEST_F(DeviceTest, WhatThePluginAnswersIsChecked) {
  const auto alloc = [&](const char* fault) { return Make(fault).AllocBuffer(64, Usage::kWork).status(); };
  EXPECT_TRUE(Contains(alloc("null_buffer").message(), "buffer_alloc returned 0 and no buffer"));
  EXPECT_EQ(alloc("endless_text").message().size(), std::strlen("fake:0: buffer_alloc: ") + 240);
  EXPECT_EQ(alloc("odd_code").code(), Code::kInternal);
  EXPECT_TRUE(Contains(alloc("odd_code").message(), "an odd code (returned 4711, which is no code)"));
  EXPECT_EQ(Make("more_free_than_total").Memory().status().code(), Code::kInternal);

  motley_weight weight{};
  weight.size = sizeof weight;
  EXPECT_EQ(Make().PlanWeight(weight, 7)->layout, 7u);
  EXPECT_TRUE(
      Contains(Make("other_layout").PlanWeight(weight, 7).status().message(), "asked for layout 7, got 8"));
  EXPECT_TRUE(Contains(Make("plan_alignment").PlanWeight(weight, 7).status().message(), "alignment = 3"));
  EXPECT_TRUE(Contains(Make("plan_reserved").PlanWeight(weight, 7).status().message(), "reserved = 1: must be 0"));
  EXPECT_TRUE(Contains(Make("huge_plan").PlanWeight(weight, 7).status().message(), "above 2^60"));

  motley_kv_desc desc{};
  desc.size = sizeof desc;
  desc.page_tokens = 16;
  EXPECT_EQ(Make().PlanKv(desc)->page_bytes, 64u);
  EXPECT_TRUE(Contains(Make("kv_reserved").PlanKv(desc).status().message(), "kv_plan: reserved = 1: must be 0"));
  EXPECT_TRUE(Contains(Make("empty_page").PlanKv(desc).status().message(), "page_bytes = 0"));

  const auto supports = [&](const char* fault) {
    return Make(fault).Supports(Graph(2), {}).status().message();
  };
  EXPECT_TRUE(Contains(supports("odd_math"), "node 0: unknown math 99"));
  EXPECT_TRUE(Contains(supports("verdict_reserved"), "reserved = 1: must be 0"));
  EXPECT_TRUE(Contains(supports("nan_seconds"), "seconds is no number"));
  EXPECT_TRUE(Contains(supports("endless_verdict"), "its text has no end"));
  const StatusOr<std::vector<motley_verdict>> silent = Make("silent_refusal").Supports(Graph(2), {});
  ASSERT_TRUE(silent.ok());
  EXPECT_STREQ((*silent)[1].text, "no reason given");
  EXPECT_EQ((*silent)[1].reason, static_cast<uint32_t>(MOTLEY_UNIMPLEMENTED));

  EXPECT_TRUE(Contains(Make("null_program").Compile(Graph(1)).status().message(),
                       "compile returned 0 and no program"));
  EXPECT_TRUE(
      Contains(Make("program_alignment").Compile(Graph(1))->Info().status().message(), "alignment = 12"));
}

TEST_F(DeviceTest, OptionsReachThePlugin) {
  const StatusOr<Program> program = Make("", "fast").Compile(Graph(1));
  ASSERT_TRUE(program.ok());
  const StatusOr<ProgramInfo> info = program->Info();
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->kernels, 7u);
  EXPECT_EQ(info->workspace, 128u);
  EXPECT_EQ(info->notes, "devices=1;mode=fast;ratio=0.500000;team=0;");
}

TEST_F(DeviceTest, AnExceptionOfExecuteIsAStatus) {
  Device& device = Make("execute_throws");
  Queue queue = *device.CreateQueue();
  const Program program = *device.Compile(Graph(1));
  motley_bind bind{};
  bind.size = sizeof bind;
  const Status status = queue.Execute(program, bind, nullptr);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_TRUE(Contains(status.message(), "fake:0: execute: an exception came out of the plugin"));
}

TEST_F(DeviceTest, CallsThatSucceedAllocateNothing) {
  Device& device = Make();
  Queue queue = *device.CreateQueue();
  Fence fence = *device.CreateFence();
  Buffer a = *device.AllocBuffer(64, Usage::kWork), b = *device.AllocBuffer(64, Usage::kWork);
  const Program program = *device.Compile(Graph(1));
  motley_bind bind{};
  bind.size = sizeof bind;
  char bytes[64] = {};
  bool ok = true;
  const uint64_t before = allocations;
  for (uint64_t step = 1; step <= 100; ++step) {
    const motley_point done = fence.At(step);
    const motley_sync sync = MakeSync({}, {&done, 1});
    ok &= queue.Write(a.Whole(), bytes, nullptr).ok();
    ok &= queue.Copy(b.Whole(), a.Whole(), nullptr).ok();
    ok &= queue.Execute(program, bind, nullptr).ok();
    ok &= queue.Read(bytes, b.Whole(), &sync).ok();
    ok &= queue.Flush().ok();
    ok &= fence.Wait(step).ok() && fence.Query().ok();
  }
  const uint64_t after = allocations;
  EXPECT_TRUE(ok);
  EXPECT_EQ(after - before, 0u);
  std::string counted(100, 'x');  // the counter counts
  EXPECT_GT(allocations, after);
}

// A run of a team allocates nothing either.
TEST_F(DeviceTest, ATeamsRunAllocatesNothing) {
  Host host(logger_, [] {
    HostOptions options;
    options.threads = 2;
    return options;
  }());
  const motley_host* table = host.LendTo("test");
  motley_team* team = nullptr;
  ASSERT_EQ(table->team_create(table->self, 2, -1, &team), MOTLEY_OK);
  uint64_t counted[2] = {0, 0};
  for (int run = 0; run < 100; ++run) {
    const uint64_t before = allocations;
    table->team_run(
        team, [](void* arg, uint32_t i, uint32_t) { static_cast<uint64_t*>(arg)[i] = allocations; }, counted);
    ASSERT_EQ(allocations, before);
  }
  EXPECT_EQ(counted[1], 0u);  // the member allocated nothing since its thread began
  table->team_destroy(team);
}

TEST_F(DeviceTest, HandlesMove) {
  Device& device = Make();
  Buffer a = *device.AllocBuffer(64, Usage::kWork);
  const motley_buffer* raw = a.raw();
  Buffer b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(a.bytes(), 0u);
  EXPECT_EQ(b.raw(), raw);
  a = std::move(b);
  EXPECT_EQ(a.raw(), raw);
  EXPECT_EQ(a.bytes(), 64u);
  Fence f = *device.CreateFence(3), g;
  g = std::move(f);
  EXPECT_EQ(*g.Query(), 3u);
  EXPECT_FALSE(f);
  Queue q = *device.CreateQueue(), p;
  p = std::move(q);
  EXPECT_TRUE(p);
}

}  // namespace
}  // namespace motley
