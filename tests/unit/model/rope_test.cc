#include "core/model/rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/model/gguf.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_dir.h"

namespace motley {
namespace {

using test::GgufWriter;
using test::TempDir;

StatusOr<RopeTable> Table(const GgufWriter& writer, int64_t rotary_dim, TempDir& dir) {
  writer.Write(dir.path() / "rope.gguf");
  const auto file = *GgufFile::Open((dir.path() / "rope.gguf").string());
  return RopeTable::Create(*file, "llama", rotary_dim);
}

GgufWriter Base() {
  GgufWriter writer;
  writer.SetString("general.architecture", "llama").SetF32("llama.rope.freq_base", 10000.0f);
  return writer;
}

TEST(RopeTable, LinearScalingDividesEveryFrequency) {
  TempDir dir;
  GgufWriter writer = Base();
  writer.SetString("llama.rope.scaling.type", "linear").SetF32("llama.rope.scaling.factor", 4.0f);
  const auto scaled = *Table(writer, 8, dir);
  const auto plain = *Table(Base(), 8, dir);
  float a[8], b[8];
  scaled.Fill(400, a);
  plain.Fill(100, b);
  for (int i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(a[i], b[i]);
}

TEST(RopeTable, YarnKeepsFastDividesSlowAndScalesTheAttention) {
  // Worked by hand from the paper's formulas: base 10000, 64 dims, factor 4, context 2048. Correction dims 8.07 -> 8 and
  // 20.1 -> 21 of the 32 pairs' index range, so pair 0 keeps its frequency and pair 31 is divided by 4.
  TempDir dir;
  GgufWriter writer = Base();
  writer.SetString("llama.rope.scaling.type", "yarn").SetF32("llama.rope.scaling.factor", 4.0f);
  writer.SetU32("llama.rope.scaling.original_context_length", 2048);
  const auto table = *Table(writer, 64, dir);
  float out[64];
  const double scale = 0.1 * std::log(4.0) + 1.0;
  table.Fill(1, out);
  EXPECT_NEAR(out[0], std::cos(1.0) * scale, 1e-6);
  const double slow = std::pow(10000.0, -62.0 / 64.0) / 4;
  table.Fill(10000, out);
  EXPECT_NEAR(out[32 + 31], std::sin(10000 * slow) * scale, 1e-6);
}

TEST(RopeTable, RefusesWhatItDoesNotKnowByName) {
  TempDir dir;
  GgufWriter longrope = Base();
  longrope.SetString("llama.rope.scaling.type", "longrope");
  EXPECT_NE(Table(longrope, 8, dir).status().message().find("llama.rope.scaling.type"), std::string::npos);
  GgufWriter zero = Base();
  zero.SetF32("llama.rope.freq_base", 0.0f);
  EXPECT_NE(Table(zero, 8, dir).status().message().find("llama.rope.freq_base"), std::string::npos);
  GgufWriter yarn = Base();
  yarn.SetString("llama.rope.scaling.type", "yarn");
  EXPECT_NE(Table(yarn, 8, dir).status().message().find("original_context_length"), std::string::npos);
}

}  // namespace
}  // namespace motley
