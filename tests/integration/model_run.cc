#include "tests/integration/model_run.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>

namespace motley::test {
namespace {

StatusOr<OpenedEngine> OpenBackendsOnly(const Config& config) {
  OpenedEngine opened;
  opened.logger = std::make_unique<Logger>(LogLevel::kError);
  opened.host = std::make_unique<Host>(*opened.logger, HostOptions{.threads = 4});
  Config with_paths = config;
  with_paths.plugins.path = {MOTLEY_PLUGIN_FOLDER, MOTLEY_TEST_PLUGIN_FOLDER};
  MOTLEY_ASSIGN_OR_RETURN(opened.backends, OpenBackends(with_paths, *opened.host, *opened.logger, "",
                                                        TestVerdictFolder()));
  return opened;
}

}  // namespace

std::string TestVerdictFolder() { return testing::TempDir() + "motley-test-verdicts-" + std::to_string(geteuid()); }

StatusOr<OpenedEngine> OpenDevices() { return OpenBackendsOnly({}); }

StatusOr<OpenedEngine> OpenEngine(const Config& config, int64_t max_outputs) {
  MOTLEY_ASSIGN_OR_RETURN(OpenedEngine opened, OpenBackendsOnly(config));
  MOTLEY_ASSIGN_OR_RETURN(opened.engine, Engine::Open(config, *opened.backends, *opened.logger, {max_outputs, {}}));
  return opened;
}

Config TestConfig(const std::string& model_path, std::vector<std::string> devices) {
  Config config;
  config.model.path = model_path;
  config.kv.dtype = Format::kF32;
  config.placement.devices = std::move(devices);
  config.placement.margin_bytes = 1 << 20;
  return config;
}

void AddPin(Config* config, const std::string& selector, const std::string& device) {
  config->placement.pins.push_back({selector, device, "test", "test", true});
}

StatusOr<std::vector<float>> Logits(Engine& engine, const std::vector<int32_t>& tokens) {
  std::vector<float> all;
  Request request;
  request.prompt = tokens;
  request.max_tokens = 0;
  request.all_logits = true;
  request.on_logits = [&](int64_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); };
  MOTLEY_RETURN_IF_ERROR(engine.Submit(std::move(request)).status());
  std::vector<Event> events;
  while (engine.busy()) {
    MOTLEY_RETURN_IF_ERROR(engine.Step(&events));
    for (const Event& event : events) MOTLEY_RETURN_IF_ERROR(event.error);
  }
  return all;
}

bool HasDevice(const std::string& name) {
  const StatusOr<OpenedEngine> opened = OpenBackendsOnly({});
  return opened.ok() && opened->backends->Find(name) != nullptr;
}

}  // namespace motley::test
