// A host in miniature, to use plugins over the bare ABI: dlopen, teams, graphs, uploads.
//
// It uses nothing of core/, so that a fault here and a fault there are two faults.
#pragma once

#include <gtest/gtest.h>
#include <motley/plugin.h>
#include <motley/op_schema.hpp>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace motley::conformance {

inline motley_str Str(std::string_view s) {
  return {s.data(), s.size()};
}

// Format ids that the tests use.
inline constexpr uint32_t kF32 = 0, kF16 = 1, kQ8_0 = 8, kI32 = 26, kBF16 = 30, kU8 = 256;

// A motley_error that is ready for use.
struct Error : motley_error {
  Error() : motley_error{sizeof(motley_error), 0, {}, 0, -1} {}
  std::string Text() const { return std::string(text) + " (code " + std::to_string(code) + ")"; }
};

using OptionValue = std::variant<int64_t, double, bool, std::string>;
using OptionMap = std::map<std::string, OptionValue>;

// The ABI's form of named values; lives as long as the map.
std::vector<motley_value> AbiValues(const OptionMap& options);

// A plugin that is open. Fails the test where it cannot be.
class Client {
 public:
  explicit Client(const std::string& path, const OptionMap& options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const motley_plugin* plugin = nullptr;
  const motley_compute* api = nullptr;
  motley_instance* instance = nullptr;
  std::vector<motley_device*> devices;

  motley_device_info Info(size_t device) const;
  bool Sync(size_t device) const { return Info(device).features & MOTLEY_FEATURE_DEVICE_SYNC; }

 private:
  void* library_ = nullptr;
};

// The host table that Client lends: real threads, logs to stderr.
const motley_host* TestHost();

// ---- Graphs
// -------------------------------------------------------------------------------------------------------

struct Attr {
  std::string name;
  std::variant<int64_t, double> value;
};

constexpr int64_t Symbol(uint32_t symbol) {
  return ~static_cast<int64_t>(symbol);
}
inline constexpr int64_t kTokens = ~static_cast<int64_t>(MOTLEY_DIM_N_TOKENS),
                         kSeqs = ~static_cast<int64_t>(MOTLEY_DIM_N_SEQS),
                         kOut = ~static_cast<int64_t>(MOTLEY_DIM_N_OUT),
                         kStarts = ~static_cast<int64_t>(MOTLEY_DIM_N_STARTS);

class TestGraph {
 public:
  TestGraph();
  uint32_t Tensor(uint32_t role, uint32_t dtype, std::vector<int64_t> dims, uint32_t layout = 0,
                  const char* name = "t");
  void Node(Op op, std::vector<uint32_t> in, std::vector<uint32_t> out, std::vector<Attr> attrs = {});

  // Valid until the next change.
  motley_graph* Abi();

  std::vector<motley_tensor> tensors;
  std::vector<motley_node> nodes;
  std::vector<uint32_t> refs;
  std::vector<motley_value> attrs;
  std::vector<motley_dim> dims;

 private:
  std::vector<std::unique_ptr<std::string>> names_;
  motley_graph graph_{};
};

// ---- A device at work
// ---------------------------------------------------------------------------------------------

// Why a node is refused: a MOTLEY_* code, OK where it is not.
struct Refusal {
  int32_t code = MOTLEY_OK;
  std::string text;
  uint32_t math = MOTLEY_MATH_F32;  // of the last node
};

// One queue and one fence of a device; what it makes it frees. Every call waits.
class Session {
 public:
  Session(const Client& client, size_t device);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  motley_slice Alloc(uint64_t bytes, uint32_t usage = MOTLEY_USAGE_WORK);
  void Write(motley_slice dst, const void* src);
  void Read(void* dst, motley_slice src);
  template <class T>
  motley_slice Upload(const std::vector<T>& values, uint32_t usage = MOTLEY_USAGE_WORK) {
    motley_slice slice = Alloc(values.size() * sizeof(T), usage);
    Write(slice, values.data());
    return slice;
  }
  template <class T>
  std::vector<T> Download(motley_slice slice) {
    std::vector<T> values(slice.bytes / sizeof(T));
    Read(values.data(), slice);
    return values;
  }
  // Loads `bytes` (kept alive by the caller) as a weight: an import where the plan says so. scale: a part
  // SCALE2 of one F32 behind the data.
  motley_slice LoadWeight(const std::vector<uint8_t>& bytes, uint32_t format, std::vector<int64_t> dims,
                          uint32_t layout, const float* scale = nullptr);
  // What weight_plan says of such a weight; an empty text: it can be loaded.
  motley_status PlanWeight(const std::vector<uint8_t>& bytes, uint32_t format, std::vector<int64_t> dims,
                           uint32_t layout, const float* scale, std::string* text);

  motley_program* Compile(TestGraph& graph);
  // Runs and waits; the code and text of whatever went wrong, at once or later.
  motley_status Run(motley_program* program, const std::vector<motley_slice>& slices,
                    const std::vector<int64_t>& dims, std::string* text = nullptr, uint64_t bind_id = 0);

  motley_slice Workspace(motley_program* program) { return workspaces_[program]; }

  // Waits for the next value of the fence after a call that was given Next().
  const motley_sync* Next();
  motley_status Wait(std::string* text = nullptr);

  const motley_compute* api;
  motley_device* device;
  motley_queue* queue = nullptr;
  uint32_t page_layout = 0;  // of the last KvPlan

  motley_kv_plan KvPlan(uint32_t dtype, uint32_t page_tokens, uint32_t heads, uint32_t k_dim, uint32_t v_dim);
  // The same where a refusal is expected.
  motley_status TryKvPlan(uint32_t dtype, uint32_t page_tokens, uint32_t heads, uint32_t k_dim,
                          uint32_t v_dim, motley_kv_plan* plan, std::string* text);

  // The verdict of a graph of one node, at one token of one sequence.
  motley_verdict Judge(TestGraph& graph);
  // Asks for a verdict of every node and gives each weight of rank 2 the layout that its node likes best; the
  // first node that is refused, or code OK.
  Refusal Settle(TestGraph& graph);

 private:
  void NewFence();

  const Client& client_;
  motley_fence* fence_ = nullptr;
  uint64_t value_ = 0;
  motley_point point_{};
  motley_sync sync_{};
  std::vector<motley_buffer*> buffers_;
  std::vector<motley_program*> programs_;
  std::vector<motley_fence*> old_fences_;
  std::map<motley_program*, motley_slice> workspaces_;
};

}  // namespace motley::conformance
