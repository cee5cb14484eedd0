// ModelLoader: puts a model on devices, and again on those that are left when one is lost. One thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/lost_devices.h"
#include "core/engine/planning.h"
#include "core/plan/probe_profile.h"
#include "core/sched/executor.h"
#include "core/sched/step_data.h"
#include "core/sched/weight_loader.h"

namespace motley {

// A model that is ready to run steps. The executor ends first.
struct LoadedModel {
  std::unique_ptr<PlannedModel> planned;
  std::vector<std::unique_ptr<ResidentTensors>> residents;  // a device of planned->compiled
  std::unique_ptr<StepData> step;
  std::unique_ptr<Executor> executor;
  LoadStats stats;
};

class ModelLoader {
 public:
  // `backends` and `logger` outlive it; `options`: as Engine::Open has them. options.progress is called by
  // Load alone.
  ModelLoader(const Config& config, const Backends& backends, Logger& logger, const EngineOptions& options);

  // Plans, compiles, loads. Where a device is lost meanwhile, once more without it.
  StatusOr<LoadedModel> Load(const ModelFiles& files);

  // After a step that failed: whether a device of the model was lost.
  bool FindLost(const LoadedModel& model);

  // Replaces the model by one on the devices that are left. Where that can't be, UNAVAILABLE says why; of
  // *model only `planned` is left then.
  Status LoadAgain(const ModelFiles& files, LoadedModel* model);

 private:
  StatusOr<LoadedModel> LoadOnWhatIsLeft(const ModelFiles& files);
  StatusOr<LoadedModel> TryToLoad(const ModelFiles& files);
  void SayWhereItIs(const LoadedModel& model);
  Status WithLosses(const Status& status) const;

  const Config config_;
  const Backends& backends_;
  Logger& logger_;
  EngineOptions options_;
  std::optional<ProbeProfile> profile_;
  LostDevices lost_;
  size_t told_ = 0;  // of lost_: notices were given
};

// A prompt that leaves no room is refused with the counts.
Status CheckPromptLength(uint64_t tokens, int64_t context);

}  // namespace motley
