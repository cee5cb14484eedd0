#include "tools/conformance/client.h"

#include <dlfcn.h>

#include <cstdio>
#include <thread>

namespace motley::conformance {
namespace {

struct Team {
  uint32_t threads;
};

void Log(void*, uint32_t level, motley_str scope, motley_str text) {
  if (level < 2) return;
  std::fprintf(stderr, "[%.*s] %.*s\n", static_cast<int>(scope.size), scope.data, static_cast<int>(text.size),
               text.data);
}
motley_status TeamCreate(void*, uint32_t threads, int32_t, motley_team** out) {
  *out = reinterpret_cast<motley_team*>(new Team{threads});
  return MOTLEY_OK;
}
void TeamRun(motley_team* team, void (*fn)(void*, uint32_t, uint32_t), void* arg) {
  const uint32_t n = reinterpret_cast<Team*>(team)->threads;
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < n; ++i) others.emplace_back([=] { fn(arg, i, n); });
  fn(arg, 0, n);
  for (std::thread& thread : others) thread.join();
}
void TeamDestroy(motley_team* team) {
  delete reinterpret_cast<Team*>(team);
}

}  // namespace

const motley_host* TestHost() {
  static const motley_host host = {sizeof(motley_host), MOTLEY_ABI_MINOR, nullptr,    Log,
                                   TeamCreate,          TeamRun,          TeamDestroy};
  return &host;
}

std::vector<motley_value> AbiValues(const OptionMap& options) {
  std::vector<motley_value> values;
  for (const auto& [name, value] : options) {
    motley_value v{};
    v.name = Str(name);
    if (const auto* i = std::get_if<int64_t>(&value)) {
      v.type = MOTLEY_TYPE_I64;
      v.u.i = *i;
    } else if (const auto* f = std::get_if<double>(&value)) {
      v.type = MOTLEY_TYPE_F64;
      v.u.f = *f;
    } else if (const auto* b = std::get_if<bool>(&value)) {
      v.type = MOTLEY_TYPE_BOOL;
      v.u.i = *b;
    } else {
      v.type = MOTLEY_TYPE_STR;
      v.u.s = Str(std::get<std::string>(value));
    }
    values.push_back(v);
  }
  return values;
}

Client::Client(const std::string& path, const OptionMap& options) {
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) throw std::runtime_error(dlerror());
  using Query = const motley_plugin* (*)(uint32_t, uint32_t);
  const Query query = reinterpret_cast<Query>(dlsym(library_, "motley_plugin_query"));
  if (!query) throw std::runtime_error("no motley_plugin_query in " + path);
  plugin = query(MOTLEY_ABI_MAJOR, MOTLEY_ABI_MINOR);
  const std::vector<motley_value> values = AbiValues(options);
  Error err;
  if (plugin->open(TestHost(), {values.data(), values.size(), sizeof(motley_value), 0}, &instance, &err) !=
      MOTLEY_OK) {
    throw std::runtime_error(err.Text());
  }
  const void* table = nullptr;
  if (plugin->get_interface(instance, MOTLEY_IFACE_COMPUTE, 1, &table) != MOTLEY_OK) {
    throw std::runtime_error("no compute interface");
  }
  api = static_cast<const motley_compute*>(table);
  uint32_t count = 0;
  EXPECT_EQ(api->devices(instance, nullptr, 0, &count), MOTLEY_OK);
  devices.resize(count);
  EXPECT_EQ(api->devices(instance, devices.data(), count, &count), MOTLEY_OK);
}

Client::~Client() {
  Error err;
  if (instance) {
    EXPECT_EQ(plugin->close(instance, &err), MOTLEY_OK) << err.Text();
  }
  if (library_) dlclose(library_);
}

motley_device_info Client::Info(size_t device) const {
  motley_device_info info{};
  info.size = sizeof info;
  Error err;
  EXPECT_EQ(api->device_info(devices[device], &info, &err), MOTLEY_OK) << err.Text();
  return info;
}

// ---- Graphs
// -------------------------------------------------------------------------------------------------------

