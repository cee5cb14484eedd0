// Random inputs, each a pure function of the target's seed, a name and an index; and random weights of any
// format.
#pragma once

#include <motley/formats.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace motley::conformance {

class Random {
 public:
  explicit Random(std::string_view name);  // with TheTarget().seed

  uint64_t At(int64_t index) const;
  double Unit(int64_t index) const;  // about evenly in (-1, 1)

 private:
  uint64_t key_;
};

// Stored bytes of `count` values, a multiple of the format's block. Blocks are drawn until all of their
// values are finite and of magnitudes as trained weights have them: at most 1, the largest above 2^-6.
std::vector<uint8_t> RandomWeights(const plugin::FormatRow& format, int64_t count);

}  // namespace motley::conformance
