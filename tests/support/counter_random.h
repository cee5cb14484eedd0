// Counter-based random numbers: the value at an index is a pure function of (seed, name, index), the same here and
// in tests/golden/counter.py, so that golden weights need not be committed.
//
//   Mix64(x): the finalizer of splitmix64:
//     x ^= x >> 30; x *= 0xBF58476D1CE4E5B9; x ^= x >> 27; x *= 0x94D049BB133111EB; x ^= x >> 31
//   key      = Mix64(seed + G) ^ HashName(name)           G = 0x9E3779B97F4A7C15, all modulo 2^64
//   At(i)    = Mix64(key + (i + 1) * G)
//
// Pure functions and a plain value type: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace motley::test {

uint64_t Mix64(uint64_t x);

// FNV-1a, 64 bits.
uint64_t HashName(std::string_view name);

class CounterRandom {
 public:
  CounterRandom(uint64_t seed, std::string_view name);

  uint64_t At(uint64_t index) const;
  // At(index) modulo n; n > 0. The slight bias is part of the definition.
  uint64_t Below(uint64_t n, uint64_t index) const { return At(index) % n; }

 private:
  uint64_t key_;
};

// Of bytes: the sum of Mix64(word[i] + (i + 1) * G) over their little-endian 64-bit words, the last filled up with
// zeros, plus Mix64(the number of bytes). A checksum against mistakes, not against malice.
uint64_t Checksum(std::span<const uint8_t> bytes);

}  // namespace motley::test
