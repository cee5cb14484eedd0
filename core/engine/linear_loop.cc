#include "core/engine/linear_loop.h"

#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/base/system_memory.h"
#include "core/base/units.h"
#include "core/graph/builder.h"
#include "core/model/model.h"
#include "core/plan/device_profile.h"
#include "core/sched/weight_loader.h"

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kWeight = "weight";
constexpr uint64_t kSliceAlignment = 4096;

// One tensor of made-up bytes, as a file would hold it.
class MadeUpWeight final : public WeightsFile {
 public:
  static StatusOr<std::unique_ptr<MadeUpWeight>> Create(const LinearSpec& spec) {
    MOTLEY_ASSIGN_OR_RETURN(const uint64_t row_bytes, FormatBytes(spec.format, spec.cols));
    MOTLEY_ASSIGN_OR_RETURN(const uint64_t bytes, FormatBytes(spec.format, spec.rows * spec.cols));
    // The bytes and what a plugin packs of them are there at once.
    if (const auto memory = ReadSystemMemory(); memory.ok() && bytes > memory->available_bytes / 3) {
      return ResourceExhaustedError("a weight of " + FormatSize(bytes) +
                                    " and its packed copy do not fit in " +
                                    FormatSize(memory->available_bytes) + ": ask for fewer --rows or --cols");
    }
    std::unique_ptr<MadeUpWeight> file(new MadeUpWeight);
    file->bytes_.resize(bytes);
    file->Fill();
    StoredTensor tensor;
    tensor.name = kWeight;
    tensor.format = spec.format;
    tensor.dims = {spec.rows, spec.cols};
    tensor.elems = static_cast<uint64_t>(spec.rows * spec.cols);
    tensor.bytes = row_bytes * static_cast<uint64_t>(spec.rows);
    tensor.data = file->bytes_.data();
    file->tensors_.push_back(std::move(tensor));
    file->paths_.push_back("made-up weight");
    file->IndexTensors();
    return file;
  }

  void Release(const StoredTensor&) const override {}
  uint64_t bytes() const { return tensors_[0].bytes; }
  // The weight is where it belongs. The object stays: a plugin may say late that it has let go of the range.
  void DropBytes() { std::vector<std::byte>().swap(bytes_); }

 private:
  MadeUpWeight() = default;

  // Every byte is 0x20 to 0x3f, so that a scale or an element of any format is a small positive number:
  // neither infinite nor so small that the CPU slows down over it.
  void Fill() {
    uint64_t state = 88172645463325252ull;
    for (size_t i = 0; i < bytes_.size(); i += sizeof(state)) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      const uint64_t word = (state & 0x1f1f1f1f1f1f1f1full) | 0x2020202020202020ull;
      std::memcpy(bytes_.data() + i, &word, std::min(sizeof(word), bytes_.size() - i));
    }
  }

  std::vector<std::byte> bytes_;
};

}  // namespace

class LinearLoop::Impl {
 public:
  Impl(Device& device, const LinearSpec& spec) : device_(device), spec_(spec) {}

  Status Prepare() {
    MOTLEY_ASSIGN_OR_RETURN(file_, MadeUpWeight::Create(spec_));
    MOTLEY_RETURN_IF_ERROR(BuildNode());
    GraphLimits limits;
    limits.max_tokens = spec_.max_tokens;
    MOTLEY_ASSIGN_OR_RETURN(profile_, ProfileDevice(device_, model_, *file_, limits));
    if (profile_.verdicts[0].ok == 0)
      return UnimplementedError(device_.name() + ": linear: " + profile_.verdicts[0].text);
    LoadRequest load;
    load.model = &model_;
    load.file = file_.get();
    load.limits = &limits;
    load.devices = {&profile_};
    load.node_device.assign(spec_.chain, 0);
    MOTLEY_ASSIGN_OR_RETURN(auto residents, LoadTensors(load, nullptr));
    resident_ = std::move(residents[0]);
    stored_bytes_ = file_->bytes();
    for (uint64_t bytes : profile_.weight_bytes) weight_bytes_ += bytes;
    if (resident_->imports.empty()) file_->DropBytes();
    return Bind();
  }

  StatusOr<Figure> Measure(int64_t tokens, const MeasureLimits& limits, const Cancelled& cancelled) {
    if (tokens < 1 || tokens > spec_.max_tokens) {
      return InvalidArgumentError("linear: " + std::to_string(tokens) + " tokens: must be 1.." +
                                  std::to_string(spec_.max_tokens));
    }
    const SymbolValues dims = {tokens, 1, 1, 1, 2};
    motley_bind bind{};
    bind.size = sizeof(bind);
    bind.bind_id = 1;
    bind.slices = {slices_.data(), slices_.size(), sizeof(motley_slice), 0};
    if (workspace_) bind.workspace = workspace_.Whole();
    bind.dims = dims.data();
    bind.dim_count = dims.size();
    return motley::Measure(limits, [&]() -> StatusOr<double> {
      if (cancelled && cancelled()) return CancelledError("interrupted");
      const auto start = Clock::now();
      MOTLEY_RETURN_IF_ERROR(
          Await([&](const motley_sync& sync) { return queue_.Execute(program_, bind, &sync); }));
      return std::chrono::duration<double>(Clock::now() - start).count();
    });
  }

