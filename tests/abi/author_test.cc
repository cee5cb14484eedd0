// The author's headers (plugin.hpp and what it brings), without a plugin.
#include <gtest/gtest.h>
#include <motley/host_device.hpp>
#include <motley/options.hpp>
#include <motley/workspace.hpp>

#include <atomic>
#include <limits>
#include <set>
#include <stdexcept>

#include "tools/conformance/client.h"

namespace motley::plugin {
namespace {

using conformance::AbiValues;
using conformance::Error;
using conformance::kF32;
using conformance::kTokens;
using conformance::TestGraph;

TEST(Author, NoExceptionLeavesAGuard) {
  Error err;
  EXPECT_EQ(Guard(&err, []() -> Fault { throw std::runtime_error("boom"); }), MOTLEY_INTERNAL);
  EXPECT_STREQ(err.text, "exception in the plugin: boom");
  EXPECT_EQ(Guard(&err, []() -> Fault { throw 7; }), MOTLEY_INTERNAL);
  EXPECT_EQ(Guard(&err, []() -> Fault { throw std::bad_alloc(); }), MOTLEY_RESOURCE_EXHAUSTED);
  EXPECT_EQ(Guard(nullptr, []() -> Fault { throw std::runtime_error("boom"); }), MOTLEY_INTERNAL);
  GuardVoid([] { throw 7; });
  EXPECT_EQ(Guard(&err, []() -> Fault { return {}; }), MOTLEY_OK);
}

TEST(Author, TextsAreCutBetweenCharacters) {
  char out[6];
  CopyText("abc\xc3\xa9\xc3\xa9", out, sizeof out);  // "abcéé": the second é would be cut in two
  EXPECT_STREQ(out, "abc\xc3\xa9");
  CopyText("", out, sizeof out);
  EXPECT_STREQ(out, "");
  Error err;
  Report(&err, Fail(MOTLEY_NOT_FOUND, "%s", std::string(400, 'x').c_str()));
  EXPECT_EQ(std::strlen(err.text), sizeof err.text - 1);
}

// A host of a later minor has longer structs in its spans: the stride says so.
TEST(Author, SpansAreReadByTheirStride) {
  struct Longer {
    motley_dim dim;
    int64_t appended;
  } dims[3] = {};
  for (int i = 0; i < 3; ++i) dims[i] = {{Str("d"), i, 10 * i}, -1};
  const motley_span span = {dims, 3, sizeof(Longer), 0};
  ASSERT_TRUE(CheckSpan<motley_dim>(span, "dims").ok());
  const SpanView<motley_dim> view(span);
  ASSERT_EQ(view.size(), 3u);
  EXPECT_EQ(view[2].max, 20);
  int64_t sum = 0;
  for (const motley_dim dim : view) sum += dim.min;
  EXPECT_EQ(sum, 3);
  EXPECT_FALSE(CheckSpan<motley_dim>({dims, 3, 8, 0}, "dims").ok());
  EXPECT_FALSE(CheckSpan<motley_dim>({nullptr, 3, sizeof(Longer), 0}, "dims").ok());
  EXPECT_FALSE(CheckSpan<motley_dim>({dims, ~0ull, sizeof(Longer), 0}, "dims").ok());
}

constexpr motley_option kSchema[] = {
    OptionRow("threads", MOTLEY_TYPE_I64, "4", "1..16", ""),
    OptionRow("ratio", MOTLEY_TYPE_F64, "0.5", "0..1", ""),
    OptionRow("fast", MOTLEY_TYPE_BOOL, "true", "", ""),
    OptionRow("mode", MOTLEY_TYPE_STR, "auto", "auto|avx2|avx512", ""),
    OptionRow("paths", MOTLEY_TYPE_STR_LIST, "", "", ""),
    OptionRow("worker.*.address", MOTLEY_TYPE_STR, "", "", ""),
};

Fault ParseOptions(const conformance::OptionMap& map, Options* out) {
  const std::vector<motley_value> values = AbiValues(map);
  return Options::Parse(SpanOf(values.data(), values.size()), kSchema, out);
}

TEST(Author, OptionsHaveTheirFallbacks) {
  Options options;
  ASSERT_TRUE(ParseOptions({}, &options).ok());
  EXPECT_EQ(options.I64("threads"), 4);
  EXPECT_EQ(options.F64("ratio"), 0.5);
  EXPECT_TRUE(options.Bool("fast"));
  EXPECT_EQ(options.Text("mode"), "auto");
  EXPECT_TRUE(options.List("paths").empty());
  ASSERT_TRUE(ParseOptions({{"threads", int64_t{16}},
                            {"fast", false},
                            {"mode", std::string("avx2")},
                            {"paths.0", std::string("a")},
                            {"paths.1", std::string("b")},
                            {"worker.3.address", std::string("h:1")}},
                           &options)
                  .ok());
  EXPECT_EQ(options.I64("threads"), 16);
  EXPECT_FALSE(options.Bool("fast"));
  EXPECT_EQ(options.Text("mode"), "avx2");
  EXPECT_EQ(options.List("paths"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.Text("worker.3.address"), "h:1");
}

TEST(Author, OptionsAreHeldAgainstTheSchema) {
  Options options;
  EXPECT_EQ(ParseOptions({{"threads", int64_t{17}}}, &options).text, "option threads = 17: must be 1..16");
  EXPECT_EQ(ParseOptions({{"mode", std::string("avx")}}, &options).text,
            "option mode = avx: must be auto|avx2|avx512");
  EXPECT_EQ(ParseOptions({{"mode", int64_t{1}}}, &options).text, "option mode: has type 1, must have 4");
  EXPECT_EQ(ParseOptions({{"worker.3.port", int64_t{1}}}, &options).text, "option worker.3.port: unknown");
  EXPECT_EQ(ParseOptions({{"ratio", 1.5}}, &options).code, MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(ParseOptions({{"ratio", std::numeric_limits<double>::quiet_NaN()}}, &options).code,
            MOTLEY_INVALID_ARGUMENT);
}

// A chain of temps: those alive together are apart, the others share.
TEST(Author, WorkspaceKeepsLiveTempsApart) {
  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, kF32, {kTokens, 10});
  std::vector<uint32_t> temps = {x};
  for (int i = 0; i < 6; ++i) {
    const uint32_t y = g.Tensor(MOTLEY_ROLE_TEMP, kF32, {kTokens, 10});
    g.Node(Op::kADD, {temps.back(), temps[temps.size() / 2]}, {y});
    temps.push_back(y);
  }
  g.Node(Op::kADD, {temps.back(), x}, {g.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, 10})});
  CheckedGraph graph;
  ASSERT_TRUE(CheckGraph(g.Abi(), &graph).ok());
  ASSERT_TRUE(graph.FirstFault().ok());
  const WorkspacePlan plan = PlanWorkspace(graph, 64);
  const uint64_t size = 64 * 10 * 4;
  EXPECT_LT(plan.bytes, 6 * size) << "some are shared";
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    // What this node reads and writes, and what later nodes read that was written before.
    std::set<uint32_t> live;
    for (size_t m = 0; m < graph.nodes.size(); ++m) {
      for (const uint32_t id : graph.nodes[m].in) {
        if (m >= n && graph.tensors[id].role == MOTLEY_ROLE_TEMP && id < graph.nodes[n].out[0])
          live.insert(id);
      }
    }
    if (graph.tensors[graph.nodes[n].out[0]].role == MOTLEY_ROLE_TEMP) live.insert(graph.nodes[n].out[0]);
    for (const uint32_t a : live) {
      EXPECT_LE(plan.offsets[a] + size, plan.bytes);
      EXPECT_EQ(plan.offsets[a] % 64, 0u);
      for (const uint32_t b : live) {
        const bool apart =
            plan.offsets[a] + size <= plan.offsets[b] || plan.offsets[b] + size <= plan.offsets[a];
        EXPECT_TRUE(a == b || apart) << a << " and " << b << " at node " << n;
      }
    }
  }
}

