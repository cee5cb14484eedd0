// Any bytes as a configuration file and as a --set: a Config or an error that names the file, never more.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/engine/config.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckError(const motley::Status& status, std::string_view names) {
  Require(status.code() == motley::Code::kInvalidArgument || status.code() == motley::Code::kUnimplemented);
  Require(status.message().find(names) != std::string::npos);
  Require(status.message().size() < 8192);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = motley::ParseConfig(text, "fuzz.toml");
  if (!config.ok()) {
    CheckError(config.status(), "fuzz.toml:");
  } else {
    Require(config->model.sequences >= 1 && config->kv.page_tokens >= 1 && config->schedule.step_tokens >= 1);
  }
  motley::Config settings;
  if (const motley::Status status = motley::ApplySetting(settings, text); !status.ok())
    CheckError(status, "--set");
  return 0;
}
