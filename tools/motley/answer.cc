#include "tools/motley/answer.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "tools/motley/progress.h"

namespace motley {
namespace {

// A token whose text may still grow within its step.
struct PendingToken {
  int32_t id = -1;
  std::string text;
  bool waits = false;
};

void Give(PendingToken& pending, const OnToken& on_token) {
  if (pending.waits && on_token) on_token(pending.id, pending.text);
  pending.waits = false;
  pending.text.clear();
}

double Rate(double count, double seconds) {
  return count > 0 && seconds > 0 ? count / seconds : 0;
}

}  // namespace

StatusOr<OpenedEngine> OpenEngine(Launcher& launcher, const Config& config, uint64_t prompt_tokens,
                                  int64_t max_outputs, ModelFiles files, bool measures) {
  OpenedEngine opened;
  launcher.interrupt.OnInterruptOnlySetFlag();
  MOTLEY_ASSIGN_OR_RETURN(opened.base, OpenBackends(launcher.flags, config));
  MOTLEY_ASSIGN_OR_RETURN(opened.profile, measures ? OpenProfile(config, opened.base)
                                                   : OpenProfileIfSound(config, opened.base));
  Progress progress(launcher.out, "loading " + std::filesystem::path(config.model.path).filename().string());
  EngineOptions options;
  options.prompt_tokens = prompt_tokens;
  options.max_outputs = max_outputs;
  options.profile = opened.profile.profile ? &*opened.profile.profile : nullptr;
  options.outlive_devices = !measures;
  options.on_notice = [&out = launcher.out](const std::string& notice) {
    out.Note(notice);
    if (!out.json || !out.json_is_stream) return;
    out.PrintJson({{"type", "notice"}, {"message", notice}});
    out.Flush();
  };
  options.progress = [&](uint64_t done, uint64_t total) {
    progress.Update(done, total);
    return !launcher.interrupt.IsSet();
  };
  MOTLEY_ASSIGN_OR_RETURN(opened.engine, Engine::Open(config, *opened.base.backends, *opened.base.logger,
                                                      options, std::move(files)));
  return opened;
}

StatusOr<Answer> RunRequest(Engine& engine, Request request, Interrupt& interrupt, const OnToken& on_token,
                            const std::function<void()>& on_step) {
  MOTLEY_ASSIGN_OR_RETURN(const uint64_t id, engine.Submit(std::move(request)));
  interrupt.OnInterrupt([&engine, id] { engine.Cancel(id); });
  if (interrupt.IsSet()) engine.Cancel(id);  // it came before there was anybody to tell
  Answer answer;
  Status status;
  PendingToken pending;
  std::vector<Event> events;
  while (status.ok() && engine.busy()) {
    if (on_step) on_step();
    status = engine.Step(&events);
    for (const Event& event : events) {
      if (event.token >= 0) {
        Give(pending, on_token);
        pending.id = event.token;
        pending.waits = true;
      } else if (!event.text.empty() && !pending.waits) {
        pending.id = -1;
        pending.waits = true;
      }
      pending.text += event.text;
      if (!event.finish) continue;
      answer.reason = *event.finish;
      answer.stats = event.stats;
      if (answer.reason == FinishReason::kError) status = event.error;
    }
    Give(pending, on_token);
  }
  interrupt.OnInterruptOnlySetFlag();
  if (!status.ok()) return status;
  return answer;
}

int64_t OutputsAStep(int64_t vocab_rows, uint64_t wanted) {
  const int64_t most = (int64_t{64} << 20) / (4 * std::max<int64_t>(vocab_rows, 1));
  return std::clamp<int64_t>(most, 1, static_cast<int64_t>(std::clamp<uint64_t>(wanted, 1, 1u << 16)));
}

double PrefillRate(const RequestStats& stats) {
  return Rate(static_cast<double>(stats.prompt_tokens - stats.reused_tokens), stats.prefill_s);
}

double DecodeRate(const RequestStats& stats) {
  return stats.completion_tokens < 2 ? 0
                                     : Rate(static_cast<double>(stats.completion_tokens - 1), stats.decode_s);
}

double ReadRate(const RequestStats& stats) {
  return Rate(static_cast<double>(stats.decode_read_bytes), stats.decode_s);
}

}  // namespace motley