TestGraph::TestGraph() {
  const int64_t max[MOTLEY_DIM_COUNT] = {64, 8, 64, 64, 9};
  const char* names[MOTLEY_DIM_COUNT] = {"n_tokens", "n_seqs", "n_out", "n_pages", "n_starts"};
  for (uint32_t i = 0; i < MOTLEY_DIM_COUNT; ++i) dims.push_back({Str(names[i]), 0, max[i]});
}

uint32_t TestGraph::Tensor(uint32_t role, uint32_t dtype, std::vector<int64_t> dims, uint32_t layout,
                           const char* name) {
  motley_tensor t{};
  t.dtype = dtype;
  t.role = role;
  t.rank = static_cast<int32_t>(dims.size());
  t.layout = layout;
  std::copy(dims.begin(), dims.end(), t.dims);
  t.name = Str(name);
  tensors.push_back(t);
  return static_cast<uint32_t>(tensors.size() - 1);
}

void TestGraph::Node(Op op, std::vector<uint32_t> in, std::vector<uint32_t> out,
                     std::vector<Attr> node_attrs) {
  motley_node node{};
  node.op = static_cast<uint32_t>(op);
  node.version = 1;
  node.in = static_cast<uint32_t>(refs.size());
  node.in_count = static_cast<uint32_t>(in.size());
  refs.insert(refs.end(), in.begin(), in.end());
  node.out = static_cast<uint32_t>(refs.size());
  node.out_count = static_cast<uint32_t>(out.size());
  refs.insert(refs.end(), out.begin(), out.end());
  node.attr = static_cast<uint32_t>(attrs.size());
  node.attr_count = static_cast<uint32_t>(node_attrs.size());
  for (const Attr& attr : node_attrs) {
    names_.push_back(std::make_unique<std::string>(attr.name));
    motley_value value{};
    value.name = Str(*names_.back());
    if (const auto* i = std::get_if<int64_t>(&attr.value)) {
      value.type = MOTLEY_TYPE_I64;
      value.u.i = *i;
    } else {
      value.type = MOTLEY_TYPE_F64;
      value.u.f = std::get<double>(attr.value);
    }
    attrs.push_back(value);
  }
  nodes.push_back(node);
}

motley_graph* TestGraph::Abi() {
  graph_ = {};
  graph_.size = sizeof graph_;
  graph_.tensors = {tensors.data(), tensors.size(), sizeof(motley_tensor), 0};
  graph_.nodes = {nodes.data(), nodes.size(), sizeof(motley_node), 0};
  graph_.refs = {refs.data(), refs.size(), sizeof(uint32_t), 0};
  graph_.attrs = {attrs.data(), attrs.size(), sizeof(motley_value), 0};
  graph_.dims = {dims.data(), dims.size(), sizeof(motley_dim), 0};
  return &graph_;
}

// ---- A device at work
// ---------------------------------------------------------------------------------------------

Session::Session(const Client& client, size_t index)
    : api(client.api), device(client.devices.at(index)), client_(client) {
  Error err;
  EXPECT_EQ(api->queue_create(device, 0, &queue, &err), MOTLEY_OK) << err.Text();
  NewFence();
}

Session::~Session() {
  api->queue_destroy(queue);
  for (motley_program* program : programs_) api->program_destroy(program);
  for (motley_buffer* buffer : buffers_) api->buffer_free(buffer);
  api->fence_destroy(fence_);
  for (motley_fence* fence : old_fences_) api->fence_destroy(fence);
}

void Session::NewFence() {
  if (fence_) old_fences_.push_back(fence_);
  Error err;
  EXPECT_EQ(api->fence_create(client_.instance, 0, &fence_, &err), MOTLEY_OK) << err.Text();
  value_ = 0;
}

const motley_sync* Session::Next() {
  point_ = {fence_, ++value_};
  sync_ = {{nullptr, 0, sizeof(motley_point), 0}, {&point_, 1, sizeof(motley_point), 0}};
  return &sync_;
}