  const LinearSpec& spec() const { return spec_; }
  const DeviceProfile& profile() const { return profile_; }
  uint64_t stored_bytes() const { return stored_bytes_; }
  uint64_t weight_bytes() const { return weight_bytes_; }
  uint32_t layout() const { return profile_.weights[weight_].layout; }

 private:
  Status BuildNode() {
    GraphBuilder builder({spec_.max_tokens, 1, 1, 1, 2});
    builder.SetPart({PartKind::kHead}, "bench");
    x_ = builder.Input("x", {DimOf(Symbol::kTokens), spec_.cols});
    weight_ = builder.Weight(kWeight, spec_.format, {spec_.rows, spec_.cols});
    // Values grow to infinity along a long chain, which takes no longer to compute with.
    y_ = x_;
    for (uint32_t i = 0; i < spec_.chain; ++i)
      y_ = builder.Add(Op::kLINEAR, "linear." + std::to_string(i), {y_, weight_, kNoTensor});
    builder.MarkOutput(y_);
    MOTLEY_ASSIGN_OR_RETURN(model_.graph, std::move(builder).Finish());
    return OkStatus();
  }

  // Memory for what is not a weight, and x in it.
  Status Bind() {
    std::vector<uint32_t> nodes(spec_.chain);
    std::iota(nodes.begin(), nodes.end(), 0);
    graph_ = std::make_unique<SegmentGraph>(model_.graph, nodes, profile_.details);
    MOTLEY_ASSIGN_OR_RETURN(program_, device_.Compile(graph_->view()));
    MOTLEY_ASSIGN_OR_RETURN(const ProgramInfo info, program_.Info());
    const uint64_t x_bytes = static_cast<uint64_t>(spec_.max_tokens * spec_.cols) * sizeof(float),
                   y_bytes = static_cast<uint64_t>(spec_.max_tokens * spec_.rows) * sizeof(float);
    const uint64_t y_offset = (x_bytes + kSliceAlignment - 1) / kSliceAlignment * kSliceAlignment;
    MOTLEY_ASSIGN_OR_RETURN(activations_, device_.AllocBuffer(y_offset + y_bytes, Usage::kWork));
    if (info.workspace > 0) {
      MOTLEY_ASSIGN_OR_RETURN(workspace_, device_.AllocBuffer(info.workspace, Usage::kWork));
    }
    for (TensorId id : graph_->tensor_ids()) {
      motley_slice slice = resident_->slices[id];
      if (id == x_) slice = activations_.Slice(0, x_bytes);
      if (id == y_) slice = activations_.Slice(y_offset, y_bytes);
      slices_.push_back(slice);
    }
    MOTLEY_ASSIGN_OR_RETURN(fence_, device_.CreateFence());
    MOTLEY_ASSIGN_OR_RETURN(queue_, device_.CreateQueue());
    std::vector<float> x(x_bytes / sizeof(float));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) * 0.125f - 1.0f;
    return Await([&](const motley_sync& sync) {
      return queue_.Write(activations_.Slice(0, x_bytes), x.data(), &sync);
    });
  }

  // Issues a call and waits until its work is done.
  template <typename Issue>
  Status Await(const Issue& issue) {
    const motley_point point = fence_.At(++value_);
    const motley_sync sync = MakeSync({}, {&point, 1});
    MOTLEY_RETURN_IF_ERROR(issue(sync));
    MOTLEY_RETURN_IF_ERROR(queue_.Flush());
    return fence_.Wait(value_);
  }

  Device& device_;
  const LinearSpec spec_;
  std::unique_ptr<MadeUpWeight> file_;
  ModelGraph model_;
  TensorId x_ = kNoTensor, weight_ = kNoTensor, y_ = kNoTensor;
  DeviceProfile profile_;
  uint64_t stored_bytes_ = 0, weight_bytes_ = 0;
  std::unique_ptr<ResidentTensors> resident_;
  std::unique_ptr<SegmentGraph> graph_;
  Program program_;
  Buffer activations_, workspace_;
  std::vector<motley_slice> slices_;
  uint64_t value_ = 0;
  Fence fence_;
  Queue queue_;  // ends first: what it still holds may signal the fence
};

StatusOr<std::unique_ptr<LinearLoop>> LinearLoop::Create(Device& device, const LinearSpec& spec) {
  auto impl = std::make_unique<Impl>(device, spec);
  MOTLEY_RETURN_IF_ERROR(impl->Prepare());
  return std::unique_ptr<LinearLoop>(new LinearLoop(std::move(impl)));
}

LinearLoop::LinearLoop(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LinearLoop::~LinearLoop() = default;
StatusOr<Figure> LinearLoop::Measure(int64_t tokens, const MeasureLimits& limits,
                                     const Cancelled& cancelled) {
  return impl_->Measure(tokens, limits, cancelled);
}
uint64_t LinearLoop::stored_bytes() const {
  return impl_->stored_bytes();
}
uint64_t LinearLoop::weight_bytes() const {
  return impl_->weight_bytes();
}
uint32_t LinearLoop::layout() const {
  return impl_->layout();
}
uint32_t LinearLoop::math() const {
  return impl_->profile().verdicts[0].math;
}
double LinearLoop::operations(int64_t tokens) const {
  const LinearSpec& spec = impl_->spec();
  return 2.0 * static_cast<double>(spec.rows) * static_cast<double>(spec.cols) * static_cast<double>(tokens) *
         spec.chain;
}

}  // namespace motley
