#include "tests/support/counter_random.h"

namespace motley::test {
namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;

}  // namespace

uint64_t Mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9;
  x ^= x >> 27;
  x *= 0x94D049BB133111EB;
  return x ^ x >> 31;
}

uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3;
  return hash;
}

CounterRandom::CounterRandom(uint64_t seed, std::string_view name) : key_(Mix64(seed + kGolden) ^ HashName(name)) {}

uint64_t CounterRandom::At(uint64_t index) const { return Mix64(key_ + (index + 1) * kGolden); }

uint64_t Checksum(std::span<const uint8_t> bytes) {
  uint64_t sum = Mix64(bytes.size());
  for (size_t at = 0, index = 1; at < bytes.size(); at += 8, ++index) {
    uint64_t word = 0;
    for (size_t i = at; i < bytes.size() && i < at + 8; ++i) word |= uint64_t{bytes[i]} << 8 * (i - at);
    sum += Mix64(word + index * kGolden);
  }
  return sum;
}

}  // namespace motley::test
