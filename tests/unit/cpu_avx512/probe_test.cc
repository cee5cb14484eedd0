#include "plugins/cpu_avx512/probe.h"

#include <gtest/gtest.h>

#include "plugins/cpu_avx512/kernel_table.h"

namespace motley::cpu {
namespace {

// A made-up CPU. Every bit is there unless a test takes it away.
struct FakeCpu {
  uint32_t last_leaf = 7, one_ecx = ~0u, seven_ebx = ~0u, seven_ecx = ~0u, seven_edx = ~0u;
  uint64_t xcr0 = 0x600e7;
  bool tiles = true;
};
FakeCpu fake;

CpuFeatures Probe() {
  const CpuSource source = {
      [](uint32_t leaf, uint32_t sub_leaf) -> CpuidRegisters {
        if (leaf == 0) return {fake.last_leaf, 0, 0, 0};
        if (leaf == 1) return {0, 0, fake.one_ecx, 0};
        if (leaf == 7 && sub_leaf == 0) return {1, fake.seven_ebx, fake.seven_ecx, fake.seven_edx};
        return {1u << 5, 0, 0, 0};
      },
      [] { return fake.xcr0; }, [] { return fake.tiles; }};
  return ProbeCpu(source);
}

TEST(FieldFailure, L04_EachMissingBitIsNamed) {
  fake = {};
  EXPECT_TRUE(Probe().usable());
  EXPECT_TRUE(Probe().has_avx512());
  const struct {
    int bit;
    const char* name;
  } faster[] = {{16, "avx512f"}, {17, "avx512dq"}, {30, "avx512bw"}, {31, "avx512vl"}};
  for (const auto& need : faster) {
    fake = {};
    fake.seven_ebx &= ~(1u << need.bit);
    EXPECT_EQ(Probe().missing_avx512, need.name);
    EXPECT_TRUE(Probe().usable());
    EXPECT_FALSE(Probe().has_avx512());
  }
  fake = {};
  fake.seven_ebx &= ~(1u << 5);
  EXPECT_EQ(Probe().missing, "avx2");
  EXPECT_FALSE(Probe().has_avx512()) << "a CPU that says it has AVX-512 without AVX2 is not believed";
  fake = {};
  fake.one_ecx &= ~(1u << 12);
  EXPECT_EQ(Probe().missing, "fma");
  fake = {};
  fake.one_ecx &= ~(1u << 29);
  EXPECT_EQ(Probe().missing, "f16c");
  fake = {};
  fake.last_leaf = 4;  // a CPU without leaf 7: its answer there is not to be trusted
  EXPECT_EQ(Probe().missing, "avx2");
  EXPECT_EQ(Probe().missing_avx512, "avx512f, avx512bw, avx512vl, avx512dq");
}

TEST(FieldFailure, L04_TheSystemMustSaveTheRegisters) {
  fake = {};
  fake.xcr0 = 0x7;  // AVX alone
  EXPECT_TRUE(Probe().usable());
  EXPECT_FALSE(Probe().has_avx512());
  EXPECT_NE(Probe().missing_avx512.find("XCR0 = 0x7, needs 0xe6"), std::string::npos) << Probe().missing_avx512;
  fake = {};
  fake.xcr0 = 0x3;  // SSE alone
  EXPECT_FALSE(Probe().usable());
  EXPECT_NE(Probe().missing.find("ymm registers (XCR0 = 0x3, needs 0x6)"), std::string::npos) << Probe().missing;
  fake = {};
  fake.one_ecx &= ~(1u << 27);  // no xgetbv: it may not be called
  EXPECT_NE(Probe().missing.find("XCR0"), std::string::npos);
  EXPECT_FALSE(Probe().system_saves_zmm);
}

TEST(FieldFailure, L04_TilesNeedTheCpuTheRegistersAndThePermission) {
  fake = {};
  EXPECT_TRUE(Probe().system_grants_tiles);
  EXPECT_EQ(ChooseKernels(Probe(), "amx").fault, "");
  EXPECT_EQ(ChooseKernels(Probe(), "amx").quantised, avx512::kKernels.linear_amx);
  const auto refused = [] {
    return !Probe().system_grants_tiles && ChooseKernels(Probe(), "amx").fault.find("amx_int8") != std::string::npos;
  };
  fake.seven_edx &= ~(1u << 25);
  EXPECT_TRUE(refused());
  fake = {};
  fake.xcr0 = 0xe7;
  EXPECT_TRUE(refused());
  fake = {};
  fake.tiles = false;
  EXPECT_TRUE(refused());
}

TEST(KernelTable, TakesTheBestAndSaysWhyOthersAreNotUsed) {
  fake = {};
  KernelChoice choice = ChooseKernels(Probe(), "auto");
  EXPECT_EQ(choice.table, &avx512::kKernels);
  EXPECT_EQ(choice.quantised, avx512::kKernels.linear_vnni);
  EXPECT_EQ(choice.fault, "");
  fake.seven_ecx &= ~(1u << 11);
  choice = ChooseKernels(Probe(), "auto");
  EXPECT_EQ(choice.quantised, avx512::kKernels.linear_bw);
  EXPECT_NE(choice.notes.find("vnni refused: this CPU or system has no avx512_vnni"), std::string::npos) << choice.notes;
  EXPECT_NE(ChooseKernels(Probe(), "vnni").fault, "");
  fake = {};
  choice = ChooseKernels(Probe(), "avx512bw");
  EXPECT_EQ(choice.quantised, avx512::kKernels.linear_bw);
  EXPECT_EQ(choice.fault, "");
  fake.xcr0 = 0x7;
  choice = ChooseKernels(Probe(), "auto");
  EXPECT_EQ(choice.table, &avx2::kKernels);
  EXPECT_EQ(choice.quantised, avx2::kKernels.linear_bw);
  EXPECT_NE(ChooseKernels(Probe(), "avx512bw").fault, "");
}

}  // namespace
}  // namespace motley::cpu
