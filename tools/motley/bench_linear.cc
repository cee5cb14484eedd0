#include "tools/motley/bench_linear.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "core/base/suggest.h"
#include "core/base/system_memory.h"
#include "core/base/units.h"
#include "core/engine/planning.h"
#include "core/graph/builder.h"
#include "core/model/model.h"
#include "core/plan/device_profile.h"
#include "core/sched/weight_loader.h"
#include "core/text/utf8.h"
#include "tools/motley/backends.h"
#include "tools/motley/bandwidth.h"

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kWeight = "weight";
constexpr double kSeconds = 1.0;
constexpr int kMinRuns = 5;

// One tensor of made-up bytes, as a file would hold it.
class MadeUpWeight final : public WeightsFile {
 public:
  static StatusOr<std::unique_ptr<MadeUpWeight>> Create(Format format, int64_t rows, int64_t cols) {
    MOTLEY_ASSIGN_OR_RETURN(const uint64_t row_bytes, FormatBytes(format, cols));
    MOTLEY_ASSIGN_OR_RETURN(const uint64_t bytes, FormatBytes(format, rows * cols));
    // The bytes and what a plugin packs of them are there at once.
    if (const auto memory = ReadSystemMemory(); memory.ok() && bytes > memory->available_bytes / 3) {
      return ResourceExhaustedError("a weight of " + FormatSize(bytes) +
                                    " and its packed copy do not fit in " +
                                    FormatSize(memory->available_bytes) + ": ask for fewer --rows or --cols");
    }
    std::unique_ptr<MadeUpWeight> file(new MadeUpWeight);
    file->bytes_.resize(bytes);
    // Every byte is 0x20 to 0x3f, so that a scale or an element of any format is a small positive number:
    // neither infinite nor so small that the CPU slows down over it.
    uint64_t state = 88172645463325252ull;
    for (size_t i = 0; i < bytes; ++i) {
      if (i % 8 == 0) state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      file->bytes_[i] = static_cast<std::byte>(0x20 | (state >> (8 * (i % 8)) & 0x1f));
    }
    StoredTensor tensor;
    tensor.name = kWeight;
    tensor.format = format;
    tensor.dims = {rows, cols};
    tensor.elems = static_cast<uint64_t>(rows * cols);
    tensor.bytes = row_bytes * static_cast<uint64_t>(rows);
    tensor.data = file->bytes_.data();
    file->tensors_.push_back(std::move(tensor));
    file->paths_.push_back("made-up weight");
    file->IndexTensors();
    return file;
  }

  void Release(const StoredTensor&) const override {}

 private:
  MadeUpWeight() = default;
  std::vector<std::byte> bytes_;
};

struct Node {
  ModelGraph model;
  TensorId x = kNoTensor, y = kNoTensor;
};

StatusOr<Node> BuildNode(Format format, const LinearBench& bench) {
  Node node;
  GraphBuilder builder({bench.tokens, 1, 1, 1, 2});
  builder.SetPart({PartKind::kHead}, "bench");
  node.x = builder.Input("x", {DimOf(Symbol::kTokens), bench.cols});
  const TensorId weight = builder.Weight(kWeight, format, {bench.rows, bench.cols});
  node.y = builder.Add(Op::kLINEAR, "linear", {node.x, weight, kNoTensor});
  builder.MarkOutput(node.y);
  MOTLEY_ASSIGN_OR_RETURN(node.model.graph, std::move(builder).Finish());
  return node;
}

// Everything bound: what an execution needs.
struct Prepared {
  DeviceProfile profile;
  std::unique_ptr<ResidentTensors> resident;
  std::unique_ptr<SegmentGraph> graph;
  Program program;
  Buffer activations, workspace;
  std::vector<motley_slice> slices;
  SymbolValues dims{};
};

