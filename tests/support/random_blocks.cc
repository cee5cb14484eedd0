#include "tests/support/random_blocks.h"

#include <algorithm>
#include <bit>
#include <string>

namespace motley::test {
namespace {

enum class Sign : uint8_t { kOwn, kAsFirst, kOpposite };

struct ScaleField {
  uint32_t offset;
  int exponent;  // e of RandomWeights
  Sign sign;
};

// Where a block's scales are, and their size in weights (F16 and BF16: RandomFloats instead).
struct BlockRule {
  Format format;
  uint32_t n_fields;
  ScaleField fields[2];
};

constexpr BlockRule kRules[] = {
    {Format::kQ4_0, 1, {{0, -4, Sign::kOwn}}},
    {Format::kQ4_1, 2, {{0, -4, Sign::kOwn}, {2, -1, Sign::kOpposite}}},
    {Format::kQ5_0, 1, {{0, -5, Sign::kOwn}}},
    {Format::kQ5_1, 2, {{0, -5, Sign::kOwn}, {2, -1, Sign::kOpposite}}},
    {Format::kQ8_0, 1, {{0, -8, Sign::kOwn}}},
    {Format::kQ2_K, 2, {{80, -5, Sign::kOwn}, {82, -4, Sign::kAsFirst}}},
    {Format::kQ3_K, 1, {{108, -7, Sign::kOwn}}},
    {Format::kQ4_K, 2, {{0, -9, Sign::kOwn}, {2, -6, Sign::kAsFirst}}},
    {Format::kQ5_K, 2, {{0, -10, Sign::kOwn}, {2, -6, Sign::kAsFirst}}},
    {Format::kQ6_K, 1, {{208, -12, Sign::kOwn}}},
    {Format::kIQ4_NL, 1, {{0, -8, Sign::kOwn}}},
    {Format::kIQ4_XS, 1, {{0, -12, Sign::kOwn}}},
    {Format::kIQ2_XXS, 1, {{0, -7, Sign::kOwn}}},
    {Format::kIQ2_XS, 1, {{0, -7, Sign::kOwn}}},
    {Format::kIQ2_S, 1, {{0, -7, Sign::kOwn}}},
    {Format::kIQ3_XXS, 1, {{0, -9, Sign::kOwn}}},
    {Format::kIQ3_S, 1, {{0, -9, Sign::kOwn}}},
    {Format::kIQ1_S, 1, {{0, -4, Sign::kOwn}}},
    {Format::kF16, 1, {{0}}},
    {Format::kBF16, 1, {{0}}},
    {Format::kIQ1_M, 0, {}},  // scales elsewhere than in an f16 field
    {Format::kMXFP4, 0, {}},
    {Format::kNVFP4, 0, {}},
};
constexpr int kIq1MExponent = -4, kMxfp4Exponent = -3, kNvfp4Exponent = -3;

const BlockRule* FindRule(Format format) {
  const auto rule = std::find_if(std::begin(kRules), std::end(kRules), [&](const BlockRule& r) {
    return r.format == format;
  });
  return rule == std::end(kRules) ? nullptr : rule;
}

Status NoRule(Format format) {
  return UnimplementedError("no rule for random data in " + std::string(FormatName(format)) +
                            ": add one to random_blocks.cc and to tests/golden/blocks.py");
}

StatusOr<const BlockRule*> CheckedRule(Format format, int64_t n_blocks) {
  const BlockRule* rule = FindRule(format);
  if (rule == nullptr) return NoRule(format);
  if (n_blocks < 0 || n_blocks > INT64_MAX / FindFormat(format)->block_elems) {
    return InvalidArgumentError("n_blocks = " + std::to_string(n_blocks) + ": must be a sensible count");
  }
  MOTLEY_RETURN_IF_ERROR(FormatBytes(format, n_blocks * FindFormat(format)->block_elems).status());
  return rule;
}

void Put(uint64_t value, size_t bytes, uint8_t* out) {
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<uint8_t>(value >> 8 * i);
}

// IQ1_M's f16 stands in the high nibbles of four bytes.
void PutIq1MScale(uint64_t bits, uint8_t* block) {
  for (int i = 0; i < 4; ++i) {
    uint8_t& byte = block[49 + 2 * i];
    byte = static_cast<uint8_t>((byte & 15) | (bits >> (4 * i) & 15) << 4);
  }
}

// ue4m3 of (1 + fraction / 8) * 2^exponent.
uint8_t Ue4m3(int exponent, uint64_t fraction) {
  const int biased = exponent + 7;
  return static_cast<uint8_t>(biased > 0 ? static_cast<uint64_t>(biased) << 3 | fraction : (8 | fraction) >> (1 - biased));
}

struct FloatRule {
  uint32_t bytes, mantissa_bits;
  int bias;
};

std::vector<uint8_t> RandomFloats(FloatRule rule, int64_t elems, int amplitude_log2, const CounterRandom& rng) {
  std::vector<uint8_t> out(static_cast<size_t>(elems) * rule.bytes);
  for (int64_t i = 0; i < elems; ++i) {
    const uint64_t r = rng.At(i);
    const int octave = std::min(7, std::countr_zero(r & 0xFF));
    const uint64_t mantissa = r >> 8 & ((uint64_t{1} << rule.mantissa_bits) - 1);
    const uint64_t exponent = static_cast<uint64_t>(rule.bias + amplitude_log2 - 1 - octave);
    const uint64_t sign = r >> 63 << (8 * rule.bytes - 1);
    Put(sign | exponent << rule.mantissa_bits | mantissa, rule.bytes, &out[i * rule.bytes]);
  }
  return out;
}

// |bits| of (1 + (word & 1023) / 1024) * 2^exponent.
uint64_t F16Bits(int exponent, uint64_t word) {
  const uint64_t mantissa = word & 1023;
  if (exponent >= -14) return static_cast<uint64_t>(exponent + 15) << 10 | mantissa;
  return (1024 | mantissa) >> (-14 - exponent);
}

// The scales of RandomWeights in formats whose scales are no f16 fields.
void PutOddScales(Format format, int amplitude_log2, uint64_t word, uint8_t* block) {
  if (format == Format::kIQ1_M) {
    PutIq1MScale(F16Bits(amplitude_log2 + kIq1MExponent, word) | word >> 63 << 15, block);
  } else if (format == Format::kMXFP4) {
    block[0] = static_cast<uint8_t>(128 + amplitude_log2 + kMxfp4Exponent - static_cast<int>(word & 1));
  } else if (format == Format::kNVFP4) {
    for (int i = 0; i < 4; ++i) block[i] = Ue4m3(amplitude_log2 + kNvfp4Exponent, word >> (3 * i) & 7);
  }
}

// Calls fill(block, words) for each block, with the two words for its scales.
template <typename Fill>
std::vector<uint8_t> MakeBlocks(const FormatInfo& info, int64_t n_blocks, const CounterRandom& rng, Fill fill) {
  const uint64_t n_words = (info.block_bytes + 7) / 8;
  std::vector<uint8_t> out(static_cast<size_t>(n_blocks) * info.block_bytes);
  for (int64_t b = 0; b < n_blocks; ++b) {
    uint8_t* block = &out[b * info.block_bytes];
    const uint64_t first = b * (n_words + 2);
    for (uint64_t w = 0; w < n_words; ++w) {
      Put(rng.At(first + w), std::min<uint64_t>(8, info.block_bytes - 8 * w), block + 8 * w);
    }
    const uint64_t words[2] = {rng.At(first + n_words), rng.At(first + n_words + 1)};
    fill(block, words);
  }
  return out;
}

}  // namespace

StatusOr<std::vector<uint8_t>> RandomWeights(Format format, int64_t elems, int amplitude_log2,
                                             const CounterRandom& rng) {
  MOTLEY_RETURN_IF_ERROR(FormatBytes(format, elems).status());
  if (format == Format::kF32) return RandomFloats({4, 23, 127}, elems, amplitude_log2, rng);
  if (format == Format::kF16) return RandomFloats({2, 10, 15}, elems, amplitude_log2, rng);
  if (format == Format::kBF16) return RandomFloats({2, 7, 127}, elems, amplitude_log2, rng);
  const BlockRule* rule = FindRule(format);
  if (rule == nullptr) return NoRule(format);
  const FormatInfo& info = *FindFormat(format);
  return MakeBlocks(info, elems / info.block_elems, rng, [&](uint8_t* block, const uint64_t* words) {
    for (uint32_t i = 0; i < rule->n_fields; ++i) {
      const ScaleField& field = rule->fields[i];
      const uint64_t by = field.sign == Sign::kOwn ? words[i] : field.sign == Sign::kAsFirst ? words[0] : ~words[0];
      Put(F16Bits(amplitude_log2 + field.exponent, words[i]) | by >> 63 << 15, 2, block + field.offset);
    }
    PutOddScales(format, amplitude_log2, words[0], block);
  });
}

std::vector<uint8_t> RandomNormWeights(int64_t elems, const CounterRandom& rng) {
  std::vector<uint8_t> out(static_cast<size_t>(elems) * 4);
  for (int64_t i = 0; i < elems; ++i) {
    const uint64_t r = rng.At(i);
    Put((127 - (r & 1)) << 23 | (r >> 8 & 0x7FFFFF), 4, &out[i * 4]);
  }
  return out;
}

std::vector<uint8_t> RandomScale(const CounterRandom& rng) {
  std::vector<uint8_t> out(4);
  Put(uint64_t{127 - 7} << 23 | (rng.At(0) >> 8 & 0x7FFFFF), 4, out.data());
  return out;
}

StatusOr<std::vector<uint8_t>> RandomBlocks(Format format, int64_t n_blocks, const CounterRandom& rng) {
  MOTLEY_ASSIGN_OR_RETURN(const BlockRule* rule, CheckedRule(format, n_blocks));
  const FormatInfo& info = *FindFormat(format);
  const uint64_t all_ones = format == Format::kBF16 ? 0x7F80 : 0x7C00;
  return MakeBlocks(info, n_blocks, rng, [&](uint8_t* block, const uint64_t* words) {
    for (uint32_t i = 0; i < rule->n_fields; ++i) {
      uint64_t bits = words[i] & 0xFFFF;
      if ((bits & all_ones) == all_ones) bits &= 0xBFFF;
      Put(bits, 2, block + rule->fields[i].offset);
    }
    if (format == Format::kMXFP4) {
      const uint64_t x = words[0] & 255;
      block[0] = static_cast<uint8_t>(x > 250 ? x - 250 : x);
    } else if (format == Format::kNVFP4) {
      for (int i = 0; i < 4; ++i) block[i] &= 0x7F;
    } else if (format == Format::kIQ1_M) {
      block[55] &= 0xBF;
    }
  });
}

StatusOr<std::vector<uint8_t>> RawBlocks(Format format, int64_t n_blocks, const CounterRandom& rng) {
  MOTLEY_ASSIGN_OR_RETURN(const BlockRule* rule, CheckedRule(format, n_blocks));
  int64_t b = 0;
  return MakeBlocks(*FindFormat(format), n_blocks, rng, [&](uint8_t* block, const uint64_t* /*words*/) {
    const int64_t index = b++;
    if (index % 16 != 0) return;
    const uint64_t infinity = (format == Format::kBF16 ? 0x7F80 : 0x7C00) | (index % 32 == 0 ? 0 : 0x8000);
    for (uint32_t i = 0; i < rule->n_fields; ++i) Put(infinity, 2, block + rule->fields[i].offset);
    if (format == Format::kIQ1_M) PutIq1MScale(infinity, block);
    if (format == Format::kMXFP4) block[0] = 255;
    if (format == Format::kNVFP4) Put(0x0080FF7F, 4, block);
  });
}

}  // namespace motley::test
