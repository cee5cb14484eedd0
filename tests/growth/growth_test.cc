// A host of one minor runs the plugin of another. Compiled twice, by tests/growth/CMakeLists.txt: as the
// host 1.0 with the plugin 1.1, and as the host 1.1 with the plugin 1.0.
#include <gtest/gtest.h>
#include <motley/op_schema.hpp>

#include <cmath>
#include <cstring>

#include "core/backend/registry.h"

namespace motley {
namespace {

constexpr bool kHostIsNewer = MOTLEY_ABI_MINOR > GROWTH_PLUGIN_MINOR;
constexpr int64_t kRows = 3, kColumns = 8;
constexpr uint32_t kF32 = 0;

motley_str Str(std::string_view text) {
  return {text.data(), text.size()};
}
template <typename T>
motley_span Span(const std::vector<T>& values) {
  return {values.data(), values.size(), sizeof(T), 0};
}

// One node over x [T, K]: rms_norm with its weight [K] and eps, or whatever a test makes of it.
struct OneNode {
  std::vector<motley_tensor> tensors;
  std::vector<motley_node> nodes;
  std::vector<uint32_t> refs{0, 1, 2};
  std::vector<motley_value> attrs;
  std::vector<motley_dim> dims;
  motley_graph graph{};

  OneNode() {
    const std::pair<const char*, int64_t> symbols[] = {
        {"n_tokens", kRows}, {"n_seqs", 1}, {"n_out", 1}, {"n_pages", 1}, {"n_starts", 2}};
    for (const auto& [name, most] : symbols) {
      motley_dim dim{};
      dim.name = Str(name), dim.min = 1, dim.max = most;
      dims.push_back(dim);
    }
    const auto add = [&](uint32_t role, uint32_t layout, std::vector<int64_t> extents, const char* name) {
      motley_tensor t{};
      t.dtype = kF32, t.role = role, t.layout = layout, t.rank = static_cast<int32_t>(extents.size());
      std::copy(extents.begin(), extents.end(), t.dims);
      t.name = Str(name);
      tensors.push_back(t);
    };
    add(MOTLEY_ROLE_INPUT, 0, {~int64_t{MOTLEY_DIM_N_TOKENS}, kColumns}, "x");
    add(MOTLEY_ROLE_WEIGHT, MOTLEY_LAYOUT_F32, {kColumns}, "weight");
    add(MOTLEY_ROLE_OUTPUT, 0, {~int64_t{MOTLEY_DIM_N_TOKENS}, kColumns}, "y");
    motley_node node{};
    node.op = static_cast<uint32_t>(Op::kRMS_NORM), node.version = 1;
    node.in = 0, node.in_count = 2, node.out = 2, node.out_count = 1, node.attr = 0, node.attr_count = 1;
    nodes.push_back(node);
    motley_value eps{};
    eps.name = Str("eps"), eps.type = MOTLEY_TYPE_F64, eps.u.f = 0;
    attrs.push_back(eps);
  }
  const motley_graph& Abi() {
    graph.size = sizeof graph;
    graph.tensors = Span(tensors), graph.nodes = Span(nodes), graph.refs = Span(refs);
    graph.attrs = Span(attrs), graph.dims = Span(dims);
    return graph;
  }
  std::vector<int64_t> At() const { return {kRows, 1, 1, 1, 2}; }
};

class Growth : public ::testing::Test {
 protected:
  void SetUp() override {
    DiscoveryOptions options;
    options.paths = {GROWTH_PLUGINS};
    options.use_default_paths = false;
    options.plugins["ref"].options = {{"devices", int64_t{2}, ""}, {"threads", int64_t{1}, ""}};
    StatusOr<std::unique_ptr<Backends>> backends = Backends::Open(options, host_, logger_);
    ASSERT_TRUE(backends.ok()) << backends.status().ToString();
    backends_ = *std::move(backends);
    ASSERT_EQ(backends_->reports().size(), 1u);
    ASSERT_TRUE(backends_->reports()[0].used) << backends_->reports()[0].reason;
    device_ = backends_->devices()[0];
  }