TEST(Author, SharesCoverEverythingOnce) {
  for (const int64_t count : {0, 1, 7, 64, 1000}) {
    for (const uint32_t n : {1u, 3u, 16u}) {
      int64_t next = 0;
      for (uint32_t i = 0; i < n; ++i) {
        const auto [begin, end] = Share(count, i, n, 8);
        EXPECT_EQ(begin, next);
        EXPECT_LE(begin, end);
        next = end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(Author, AFaultInATeamMemberComesBackToTheCaller) {
  Team team;
  ASSERT_TRUE(team.Create(conformance::TestHost(), 3, -1).ok());
  EXPECT_EQ(team.threads(), 3u);
  std::atomic<int> ran{0};
  EXPECT_THROW(team.Run([&](uint32_t i, uint32_t) {
    ++ran;
    if (i == 2) throw std::runtime_error("member 2");
  }),
               std::runtime_error);
  EXPECT_EQ(ran, 3);
  team.Run([&](uint32_t, uint32_t n) { EXPECT_EQ(n, 3u); });
}

// team_run returns nothing, and a host may refuse: a run inside a run, or two of one team at once.
TEST(Author, ARunThatTheHostRefusesIsNoSuccess) {
  motley_host host = *conformance::TestHost();
  host.team_run = [](motley_team*, void (*)(void*, uint32_t, uint32_t), void*) {};
  Team team;
  ASSERT_TRUE(team.Create(&host, 2, -1).ok());
  bool ran = false;
  EXPECT_THROW(team.Run([&](uint32_t, uint32_t) { ran = true; }), std::runtime_error);
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace motley::plugin
