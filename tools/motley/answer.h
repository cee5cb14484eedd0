// From a configuration to an engine, and from a request to its tokens: what run, bench, logits and perplexity
// share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/engine/engine.h"
#include "tools/motley/backends.h"
#include "tools/motley/launcher.h"
#include "tools/motley/profile.h"

namespace motley {

// Destroyed in reverse order: an engine before the devices it uses.
struct OpenedEngine {
  OpenedBackends base;
  LoadedProfile profile;
  std::unique_ptr<Engine> engine;
};

// Plans and loads, with a progress bar on a terminal; Ctrl-C ends it, and from here on only sets the flag.
// prompt_tokens: of the request to come, which is refused before weights are loaded where it is too long.
// max_outputs: rows of logits a step, 0 = one a sequence. files: the model's, where they are open (Engine::Open).
// Where a device is lost, the engine goes on with the others and says so on stderr, in a stream of JSON also by an
// event.
// measures: figures of this plan are the answer. So a corrupt default file of the probe is an error and no warning, and
// a lost device ends it.
StatusOr<OpenedEngine> OpenEngine(Launcher& launcher, const Config& config, uint64_t prompt_tokens,
                                  int64_t max_outputs = 0, ModelFiles files = {}, bool measures = false);

struct Answer {
  FinishReason reason = FinishReason::kStop;
  RequestStats stats;
};

// A token with all of its text: what was held back until the end comes with the last one. id -1: text alone,
// of a request that was cancelled.
using OnToken = std::function<void(int32_t id, std::string_view text)>;

// Runs one request to its end. A cancelled one is no error here. on_step is called before each step.
StatusOr<Answer> RunRequest(Engine& engine, Request request, Interrupt& interrupt, const OnToken& on_token,
                            const std::function<void()>& on_step = nullptr);

// How many rows of logits a step may give without taking more than 64 MiB.
int64_t OutputsAStep(int64_t vocab_rows, uint64_t wanted);

// Tokens a second, 0 where there was nothing to measure. The first token of an answer comes from the prompt's
// step.
double PrefillRate(const RequestStats& stats);
double DecodeRate(const RequestStats& stats);
double ReadRate(const RequestStats& stats);  // bytes a second, of decoding

}  // namespace motley