StatusOr<Prepared> Prepare(Device& device, const Node& node, const MadeUpWeight& file,
                           const LinearBench& bench) {
  Prepared ready;
  GraphLimits limits;
  limits.max_tokens = bench.tokens;
  MOTLEY_ASSIGN_OR_RETURN(ready.profile, ProfileDevice(device, node.model, file, limits));
  if (!ready.profile.refusal.empty()) return UnimplementedError(device.name() + ": " + ready.profile.refusal);
  if (ready.profile.verdicts[0].ok == 0)
    return UnimplementedError(device.name() + ": linear: " + ready.profile.verdicts[0].text);
  LoadRequest load;
  load.model = &node.model;
  load.file = &file;
  load.limits = &limits;
  load.devices = {&ready.profile};
  load.node_device = {0};
  MOTLEY_ASSIGN_OR_RETURN(auto residents, LoadTensors(load, nullptr));
  ready.resident = std::move(residents[0]);
  const uint32_t nodes[] = {0};
  ready.graph = std::make_unique<SegmentGraph>(node.model.graph, nodes, ready.profile.details);
  MOTLEY_ASSIGN_OR_RETURN(ready.program, device.Compile(ready.graph->view()));
  MOTLEY_ASSIGN_OR_RETURN(const ProgramInfo info, ready.program.Info());
  const uint64_t x_bytes = static_cast<uint64_t>(bench.tokens * bench.cols) * 4,
                 y_bytes = static_cast<uint64_t>(bench.tokens * bench.rows) * 4;
  const uint64_t y_offset = (x_bytes + 4095) / 4096 * 4096;
  MOTLEY_ASSIGN_OR_RETURN(ready.activations, device.AllocBuffer(y_offset + y_bytes, Usage::kWork));
  if (info.workspace > 0) {
    MOTLEY_ASSIGN_OR_RETURN(ready.workspace, device.AllocBuffer(info.workspace, Usage::kWork));
  }
  for (TensorId id : ready.graph->tensor_ids()) {
    motley_slice slice = ready.resident->slices[id];
    if (id == node.x) slice = ready.activations.Slice(0, x_bytes);
    if (id == node.y) slice = ready.activations.Slice(y_offset, y_bytes);
    ready.slices.push_back(slice);
  }
  ready.dims = {bench.tokens, 1, 1, 1, 2};
  return ready;
}

struct Timing {
  double best_s = 0, median_s = 0;
  int runs = 0;
};

StatusOr<Timing> Measure(Device& device, const Prepared& ready, const LinearBench& bench,
                         Interrupt& interrupt) {
  MOTLEY_ASSIGN_OR_RETURN(Queue queue, device.CreateQueue());
  MOTLEY_ASSIGN_OR_RETURN(Fence fence, device.CreateFence());
  uint64_t value = 0;
  const auto wait = [&](Status issued) -> Status {
    MOTLEY_RETURN_IF_ERROR(issued);
    MOTLEY_RETURN_IF_ERROR(queue.Flush());
    return fence.Wait(value);
  };
  std::vector<float> x(static_cast<size_t>(bench.tokens * bench.cols));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) * 0.125f - 1.0f;
  motley_point point = fence.At(++value);
  motley_sync sync = MakeSync({}, {&point, 1});
  MOTLEY_RETURN_IF_ERROR(wait(queue.Write(ready.activations.Slice(0, x.size() * 4), x.data(), &sync)));

  motley_bind bind{};
  bind.size = sizeof(bind);
  bind.bind_id = 1;
  bind.slices = {ready.slices.data(), ready.slices.size(), sizeof(motley_slice), 0};
  if (ready.workspace) bind.workspace = ready.workspace.Whole();
  bind.dims = ready.dims.data();
  bind.dim_count = ready.dims.size();
  std::vector<double> seconds;
  const auto begin = Clock::now();
  for (int run = 0; run <= kMinRuns || std::chrono::duration<double>(Clock::now() - begin).count() < kSeconds;
       ++run) {
    if (interrupt.IsSet()) return CancelledError("interrupted");
    point = fence.At(++value);
    sync = MakeSync({}, {&point, 1});
    const auto start = Clock::now();
    MOTLEY_RETURN_IF_ERROR(wait(queue.Execute(ready.program, bind, &sync)));
    if (run > 0)
      seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());  // the first warms up
  }
  std::sort(seconds.begin(), seconds.end());
  return Timing{seconds.front(), seconds[seconds.size() / 2], static_cast<int>(seconds.size())};
}

