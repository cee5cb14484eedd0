// Runs of a model through the engine, as tests want them: the logits of given tokens on given devices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/engine.h"

namespace motley::test {

// An engine and what it stands on, with plugins from the build's own folders (the test devices' too).
struct OpenedEngine {
  std::unique_ptr<Logger> logger;
  std::unique_ptr<Host> host;
  std::unique_ptr<Backends> backends;
  std::unique_ptr<Engine> engine;
};
StatusOr<OpenedEngine> OpenEngine(const Config& config, int64_t max_outputs = 64);

// The same without an engine.
StatusOr<OpenedEngine> OpenDevices();

// Where all tests remember together that a plugin came through its probe: each probe costs some 20 ms.
std::string TestVerdictFolder();

// A configuration for comparisons: KV in f32, these devices alone, a small margin.
Config TestConfig(const std::string& model_path, std::vector<std::string> devices);

// "layers.0=ref:0"
void AddPin(Config* config, const std::string& selector, const std::string& device);

// The logits of every position, [tokens.size(), vocab_rows].
StatusOr<std::vector<float>> Logits(Engine& engine, const std::vector<int32_t>& tokens);

// Whether a device of that name was found: a CPU may lack what a plugin needs.
bool HasDevice(const std::string& name);

}  // namespace motley::test