  Logger logger_{LogLevel::kWarning};
  Host host_{logger_};
  std::unique_ptr<Backends> backends_;
  Device* device_ = nullptr;
};

TEST_F(Growth, HostAndPluginAreOfTwoMinors) {
  EXPECT_EQ(MOTLEY_ABI_MAJOR, 1u);
  EXPECT_EQ(device_->instance()->library().plugin().abi_minor, unsigned{GROWTH_PLUGIN_MINOR});
  const uint32_t theirs = device_->instance()->library().plugin().size, ours = sizeof(motley_plugin);
  EXPECT_EQ(theirs > ours, !kHostIsNewer) << theirs << " and " << ours;
  EXPECT_NE(theirs, ours);
}

// The schema's rows, the options' values and the devices' descriptions cross with strides and sizes of the
// other.
TEST_F(Growth, OptionsAndDevicesAreRead) {
  ASSERT_EQ(backends_->devices().size(), 2u);
  EXPECT_EQ(backends_->devices()[1]->name(), "ref:1");
  EXPECT_EQ(device_->info().pool, "ram");
  EXPECT_TRUE(device_->info().row_invariant());
  const PluginReport& report = backends_->reports()[0];
  ASSERT_EQ(report.options.size(), 2u);
  EXPECT_EQ(report.options[1].name, "devices");
  EXPECT_EQ(report.options[1].allowed, "1..4");
}

TEST_F(Growth, ASegmentRuns) {
  OneNode one;
  const std::vector<int64_t> at = one.At();
  const auto verdicts = device_->Supports(one.Abi(), at);
  ASSERT_TRUE(verdicts.ok()) << verdicts.status().ToString();
  ASSERT_EQ((*verdicts)[0].ok, 1u) << (*verdicts)[0].text;
  StatusOr<Program> program = device_->Compile(one.Abi());
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  const StatusOr<ProgramInfo> info = program->Info();
  ASSERT_TRUE(info.ok()) << info.status().ToString();

  std::vector<float> x(kRows * kColumns), w(kColumns), y(kRows * kColumns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 5;
  for (size_t i = 0; i < w.size(); ++i) w[i] = 1 + static_cast<float>(i);
  constexpr uint64_t kRowBytes = kRows * kColumns * sizeof(float), kWeightBytes = kColumns * sizeof(float);

  // The weight by weight_plan and weight_load, from a range in memory.
  motley_part part{};
  part.role = MOTLEY_PART_DATA, part.dtype = kF32, part.expert = -1, part.rank = 1, part.dims[0] = kColumns;
  part.src.size = sizeof part.src, part.src.base = w.data(), part.src.bytes = kWeightBytes, part.src.fd = -1;
  const std::vector<motley_part> parts{part};
  motley_weight weight{};
  weight.size = sizeof weight, weight.format = kF32, weight.rank = 1, weight.dims[0] = kColumns;
  weight.parts = Span(parts);
  const StatusOr<WeightPlan> plan = device_->PlanWeight(weight, MOTLEY_LAYOUT_F32);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ASSERT_EQ(plan->bytes, kWeightBytes);

  StatusOr<Queue> queue = device_->CreateQueue();
  StatusOr<Buffer> in = device_->AllocBuffer(kRowBytes, Usage::kWork),
                   out = device_->AllocBuffer(kRowBytes, Usage::kWork);
  StatusOr<Buffer> packed = device_->AllocBuffer(plan->bytes, Usage::kWeights);
  StatusOr<Buffer> work = device_->AllocBuffer(std::max<uint64_t>(info->workspace, 64), Usage::kWork);
  ASSERT_TRUE(queue.ok() && in.ok() && out.ok() && packed.ok() && work.ok());
  ASSERT_EQ(queue->LoadWeight(weight, MOTLEY_LAYOUT_F32, ~0u, {packed->raw(), 0, plan->bytes}, nullptr),
            OkStatus());
  ASSERT_EQ(queue->Write({in->raw(), 0, kRowBytes}, x.data(), nullptr), OkStatus());
  const std::vector<motley_slice> slices{
      {in->raw(), 0, kRowBytes}, {packed->raw(), 0, kWeightBytes}, {out->raw(), 0, kRowBytes}};
  motley_bind bind{};
  bind.size = sizeof bind, bind.slices = Span(slices), bind.workspace = {work->raw(), 0, info->workspace};
  bind.dims = at.data(), bind.dim_count = at.size();
  ASSERT_EQ(queue->Execute(*program, bind, nullptr), OkStatus());
  ASSERT_EQ(queue->Read(y.data(), {out->raw(), 0, kRowBytes}, nullptr), OkStatus());
  for (int64_t row = 0; row < kRows; ++row) {
    double squares = 0;
    for (int64_t i = 0; i < kColumns; ++i) squares += std::pow(static_cast<double>(x[row * kColumns + i]), 2);
    for (int64_t i = 0; i < kColumns; ++i) {
      const double expected = x[row * kColumns + i] / std::sqrt(squares / kColumns) * w[i];
      EXPECT_NEAR(y[row * kColumns + i], expected, 1e-5) << row << ", " << i;
    }
  }
  // A failure's text crosses too, in an error of the host's size.
  const Status refused = queue->Execute(
      *program,
      [&] {
        motley_bind b = bind;
        b.dim_count = 2;
        return b;
      }(),
      nullptr);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_NE(refused.message().find("2 dims given, the graph has 5"), std::string::npos) << refused.message();
}

TEST_F(Growth, PagesArePlanned) {
  motley_kv_desc desc{};
  desc.size = sizeof desc, desc.kind = MOTLEY_KV_GQA, desc.dtype = kF32;
  desc.page_tokens = 4, desc.n_kv_heads = 2, desc.k_dim = desc.v_dim = 8;
  const auto plan = device_->PlanKv(desc);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->page_bytes, 4u * 2 * (8 + 8) * sizeof(float));
}

// An op that the plugin has never heard of is refused, by its id, and an attribute by its name; nothing is
// ignored.
TEST_F(Growth, WhatThePluginDoesNotKnowIsRefused) {
  OneNode op;
#ifdef MOTLEY_IFACE_NEXT
  op.nodes[0].op = static_cast<uint32_t>(Op::kNEXT_SCALE);
  op.refs = {0, 2};
  op.nodes[0].in_count = 1, op.nodes[0].out = 1, op.nodes[0].attr_count = 0;
#else
  op.nodes[0].op = 4711;
#endif
  const std::string id = std::to_string(op.nodes[0].op);
  OneNode attr;
  motley_value next{};
  next.name = Str("next_attribute"), next.type = MOTLEY_TYPE_I64, next.u.i = 1;
  attr.attrs.push_back(next);
  attr.nodes[0].attr_count = 2;
  const struct {
    OneNode& node;
    std::string says;
  } rows[] = {{op, "op " + id + " is unknown"}, {attr, "attribute next_attribute is unknown"}};
  for (const auto& row : rows) {
    const auto verdicts = device_->Supports(row.node.Abi(), row.node.At());
    ASSERT_TRUE(verdicts.ok()) << verdicts.status().ToString();
    EXPECT_EQ((*verdicts)[0].ok, 0u);
    EXPECT_EQ((*verdicts)[0].reason, unsigned{MOTLEY_UNIMPLEMENTED});
    EXPECT_NE(std::string((*verdicts)[0].text).find(row.says), std::string::npos) << (*verdicts)[0].text;
    const StatusOr<Program> program = device_->Compile(row.node.Abi());
    ASSERT_FALSE(program.ok());
    EXPECT_EQ(program.status().code(), Code::kUnimplemented);
    EXPECT_NE(program.status().message().find(row.says), std::string::npos) << program.status().message();
  }
}

// An interface is asked for by id: a plugin that has none of it says so, and the host goes on without.
TEST_F(Growth, AnInterfaceThatIsNotThereIsRefused) {
  const motley_plugin& plugin = device_->instance()->library().plugin();
  const void* table = &plugin;
  EXPECT_EQ(plugin.get_interface(device_->instance()->raw(), 100, 1, &table), MOTLEY_UNIMPLEMENTED);
  EXPECT_EQ(table, nullptr);
  // A function appended to the compute table is behind its size for the older one, and NULL in the newer.
#ifdef MOTLEY_IFACE_NEXT
  EXPECT_FALSE(MOTLEY_HAS(&device_->compute(), motley_compute, grown));
#else
  EXPECT_GT(device_->compute().size, sizeof(motley_compute));
#endif
}

}  // namespace
}  // namespace motley
