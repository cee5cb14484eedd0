// Files that are fetched once to a cache folder, and never committed: tests over them skip where they are absent.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace motley::test {

// ${XDG_CACHE_HOME:-$HOME/.cache}/motley
inline std::filesystem::path CacheFolder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::filesystem::path(cache) / "motley";
  }
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : ".") / ".cache" / "motley";
}

// SmolLM2-135M-Instruct: MOTLEY_TEST_MODEL, or the cache's.
inline std::filesystem::path TestModel() {
  if (const char* model = std::getenv("MOTLEY_TEST_MODEL"); model != nullptr && *model != '\0') return model;
  return CacheFolder() / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

}  // namespace motley::test
