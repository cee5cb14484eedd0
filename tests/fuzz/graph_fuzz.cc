// Graphs as a plugin sees them: one node of every op, mutated by the fuzzer, to `ref`'s supports and compile,
// which check them by graph_check.hpp. Garbage must become a refusal, never a crash.
//
// Names stay readable: a plugin cannot know where a pointer leads.
#include <motley/plugin.h>
#include <motley/op_schema.hpp>

#include <cctype>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_bytes.h"

namespace motley::fuzz {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

motley_str Str(std::string_view text) {
  return {text.data(), text.size()};
}

// What the names of the op table's shapes and attributes stand for; any other name is 8.
int64_t ExtentOf(std::string_view name) {
  const struct {
    std::string_view name;
    int64_t value;
  } rows[] = {{"T", ~int64_t{MOTLEY_DIM_N_TOKENS}},
              {"S", ~int64_t{MOTLEY_DIM_N_SEQS}},
              {"S1", ~int64_t{MOTLEY_DIM_N_STARTS}},
              {"n_heads", 4},
              {"n_kv_heads", 2},
              {"rotary_dim", 8},
              {"R", 4},
              {"rope_style", 0},
              {"page_tokens", 16},
              {"kv_format", 0},
              {"page_bytes", 16 * 2 * (8 + 8) * 4}};
  if (std::isdigit(static_cast<unsigned char>(name[0]))) return std::atoll(std::string(name).c_str());
  for (const auto& row : rows) {
    if (row.name == name) return row.value;
  }
  return 8;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == separator)
      words.emplace_back();
    else if (c != ' ')
      words.back() += c;
  }
  return words;
}

// A right graph: a node of each op over tensors of its own.
struct Graph {
  std::vector<motley_tensor> tensors;
  std::vector<motley_node> nodes;
  std::vector<uint32_t> refs;
  std::vector<motley_value> attrs;
  std::vector<motley_dim> dims;
  motley_graph abi{};

  Graph() {
    const std::string_view names[] = {"n_tokens", "n_seqs", "n_out", "n_pages", "n_starts"};
    for (const std::string_view name : names) dims.push_back({Str(name), 1, 64});
    for (const OpSchema& op : OpTable()) {
      motley_node node{};
      node.op = static_cast<uint32_t>(op.op), node.version = op.version;
      node.in = static_cast<uint32_t>(refs.size()), node.in_count = static_cast<uint32_t>(op.inputs.size());
      for (const OperandSchema& operand : op.inputs) Add(operand, MOTLEY_ROLE_INPUT);
      node.out = static_cast<uint32_t>(refs.size()),
      node.out_count = static_cast<uint32_t>(op.outputs.size());
      for (const OperandSchema& operand : op.outputs) Add(operand, MOTLEY_ROLE_OUTPUT);
      node.attr = static_cast<uint32_t>(attrs.size()),
      node.attr_count = static_cast<uint32_t>(op.attrs.size());
      for (const AttrSchema& attr : op.attrs) {
        motley_value value{Str(attr.name), attr.type, 0, {0}};
        if (attr.type == MOTLEY_TYPE_I64) value.u.i = ExtentOf(attr.name);
        if (attr.type == MOTLEY_TYPE_F64) value.u.f = 0.25;
        attrs.push_back(value);
      }
      nodes.push_back(node);
    }
    abi.size = sizeof abi;
    abi.tensors = {tensors.data(), tensors.size(), sizeof(motley_tensor), 0};
    abi.nodes = {nodes.data(), nodes.size(), sizeof(motley_node), 0};
    abi.refs = {refs.data(), refs.size(), sizeof(uint32_t), 0};
    abi.attrs = {attrs.data(), attrs.size(), sizeof(motley_value), 0};
    abi.dims = {dims.data(), dims.size(), sizeof(motley_dim), 0};
  }

