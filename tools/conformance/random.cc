#include "tools/conformance/random.h"

#include <motley/dequant.hpp>

#include <algorithm>
#include <cmath>

#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

// The finalizer of splitmix64.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace

Random::Random(std::string_view name) : key_(Mix(TheTarget().seed)) {
  for (const char c : name) key_ = Mix(key_ ^ static_cast<unsigned char>(c));
}

uint64_t Random::At(int64_t index) const {
  return Mix(key_ + static_cast<uint64_t>(index + 1) * 0x9E3779B97F4A7C15ull);
}

double Random::Unit(int64_t index) const {
  return static_cast<double>(static_cast<int64_t>(At(index))) * 0x1p-63;
}

std::vector<uint8_t> RandomWeights(const plugin::FormatRow& format, int64_t count) {
  const Random random(format.name);
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> block(format.block_bytes);
  std::vector<float> values(format.block_elems);
  const plugin::DequantFn dequant = plugin::FindDequant(format.id);
  int64_t drawn = 0;
  for (int64_t done = 0; done < count; done += format.block_elems) {
    float largest = 0;
    do {
      for (uint8_t& byte : block) byte = static_cast<uint8_t>(random.At(drawn++) >> 56);
      dequant(reinterpret_cast<const std::byte*>(block.data()), format.block_elems, values.data());
      largest = 0;
      for (const float v : values) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : INFINITY;
    } while (!(largest <= 1 && largest > 0x1p-6f));
    bytes.insert(bytes.end(), block.begin(), block.end());
  }
  return bytes;
}

}  // namespace motley::conformance