motley_status Session::Wait(std::string* text) {
  Error err;
  const motley_status status = api->fence_wait(fence_, value_, 20'000'000'000ull, &err);
  if (status != MOTLEY_OK) {
    if (text) *text = err.text;
    NewFence();
  }
  return status;
}

motley_slice Session::Alloc(uint64_t bytes, uint32_t usage) {
  motley_buffer* buffer = nullptr;
  Error err;
  EXPECT_EQ(api->buffer_alloc(device, bytes, usage, &buffer, &err), MOTLEY_OK) << err.Text();
  if (buffer) buffers_.push_back(buffer);
  return {buffer, 0, bytes};
}

void Session::Write(motley_slice dst, const void* src) {
  Error err;
  ASSERT_EQ(api->write(queue, dst, src, Next(), &err), MOTLEY_OK) << err.Text();
  std::string text;
  ASSERT_EQ(Wait(&text), MOTLEY_OK) << text;
}

void Session::Read(void* dst, motley_slice src) {
  Error err;
  ASSERT_EQ(api->read(queue, dst, src, Next(), &err), MOTLEY_OK) << err.Text();
  std::string text;
  ASSERT_EQ(Wait(&text), MOTLEY_OK) << text;
}

namespace {

// A motley_weight of one part, or of two. Not copyable: the spans point inside.
class WeightArgument {
 public:
  WeightArgument(const std::vector<uint8_t>& bytes, uint32_t format, const std::vector<int64_t>& dims,
                 const float* scale) {
    parts_[0] = Part(MOTLEY_PART_DATA, format, dims, bytes.data(), bytes.size());
    if (scale) parts_[1] = Part(MOTLEY_PART_SCALE2, kF32, {1}, scale, sizeof *scale);
    weight.size = sizeof weight;
    weight.format = format;
    weight.rank = static_cast<uint32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), weight.dims);
    weight.parts = {parts_, scale ? 2u : 1u, sizeof(motley_part), 0};
    weight.name = Str("w");
  }
  WeightArgument(const WeightArgument&) = delete;
  WeightArgument& operator=(const WeightArgument&) = delete;
  const motley_range& range() const { return parts_[0].src; }

  motley_weight weight{};

 private:
  static motley_part Part(uint32_t role, uint32_t format, const std::vector<int64_t>& dims, const void* data,
                          uint64_t bytes) {
    motley_part part{};
    part.role = role;
    part.dtype = format;
    part.expert = -1;
    part.rank = static_cast<uint32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), part.dims);
    part.src.size = sizeof(motley_range);
    part.src.base = data;
    part.src.bytes = bytes;
    part.src.fd = -1;
    return part;
  }

  motley_part parts_[2] = {};
};

}  // namespace

motley_slice Session::LoadWeight(const std::vector<uint8_t>& bytes, uint32_t format,
                                 std::vector<int64_t> dims, uint32_t layout, const float* scale) {
  const WeightArgument argument(bytes, format, dims, scale);
  motley_weight_plan plan{};
  plan.size = sizeof plan;
  Error err;
  EXPECT_EQ(api->weight_plan(device, &argument.weight, layout, &plan, &err), MOTLEY_OK) << err.Text();
  if (err.code != 0) return {};
  if (plan.bytes == 0) {
    EXPECT_FALSE(scale) << "a weight in place has no room for its scale";
    motley_buffer* buffer = nullptr;
    EXPECT_EQ(api->buffer_import(device, &argument.range(), &buffer, &err), MOTLEY_OK) << err.Text();
    if (buffer) buffers_.push_back(buffer);
    return {buffer, 0, bytes.size()};
  }
  const motley_slice dst = Alloc(plan.bytes, MOTLEY_USAGE_WEIGHTS);
  EXPECT_EQ(api->weight_load(queue, &argument.weight, layout, ~0u, dst, Next(), &err), MOTLEY_OK)
      << err.Text();
  std::string text;
  EXPECT_EQ(Wait(&text), MOTLEY_OK) << text;
  return dst;
}

motley_status Session::PlanWeight(const std::vector<uint8_t>& bytes, uint32_t format,
                                  std::vector<int64_t> dims, uint32_t layout, const float* scale,
                                  std::string* text) {
  const WeightArgument argument(bytes, format, dims, scale);
  motley_weight_plan plan{};
  plan.size = sizeof plan;
  Error err;
  const motley_status status = api->weight_plan(device, &argument.weight, layout, &plan, &err);
  *text = err.text;
  return status;
}