 private:
  void Add(const OperandSchema& operand, uint32_t role) {
    constexpr uint32_t kF32 = 0, kI32 = 26, kU8 = 256;
    motley_tensor t{};
    t.role = role, t.name = Str(operand.name);
    t.dtype = operand.kind == OperandKind::kI32 ? kI32 : operand.kind == OperandKind::kSTATE ? kU8 : kF32;
    if (operand.kind == OperandKind::kWEIGHT || operand.kind == OperandKind::kVECTOR)
      t.role = MOTLEY_ROLE_WEIGHT;
    if (operand.kind == OperandKind::kVECTOR) t.layout = MOTLEY_LAYOUT_F32;
    if (operand.kind == OperandKind::kSTATE) t.role = MOTLEY_ROLE_STATE, t.layout = 1;  // of ref's kv_plan
    for (const std::string& term : Split(operand.shape, ',')) {
      const std::vector<std::string> factors = Split(term, '*');
      int64_t extent = ExtentOf(factors[0]);
      for (size_t i = 1; i < factors.size(); ++i) extent *= ExtentOf(factors[i]);
      t.dims[t.rank++] = extent;
    }
    refs.push_back(static_cast<uint32_t>(tensors.size()));
    tensors.push_back(t);
  }
};

// One change of a field by a value that is small, near an end, or anything.
template <typename T>
void Change(T& field, FuzzBytes& bytes) {
  switch (bytes.Choose(4)) {
    case 0: field = static_cast<T>(bytes.Choose(32)); break;
    case 1: field = static_cast<T>(field + 1 - static_cast<T>(bytes.Choose(3))); break;
    case 2: field = static_cast<T>(~static_cast<T>(bytes.Choose(8))); break;
    default: field = bytes.Take<T>(); break;
  }
}
void Shorten(motley_str& text, FuzzBytes& bytes) {
  if (bytes.Choose(4) == 0)
    text = {nullptr, bytes.Take<uint64_t>()};
  else if (text.size > 0)
    text.size = bytes.Choose(static_cast<uint32_t>(text.size) + 1);
}
template <typename T>
T& One(std::vector<T>& values, FuzzBytes& bytes) {
  return values[bytes.Take<uint16_t>() % values.size()];
}

void ChangeTensor(motley_tensor& t, FuzzBytes& bytes) {
  switch (bytes.Choose(7)) {
    case 0: return Change(t.dtype, bytes);
    case 1: return Change(t.role, bytes);
    case 2: return Change(t.rank, bytes);
    case 3: return Change(t.layout, bytes);
    case 4: return Change(t.dims[bytes.Choose(MOTLEY_MAX_RANK)], bytes);
    case 5: return Change(t.strides[bytes.Choose(MOTLEY_MAX_RANK)], bytes);
    default: return Shorten(t.name, bytes);
  }
}
void ChangeNode(motley_node& n, FuzzBytes& bytes) {
  uint32_t* const fields[] = {&n.op,  &n.version,   &n.in,   &n.in_count,
                              &n.out, &n.out_count, &n.attr, &n.attr_count};
  Change(*fields[bytes.Choose(8)], bytes);
}
void ChangeValue(motley_value& v, FuzzBytes& bytes) {
  switch (bytes.Choose(4)) {
    case 0: return Shorten(v.name, bytes);
    case 1: return Change(v.type, bytes);
    case 2: return Change(v.reserved, bytes);
    default: return Change(v.u.i, bytes);
  }
}
// Only to less than there is, or to what a plugin must not believe.
void ChangeSpan(motley_span& span, FuzzBytes& bytes) {
  switch (bytes.Choose(5)) {
    case 0: span.count = bytes.Take<uint16_t>() % (span.count + 1); break;
    case 1: span.count = (1ull << 24) + 1 + bytes.Take<uint64_t>() / 2; break;
    case 2: span.stride = bytes.Choose(span.stride); break;
    case 3: span.reserved = bytes.Take<uint32_t>(); break;
    default: span.data = nullptr; break;
  }
}

void ChangeGraph(Graph& graph, FuzzBytes& bytes) {
  switch (bytes.Choose(7)) {
    case 0: return ChangeTensor(One(graph.tensors, bytes), bytes);
    case 1: return ChangeNode(One(graph.nodes, bytes), bytes);
    case 2: return Change(One(graph.refs, bytes), bytes);
    case 3: return ChangeValue(One(graph.attrs, bytes), bytes);
    case 4: {
      motley_dim& dim = One(graph.dims, bytes);
      if (bytes.Choose(4) == 0) return Shorten(dim.name, bytes);
      return Change(bytes.Choose(2) == 0 ? dim.min : dim.max, bytes);
    }
    case 5: {
      motley_span* const spans[] = {&graph.abi.tensors, &graph.abi.nodes, &graph.abi.refs, &graph.abi.attrs,
                                    &graph.abi.dims};
      return ChangeSpan(*spans[bytes.Choose(5)], bytes);
    }
    default: return bytes.Choose(2) == 0 ? Change(graph.abi.size, bytes) : Change(graph.abi.reserved, bytes);
  }
}