void Report(const LinearBench& bench, const Device& device, const Prepared& ready, uint64_t stored_bytes,
            uint64_t weight_bytes, const Timing& timing, const Bandwidth& limit, Output& out) {
  const double rate = static_cast<double>(weight_bytes) / timing.median_s;
  const double flops = 2.0 * static_cast<double>(bench.rows) * static_cast<double>(bench.cols) *
                       static_cast<double>(bench.tokens) / timing.median_s;
  const double share = limit.bytes_per_s > 0 ? rate / limit.bytes_per_s : 0;
  if (out.json) {
    out.PrintJson({{"op", "linear"},
                   {"device", ToValidUtf8(device.name())},
                   {"format", bench.format},
                   {"rows", bench.rows},
                   {"cols", bench.cols},
                   {"tokens", bench.tokens},
                   {"layout", ready.profile.weights.empty() ? 0 : ready.profile.weights[1].layout},
                   {"stored_bytes", stored_bytes},
                   {"weight_bytes", weight_bytes},
                   {"seconds", timing.median_s},
                   {"read_bytes_per_s", rate},
                   {"ops_per_s", flops},
                   {"bandwidth_bytes_per_s", limit.bytes_per_s},
                   {"fraction", share},
                   {"runs", timing.runs}});
    return;
  }
  char line[256];
  std::snprintf(line, sizeof(line),
                "linear %s [%lld, %lld], %lld %s on %s: %.2f GB/s, %.0f %% of the %.2f GB/s measured in this "
                "run (%s read in %s, %.1f Gop/s, median of %d)\n",
                bench.format.c_str(), static_cast<long long>(bench.rows), static_cast<long long>(bench.cols),
                static_cast<long long>(bench.tokens), bench.tokens == 1 ? "token" : "tokens",
                device.name().c_str(), rate / 1e9, 100 * share, limit.bytes_per_s / 1e9,
                FormatSize(weight_bytes).c_str(),
                FormatTimeNs(static_cast<uint64_t>(timing.median_s * 1e9)).c_str(), flops / 1e9, timing.runs);
  out.Print(line);
}

StatusOr<Format> FormatOf(const std::string& name) {
  if (const auto format = FormatFromName(name)) return *format;
  std::vector<std::string> names;
  for (const FormatInfo& info : AllFormats()) names.emplace_back(info.name);
  const std::string suggestion = DidYouMean(name, names);
  return InvalidArgumentError("--format " + name + ": no such format" +
                              (suggestion.empty() ? "; there are " + ListNames(names, 40) : suggestion));
}

}  // namespace

Status RunLinearBench(const LinearBench& bench, Launcher& launcher) {
  MOTLEY_ASSIGN_OR_RETURN(const Format format, FormatOf(bench.format));
  MOTLEY_ASSIGN_OR_RETURN(const Config config, MakeConfig(launcher.flags));
  MOTLEY_ASSIGN_OR_RETURN(const OpenedBackends opened, OpenBackends(launcher.flags, config));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Device*> devices, CandidateDevices(config, *opened.backends));
  Device& device = *devices[0];
  MOTLEY_ASSIGN_OR_RETURN(const auto file, MadeUpWeight::Create(format, bench.rows, bench.cols));
  MOTLEY_ASSIGN_OR_RETURN(const auto node, BuildNode(format, bench));
  launcher.interrupt.OnInterruptOnlySetFlag();
  MOTLEY_ASSIGN_OR_RETURN(const Prepared ready, Prepare(device, node, *file, bench));
  uint64_t weight_bytes = 0;
  for (uint64_t bytes : ready.profile.weight_bytes) weight_bytes += bytes;
  // The limit before and after, as a shared machine changes from second to second; the better one counts.
  Bandwidth limit = MeasureReadBandwidth(weight_bytes, opened.host->threads());
  MOTLEY_ASSIGN_OR_RETURN(const Timing timing, Measure(device, ready, bench, launcher.interrupt));
  if (const Bandwidth after = MeasureReadBandwidth(weight_bytes, opened.host->threads());
      after.bytes_per_s > limit.bytes_per_s)
    limit = after;
  Report(bench, device, ready, file->tensors()[0].bytes, weight_bytes, timing, limit, launcher.out);
  return OkStatus();
}

}  // namespace motley