motley_status Session::TryKvPlan(uint32_t dtype, uint32_t page_tokens, uint32_t heads, uint32_t k_dim,
                                 uint32_t v_dim, motley_kv_plan* plan, std::string* text) {
  const motley_kv_desc desc = {sizeof desc, MOTLEY_KV_GQA, dtype, page_tokens, heads, k_dim, v_dim, 0};
  *plan = {};
  plan->size = sizeof *plan;
  Error err;
  const motley_status status = api->kv_plan(device, &desc, plan, &err);
  *text = err.text;
  return status;
}

motley_kv_plan Session::KvPlan(uint32_t dtype, uint32_t page_tokens, uint32_t heads, uint32_t k_dim,
                               uint32_t v_dim) {
  motley_kv_plan plan;
  std::string text;
  EXPECT_EQ(TryKvPlan(dtype, page_tokens, heads, k_dim, v_dim, &plan, &text), MOTLEY_OK) << text;
  return plan;
}

motley_verdict Session::Judge(TestGraph& graph) {
  motley_verdict verdict{};
  const int64_t at[MOTLEY_DIM_COUNT] = {1, 1, 1, 1, 2};
  Error err;
  EXPECT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(api->supports(device, graph.Abi(), at, MOTLEY_DIM_COUNT, {&verdict, 1, sizeof verdict, 0}, &err),
            MOTLEY_OK)
      << err.Text();
  return verdict;
}

Refusal Session::Settle(TestGraph& graph) {
  std::vector<motley_verdict> verdicts(graph.nodes.size());
  const int64_t at[MOTLEY_DIM_COUNT] = {1, 1, 1, 1, 2};
  Error err;
  const motley_status status =
      api->supports(device, graph.Abi(), at, MOTLEY_DIM_COUNT,
                    {verdicts.data(), verdicts.size(), sizeof(motley_verdict), 0}, &err);
  if (status != MOTLEY_OK) return {status, err.text};
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (!verdicts[i].ok) return {static_cast<int32_t>(verdicts[i].reason), verdicts[i].text};
    const motley_node& node = graph.nodes[i];
    for (uint32_t r = node.in; r < node.in + node.in_count; ++r) {
      if (graph.refs[r] == MOTLEY_NO_TENSOR) continue;
      motley_tensor& tensor = graph.tensors[graph.refs[r]];
      if (tensor.role == MOTLEY_ROLE_WEIGHT && tensor.rank >= 2) tensor.layout = verdicts[i].layouts[0];
    }
  }
  return {MOTLEY_OK, "", verdicts.back().math};
}

motley_program* Session::Compile(TestGraph& graph) {
  motley_program* program = nullptr;
  Error err;
  EXPECT_EQ(api->compile(device, graph.Abi(), {nullptr, 0, sizeof(motley_value), 0}, &program, &err),
            MOTLEY_OK)
      << err.Text();
  if (!program) return nullptr;
  programs_.push_back(program);
  motley_program_info info{};
  info.size = sizeof info;
  EXPECT_EQ(api->program_info(program, &info, &err), MOTLEY_OK) << err.Text();
  workspaces_[program] = info.workspace ? Alloc(info.workspace) : motley_slice{};
  return program;
}

motley_status Session::Run(motley_program* program, const std::vector<motley_slice>& slices,
                           const std::vector<int64_t>& dims, std::string* text, uint64_t bind_id) {
  motley_bind bind{};
  bind.size = sizeof bind;
  bind.bind_id = bind_id;
  bind.slices = {slices.data(), slices.size(), sizeof(motley_slice), 0};
  bind.workspace = workspaces_[program];
  bind.dims = dims.data();
  bind.dim_count = dims.size();
  Error err;
  const motley_status status = api->execute(queue, program, &bind, Next(), &err);
  if (status != MOTLEY_OK) {
    if (text) *text = err.text;
    --value_;
    return status;
  }
  return Wait(text);
}

}  // namespace motley::conformance
