// A compiled segment: captured once a (bind_id, bucket), replayed from then on.
#pragma once

#include <motley/workspace.hpp>

#include <map>
#include <set>

#include "device.h"
#include "queue.h"

namespace motley::async_device {

class Program {
 public:
  static Fault Compile(Device* device, plugin::CheckedGraph graph, std::unique_ptr<Program>* out);

  // Checks a bind when it is enqueued; the work is run later, by the queue.
  Fault Enqueue(const motley_bind& bind, std::function<Fault(Queue*)>* work);

  uint64_t WorkspaceBytes() const { return plan_.bytes + scratch_bytes_; }
  uint32_t Kernels() const { return static_cast<uint32_t>(graph_.nodes.size()); }
  uint64_t Captures() const;
  Device* const device;

 private:
  struct Bound {
    std::vector<std::byte*> data;  // by tensor id
    std::byte* workspace = nullptr;
    std::vector<int64_t> dims;
    bool replay = false;
    int64_t number = 0;  // of the execute in its instance
  };

  Program(Device* device, plugin::CheckedGraph graph);
  Fault BindTensors(const motley_bind& bind, Bound* bound) const;
  Fault Capture(const motley_bind& bind, Bound* bound);
  Fault Run(Queue* queue, Bound* bound) const;
  Fault ReadDims(Bound* bound) const;
  void Spoil(const Bound& bound) const;

  const plugin::CheckedGraph graph_;
  plugin::WorkspacePlan plan_;
  uint64_t scratch_bytes_ = 0;
  std::vector<char> used_;
  uint32_t counts_ = MOTLEY_NO_TENSOR;  // the tensor of step.counts, where the segment has one

  mutable std::mutex mutex_;  // guards what follows
  std::map<uint64_t, std::vector<motley_slice>> binds_;
  std::set<std::pair<uint64_t, uint64_t>> captures_;  // bind_id, bucket
};

}  // namespace motley::async_device
