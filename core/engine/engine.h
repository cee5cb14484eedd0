// Engine: a model on its devices, answering requests. The one header that tools need.
//
//   Host host(logger);
//   MOTLEY_ASSIGN_OR_RETURN(auto backends, OpenBackends(config, host, logger, environment, verdict_folder));
//   MOTLEY_ASSIGN_OR_RETURN(auto engine, Engine::Open(config, *backends, logger, {}));
//   MOTLEY_ASSIGN_OR_RETURN(uint64_t id, engine->Submit({.prompt = tokens}));
//   while (engine->busy()) { engine->Step(&events); ... }
//
// One thread uses an engine; Cancel may come from another. It goes step by step, each of them with every sequence that
// is decoding and as much of the waiting prompts as fits, so that requests join and leave between steps.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/registry.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/engine/config.h"
#include "core/engine/planning.h"
#include "core/engine/sampler.h"
#include "core/model/weights_file.h"
#include "core/sched/executor.h"
#include "core/text/answer_parser.h"
#include "core/text/chat_template.h"
#include "core/text/tokenizer.h"

namespace motley {

struct Request {
  std::vector<int32_t> prompt;         // at least one token
  SamplingParams sampling;
  std::optional<uint64_t> max_tokens;  // 0 = the prompt alone; absent = until the model ends or the context is full
  std::vector<std::string> stop;
  std::vector<int32_t> shown;          // control tokens that leave their names in the text: the tags of thinking ...
  bool ignore_end = false;             // go on behind an end-of-turn token, for benchmarks
  // Starts from the KV of an earlier such request that began with the same tokens, and leaves its own for later ones,
  // as long as nobody needs the pages. The result is that of a run of the whole prompt (bit-same where the devices'
  // results do not depend on how a prompt is cut). Not with all_logits: those rows have to be computed.
  bool reuse = false;
  // Called in Step() for each row of logits [vocab_rows] that was asked for, before it is sampled. The span is borrowed.
  std::function<void(int64_t position, std::span<const float> logits)> on_logits;
  bool all_logits = false;             // rows for every position of the prompt, not just the last
};

enum class FinishReason { kStop, kLength, kCancelled, kError };
std::string_view FinishReasonName(FinishReason reason);  // "stop", ...

struct RequestStats {
  uint64_t prompt_tokens = 0, completion_tokens = 0;
  uint64_t reused_tokens = 0;           // of the prompt: their KV was there (Request::reuse)
  double prefill_s = 0, decode_s = 0;   // wall time of the steps that the request took part in
  uint64_t decode_read_bytes = 0;       // weights and KV read by its decode steps
};

struct LoadStats {
  uint64_t file_bytes = 0;              // of the weights, as stored
  double seconds = 0;                   // from the first byte asked for until every device has its weights
};

// Something that a step did for a request. Views are valid until the next call of the engine.
struct Event {
  uint64_t request = 0;
  int32_t token = -1;                   // -1: none (the end)
  std::string_view text;                // may be empty while a character is incomplete
  std::optional<FinishReason> finish;   // the request's last event
  Status error;                         // with kError
  RequestStats stats;                   // with finish
};

struct EngineOptions {
  int64_t max_outputs = 0;              // rows of logits a step; 0 = one a sequence
  LoadProgress progress;                // called while weights are loaded
  const ProbeProfile* profile = nullptr;  // of this machine, for the plan's times; borrowed for Open; may be nullptr
  uint64_t prompt_tokens = 0;           // of a request that is to come: refused before weights are loaded, if too long
  // Where a device is lost, while loading or in a step, the engine plans again on those that are left, and loads and
  // computes anew what was lost with it; requests go on where they were. false: its requests end with the error.
  bool outlive_devices = true;
  // What the operator has to know of that, one line; called in Open and Step. Absent: the logger gets a warning.
  std::function<void(const std::string& notice)> on_notice;
};

// What is known of a model without any device.
struct ModelFiles {
  std::unique_ptr<WeightsFile> file;
  std::unique_ptr<Model> model;
  std::unique_ptr<Tokenizer> tokenizer;
  std::string chat_template;            // of the file, "" = none
};

// Devices by the configuration; environment: the value of MOTLEY_PLUGIN_PATH; verdict_folder: where it is remembered
// which plugins came through a probe in a child process (VerdictFolder()), "" = nowhere, so each is probed anew.
StatusOr<std::unique_ptr<Backends>> OpenBackends(const Config& config, Host& host, Logger& logger,
                                                 const std::string& environment,
                                                 const std::string& verdict_folder);

// A weights file and its tokenizer, checked; without hyper-parameters, so that a vocabulary-only file will do.
StatusOr<ModelFiles> OpenVocabulary(const std::string& path, Logger& logger);
// And the model's hyper-parameters.
StatusOr<ModelFiles> OpenModel(const std::string& path, Logger& logger);
// The same from an opened vocabulary. Warnings about the file are given once more.
StatusOr<ModelFiles> OpenModel(ModelFiles vocabulary, Logger& logger);

class Engine {
 public:
  // Plans, compiles, loads. `backends` and `logger` must outlive the engine. `files`: of config.model.path, where the
  // caller has opened them (OpenVocabulary is enough, with a logger that keeps quiet: the warnings are given here).
  static StatusOr<std::unique_ptr<Engine>> Open(const Config& config, const Backends& backends, Logger& logger,
                                                const EngineOptions& options, ModelFiles files = {});
  ~Engine();

  const Tokenizer& tokenizer() const;
  const Model& model() const;
  const std::string& chat_template() const;
  // Of plan() and planned(): references hold until a Step that finds a device lost.
  const PlanReport& plan() const;
  const PlannedModel& planned() const;
  int64_t context() const { return plan().context; }  // may fall with a lost device, where none was asked for

  // Refused, with the counts, where the prompt does not fit in the context or holds an id that is no token. The
  // request waits until a sequence is free. UNAVAILABLE where devices were lost and the model can't go on without.
  StatusOr<uint64_t> Submit(Request request);
  // The request ends with kCancelled at the next step. Any thread; an id that has ended is ignored.
  void Cancel(uint64_t request);

  bool busy() const;  // a request has not ended
  // One step. Replaces *events. A failure of a device ends the requests that took part, as events; an error is the
  // engine's own. A lost device ends none, unless the model no longer fits (EngineOptions::outlive_devices).
  Status Step(std::vector<Event>* events);

  // Bytes that a decode step at this depth reads: every weight once, rows of the embedding, KV.
  uint64_t DecodeReadBytes(int64_t kv_len) const;
  ExecutorStats executor_stats() const;
  LoadStats load_stats() const;

 private:
  class Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