struct Ref {
  const motley_compute* api = nullptr;
  motley_device* device = nullptr;

  Ref() {
    static const motley_host host = {sizeof host, MOTLEY_ABI_MINOR, nullptr, nullptr,
                                     nullptr,     nullptr,          nullptr};
    const motley_plugin* plugin = motley_plugin_query(MOTLEY_ABI_MAJOR, MOTLEY_ABI_MINOR);
    motley_instance* instance = nullptr;
    Require(plugin->open(&host, {nullptr, 0, sizeof(motley_value), 0}, &instance, nullptr) == MOTLEY_OK);
    const void* table = nullptr;
    Require(plugin->get_interface(instance, MOTLEY_IFACE_COMPUTE, 1, &table) == MOTLEY_OK);
    api = static_cast<const motley_compute*>(table);
    uint32_t count = 0;
    Require(api->devices(instance, &device, 1, &count) == MOTLEY_OK && count == 1);
  }
};

// Every refusal has a code and a text.
void Ask(const Ref& ref, Graph& graph, FuzzBytes& bytes) {
  motley_error error{sizeof error, 0, {}, 0, -1};
  // A graph whose size is cut is no longer than that: a read behind it is a fault.
  std::vector<char> exact(reinterpret_cast<char*>(&graph.abi),
                          reinterpret_cast<char*>(&graph.abi) + sizeof graph.abi);
  if (graph.abi.size >= 4 && graph.abi.size < exact.size())
    exact.resize(graph.abi.size), exact.shrink_to_fit();
  const auto* abi = reinterpret_cast<const motley_graph*>(exact.data());
  std::vector<int64_t> at(graph.dims.size(), 1);
  if (bytes.Choose(4) == 0) Change(One(at, bytes), bytes);
  std::vector<motley_verdict> verdicts(graph.nodes.size());
  const uint64_t asked = graph.abi.nodes.count <= verdicts.size() ? graph.abi.nodes.count : verdicts.size();
  const motley_span out = {verdicts.data(), asked, sizeof(motley_verdict), 0};
  const motley_status supports = ref.api->supports(ref.device, abi, at.data(), at.size(), out, &error);
  Require(supports == MOTLEY_OK || (error.code == supports && error.text[0] != '\0'));
  for (uint64_t i = 0; supports == MOTLEY_OK && i < asked; ++i)
    Require(verdicts[i].ok == 1 || (verdicts[i].reason != 0 && verdicts[i].text[0] != '\0'));

  motley_program* program = nullptr;
  const motley_status compiled =
      ref.api->compile(ref.device, abi, {nullptr, 0, sizeof(motley_value), 0}, &program, &error);
  Require(compiled == MOTLEY_OK ? program != nullptr : error.text[0] != '\0');
  if (compiled != MOTLEY_OK) return;
  motley_program_info info{};
  info.size = sizeof info;
  Require(ref.api->program_info(program, &info, &error) == MOTLEY_OK);
  Require(info.alignment != 0 && (info.alignment & (info.alignment - 1)) == 0);
  ref.api->program_destroy(program);
}

}  // namespace
}  // namespace motley::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace motley::fuzz;
  static const Ref ref;
  FuzzBytes bytes(data, size);
  Graph graph;
  for (int changes = 0; changes < 16 && !bytes.empty(); ++changes) ChangeGraph(graph, bytes);
  Ask(ref, graph, bytes);
  if (size == 0) {  // unchanged it must be right, or all else shows nothing
    motley_error error{sizeof error, 0, {}, 0, -1};
    motley_program* program = nullptr;
    Require(ref.api->compile(ref.device, &graph.abi, {nullptr, 0, sizeof(motley_value), 0}, &program,
                             &error) == MOTLEY_OK);
    ref.api->program_destroy(program);
  }
  return 0;
}
