#include "core/engine/model_loader.h"

#include <chrono>
#include <string>
#include <utility>

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t FileBytes(const Graph& graph, const WeightsFile& file) {
  uint64_t bytes = 0;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.role != Role::kWeight) continue;
    const StoredTensor* stored = file.FindTensor(tensor.name);
    if (stored != nullptr) bytes += stored->bytes;
  }
  return bytes;
}

LoadRequest RequestFor(const ModelFiles& files, const PlannedModel& planned) {
  LoadRequest request;
  request.model = planned.graph.get();
  request.file = files.file.get();
  request.limits = &planned.limits;
  request.node_device = planned.node_device;
  for (const DeviceProfile& profile : planned.profiles) request.devices.push_back(&profile);
  return request;
}

}  // namespace

ModelLoader::ModelLoader(const Config& config, const Backends& backends, Logger& logger,
                         const EngineOptions& options)
    : config_(config), backends_(backends), logger_(logger), options_(options) {
  if (options.profile != nullptr) profile_ = *options.profile;
}

StatusOr<LoadedModel> ModelLoader::Load(const ModelFiles& files) {
  StatusOr<LoadedModel> model = LoadOnWhatIsLeft(files);
  options_.progress = nullptr;
  options_.prompt_tokens = 0;
  if (!model.ok()) return model;
  for (const std::string& name : files.model->UnusedTensors(model->planned->graph->graph)) {
    logger_.Write(LogLevel::kWarning, "model", "tensor " + name + " is not used");
  }
  return model;
}

bool ModelLoader::FindLost(const LoadedModel& model) {
  return options_.outlive_devices && lost_.Find(model.planned->compiled->devices());
}

Status ModelLoader::LoadAgain(const ModelFiles& files, LoadedModel* model) {
  // Memory first: the new plan asks what is free.
  model->executor.reset();
  model->step.reset();
  model->residents.clear();
  MOTLEY_ASSIGN_OR_RETURN(*model, LoadOnWhatIsLeft(files));
  return OkStatus();
}

// Ends, as each further try needs one more device to have been lost.
StatusOr<LoadedModel> ModelLoader::LoadOnWhatIsLeft(const ModelFiles& files) {
  for (;;) {
    StatusOr<LoadedModel> model = TryToLoad(files);
    if (model.ok()) {
      SayWhereItIs(*model);
      return model;
    }
    if (!options_.outlive_devices) return model;
    const StatusOr<std::vector<Device*>> candidates = CandidateDevices(config_, backends_);
    if (!candidates.ok() || !lost_.Find(*candidates)) return WithLosses(model.status());
  }
}

StatusOr<LoadedModel> ModelLoader::TryToLoad(const ModelFiles& files) {
  LoadedModel model;
  const PlanningOptions options{options_.max_outputs, profile_ ? &*profile_ : nullptr, &lost_};
  MOTLEY_ASSIGN_OR_RETURN(model.planned, MakePlan(config_, *files.model, *files.file, backends_, options));
  const PlannedModel& planned = *model.planned;
  MOTLEY_RETURN_IF_ERROR(CheckPromptLength(options_.prompt_tokens, planned.report.context));
  for (const std::string& notice : planned.report.notices) logger_.Write(LogLevel::kWarning, "plan", notice);
  const Clock::time_point start = Clock::now();
  MOTLEY_ASSIGN_OR_RETURN(model.residents, LoadTensors(RequestFor(files, planned), options_.progress));
  model.stats.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  model.stats.file_bytes = FileBytes(planned.graph->graph, *files.file);
  model.step = std::make_unique<StepData>(planned.limits, planned.graph->step, files.model->rope());
  MOTLEY_ASSIGN_OR_RETURN(model.executor, Executor::Create(*planned.compiled, model.residents, *model.step));
  return model;
}

void ModelLoader::SayWhereItIs(const LoadedModel& model) {
  if (lost_.size() == told_) return;
  std::string notice = lost_.Text(told_) + "; planned again on ";
  for (const Device* device : model.planned->compiled->devices()) {
    notice += (device == model.planned->compiled->devices().front() ? "" : ", ") + device->name();
  }
  told_ = lost_.size();
  if (options_.on_notice) {
    options_.on_notice(notice);
  } else {
    logger_.Write(LogLevel::kWarning, "engine", notice);
  }
}

// Whatever the reason is, without the loss there would be none.
Status ModelLoader::WithLosses(const Status& status) const {
  if (!lost_.any() || status.code() == Code::kCancelled) return status;
  return UnavailableError(lost_.Text() + "; the model can't go on with what is left: " + status.message());
}

Status CheckPromptLength(uint64_t tokens, int64_t context) {
  // The last token's answer needs no place of its own in the cache.
  if (tokens <= static_cast<uint64_t>(context)) return OkStatus();
  return InvalidArgumentError("prompt: " + std::to_string(tokens) + " tokens do not fit in the context of " +
                              std::to_string(context) + "; shorten it, or ask for a larger --context");
}

}  // namespace motley
