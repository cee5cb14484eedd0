#include "core/plan/selector.h"

#include <gtest/gtest.h>

#include <random>

namespace motley {
namespace {

// A model of `layers` layers, the first `dense` of them dense, the others with `experts` routed experts.
PartList Model(int32_t layers, int32_t dense, uint32_t experts) {
  PartList parts{{PartKind::kEmbed}};
  for (int32_t i = 0; i < layers; ++i) {
    parts.push_back({PartKind::kAttention, i});
    parts.push_back({PartKind::kKv, i});
    if (i < dense) {
      parts.push_back({PartKind::kFfn, i});
    } else {
      parts.push_back({PartKind::kRouter, i});
      parts.push_back({PartKind::kSharedExperts, i});
      parts.push_back({PartKind::kExperts, i, 0, experts});
    }
  }
  parts.push_back({PartKind::kHead});
  return parts;
}

const std::vector<std::string> kDevices{"cpu_avx512:0", "cuda_gb10:0", "ref:0"};

std::vector<std::string> Matched(const std::string& selector, const PartList& model) {
  const auto parsed = ParseSelector(selector);
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
  const auto matches = MatchSelector(*parsed, model);
  EXPECT_TRUE(matches.ok()) << matches.status().ToString();
  std::vector<std::string> names;
  if (matches.ok()) {
    for (uint32_t i : *matches) names.push_back(ToString(model[i]));
  }
  return names;
}

// The device of each part as ApplyPins decides, "" = free.
std::vector<std::pair<std::string, std::string>> Placed(const std::vector<Pin>& pins, const PartList& model) {
  const auto result = ApplyPins(pins, model, kDevices);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  std::vector<std::pair<std::string, std::string>> out;
  if (!result.ok()) return out;
  for (const PinnedPart& p : result->parts)
    out.emplace_back(ToString(p.part), p.pin < 0 ? "" : pins[static_cast<size_t>(p.pin)].device);
  return out;
}

std::string DeviceOf(const std::vector<std::pair<std::string, std::string>>& placed,
                     const std::string& part) {
  for (const auto& [name, device] : placed) {
    if (name == part) return device;
  }
  return "no such part: " + part;
}

std::string ErrorOf(const std::vector<Pin>& pins, const PartList& model) {
  const auto result = ApplyPins(pins, model, kDevices);
  EXPECT_FALSE(result.ok());
  if (result.ok()) return "";
  EXPECT_TRUE(result.status().code() == Code::kInvalidArgument || result.status().code() == Code::kNotFound);
  return result.status().message();
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(ParseSelector, ReadsEveryFormAndPrintsItBack) {
  for (const char* text :
       {"embed", "head", "layers.7", "layers.0", "layers.10-19", "layers.*", "layers.7.attention",
        "layers.*.ffn", "layers.10-19.router", "layers.*.shared_experts", "layers.*.experts",
        "layers.7.experts.0-31", "layers.7.experts.3", "layers.*.kv"}) {
    const auto parsed = ParseSelector(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(ToString(*parsed), text);
  }
  EXPECT_EQ(ToString(*ParseSelector("layers.*.experts.*")), "layers.*.experts");
  EXPECT_EQ(ToString(*ParseSelector("layers.7-7")), "layers.7");
}

TEST(ParseSelector, RefusesEverythingElse) {
  for (const char* text : {"",
                           ".",
                           "*",
                           "layers",
                           "layers.",
                           "layers..attention",
                           "layer.7",
                           "Layers.7",
                           "layers.x",
                           "layers.-1",
                           "layers.1-",
                           "layers.-",
                           "layers.7.",
                           "layers.7.moe",
                           "layers.7.attention.0-3",
                           "layers.7.experts.0-31.x",
                           "layers.7.experts.",
                           "layers.7.experts.31-0",
                           "layers.19-10",
                           "layers.4294967296",
                           "layers.99999999999999999999",
                           "layers.07",
                           "layers.1,2",
                           "embed.weight",
                           "head.0",
                           " layers.7",
                           "layers.7 ",
                           "layers.1*",
                           "layers.[0-9]",
                           "layers.1-2-3",
                           "layers.7.experts.0-31.0.0.0"}) {
    const auto parsed = ParseSelector(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
    EXPECT_HAS(parsed.status().message(), "selector \"");
  }
  EXPECT_HAS(ParseSelector("layers.7.atention").status().message(), "did you mean \"attention\"?");
  EXPECT_HAS(ParseSelector("layer.7").status().message(), "did you mean \"layers\"?");
  EXPECT_LT(ParseSelector("layers." + std::string(1 << 20, '.')).status().message().size(), 1000u);
}

TEST(FieldFailure, P04_SelectorsAreExactNotPatterns) {
  const PartList model = Model(30, 30, 0);
  EXPECT_EQ(Matched("layers.1", model),
            (std::vector<std::string>{"layers.1.attention", "layers.1.kv", "layers.1.ffn"}));
  EXPECT_EQ(Matched("layers.10-19", model).size(), 30u);
  EXPECT_EQ(Matched("layers.*", model).size(), 90u);
  EXPECT_EQ(Matched("layers.*.ffn", model).size(), 30u);
  EXPECT_EQ(Matched("embed", model), std::vector<std::string>{"embed"});
  EXPECT_EQ(Matched("head", model), std::vector<std::string>{"head"});
  EXPECT_FALSE(ParseSelector("blk\\.1").ok());
  EXPECT_HAS(ParseSelector("blk\\.1").status().message(), "did you mean \"layers\"?");
}

TEST(FieldFailure, P04_ZeroMatchesIsAnErrorWithASuggestion) {
  const PartList dense = Model(30, 30, 0), mixed = Model(46, 1, 128);
  std::string error = ErrorOf({{"layers.*.experts", "ref:0", "motley.toml:12:8"}}, dense);
  EXPECT_HAS(error, "motley.toml:12:8: pin layers.*.experts = ref:0");
  EXPECT_HAS(error,
             "the model has no experts; its layers have attention, kv, ffn; did you mean \"layers.*.ffn\"?");
  error = ErrorOf({{"layers.0.experts", "ref:0"}}, mixed);
  EXPECT_HAS(
      error,
      "these layers have no experts, they have attention, kv, ffn; did you mean \"layers.1.experts\"?");
  error = ErrorOf({{"embed", "ref:0"}}, {{PartKind::kAttention, 0}});
  EXPECT_HAS(error, "the model has no such part");
  EXPECT_FALSE(ApplyPins(std::vector<Pin>{{"layers.*", "ref:0"}}, {}, kDevices).ok());
}

TEST(FieldFailure, P04_RangePartlyOutsideTheModelIsAnError) {
  const PartList model = Model(46, 1, 128);
  EXPECT_HAS(ErrorOf({{"layers.40-46", "ref:0"}}, model), "partly outside the model, whose layers are 0-45");
  EXPECT_HAS(ErrorOf({{"layers.46", "ref:0"}}, model), "outside the model, whose layers are 0-45");
  EXPECT_HAS(ErrorOf({{"layers.*.experts.0-128", "ref:0"}}, model),
             "partly outside the experts of layer 1, which are 0-127");
  EXPECT_HAS(ErrorOf({{"layers.1.experts.128", "ref:0"}}, model), "outside the experts of layer 1");
  EXPECT_TRUE(ApplyPins(std::vector<Pin>{{"layers.40-45", "ref:0"}, {"layers.*.experts.0-127", "ref:0"}},
                        model, kDevices)
                  .ok());
}

TEST(FieldFailure, P04_UnknownDeviceIsAnErrorWithASuggestion) {
  const PartList model = Model(4, 4, 0);
  std::string error = ErrorOf({{"layers.*", "cpu_avx512:1"}}, model);
  EXPECT_HAS(error, "no device \"cpu_avx512:1\"; did you mean \"cpu_avx512:0\"?");
  error = ErrorOf({{"layers.*", "CUDA9"}}, model);
  EXPECT_HAS(error, "no device \"CUDA9\"");
  EXPECT_HAS(error, "cpu_avx512:0, cuda_gb10:0, ref:0");
  EXPECT_HAS(error, "did you mean");
  EXPECT_FALSE(CheckDeviceName("ref:0", {}).ok());
  EXPECT_TRUE(CheckDeviceName("ref:0", kDevices).ok());
  EXPECT_FALSE(CheckDeviceName("REF:0", kDevices).ok());  // names are exact
}

TEST(FieldFailure, P04_MatchCountsAreReported) {
  const PartList model = Model(46, 1, 128);
  const auto result = ApplyPins(
      std::vector<Pin>{
          {"layers.*.experts", "cpu_avx512:0"}, {"layers.7", "ref:0"}, {"layers.*.experts", "ref:0"}},
      model, kDevices);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->matches, (std::vector<uint32_t>{45, 5, 45}));
  EXPECT_EQ(result->deciding,
            (std::vector<uint32_t>{0, 4, 45}));  // the third line overrides all of the first
}

TEST(FieldFailure, P04_PrecedenceMoreParts_ThenFewerLayers_ThenTheLaterLine) {
  const PartList model = Model(46, 1, 128);
  auto placed = Placed({{"layers.*.experts", "cpu_avx512:0"}, {"layers.7", "cuda_gb10:0"}}, model);
  EXPECT_EQ(DeviceOf(placed, "layers.7.experts.0-127"), "cpu_avx512:0");
  EXPECT_EQ(DeviceOf(placed, "layers.7.attention"), "cuda_gb10:0");
  EXPECT_EQ(DeviceOf(placed, "layers.8.attention"), "");
  for (bool swapped : {false, true}) {  // fewer layers win, in either order
    std::vector<Pin> pins{{"layers.10-19.kv", "ref:0"}, {"layers.*.kv", "cuda_gb10:0"}};
    if (swapped) std::swap(pins[0], pins[1]);
    placed = Placed(pins, model);
    EXPECT_EQ(DeviceOf(placed, "layers.10.kv"), "ref:0");
    EXPECT_EQ(DeviceOf(placed, "layers.9.kv"), "cuda_gb10:0");
  }
  placed = Placed({{"layers.0-4", "ref:0"}, {"layers.4-8", "cuda_gb10:0"}}, model);  // a tie: the later line
  EXPECT_EQ(DeviceOf(placed, "layers.3.kv"), "ref:0");
  EXPECT_EQ(DeviceOf(placed, "layers.4.kv"), "cuda_gb10:0");
  placed = Placed({{"layers.0-45", "ref:0"}, {"layers.*", "cuda_gb10:0"}}, model);  // the same layers
  EXPECT_EQ(DeviceOf(placed, "layers.3.kv"), "cuda_gb10:0");
}

TEST(FieldFailure, P04_FlagsBeatTheFileWhateverTheyName) {
  const PartList model = Model(46, 1, 128);
  const auto placed = Placed(
      {{"layers.7", "ref:0", "--pin", true}, {"layers.*.experts", "cpu_avx512:0", "motley.toml:3:1"}}, model);
  EXPECT_EQ(DeviceOf(placed, "layers.7.experts.0-127"), "ref:0");
  EXPECT_EQ(DeviceOf(placed, "layers.8.experts.0-127"), "cpu_avx512:0");
}

TEST(ApplyPins, CutsExpertsWhereRangesEnd) {
  const PartList model = Model(2, 1, 64);
  const auto placed = Placed({{"layers.*.experts", "cpu_avx512:0"},
                              {"layers.1.experts.0-15", "cuda_gb10:0"},
                              {"layers.*.experts.8-31", "ref:0"}},
                             model);
  // layers.1.experts.0-15 names fewer layers than layers.*.experts.8-31, so it keeps 8 to 15.
  EXPECT_EQ(DeviceOf(placed, "layers.1.experts.0-15"), "cuda_gb10:0");
  EXPECT_EQ(DeviceOf(placed, "layers.1.experts.16-31"), "ref:0");
  EXPECT_EQ(DeviceOf(placed, "layers.1.experts.32-63"), "cpu_avx512:0");
  const auto whole = Placed({{"layers.1.experts.63", "ref:0"}}, model);
  EXPECT_EQ(DeviceOf(whole, "layers.1.experts.0-62"), "");
  EXPECT_EQ(DeviceOf(whole, "layers.1.experts.63-63"), "ref:0");
}

TEST(SummarizePlacement, SaysTheSameInFewLines) {
  const PartList model = Model(46, 1, 128);
  std::vector<PlacedPart> placed;
  for (const Part& part : model)
    placed.push_back({part, part.kind == PartKind::kExperts ? "cpu_avx512:0" : "cuda_gb10:0"});
  const auto lines = SummarizePlacement(placed);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].selector, "embed");
  EXPECT_EQ(lines[1].selector, "layers.*");
  EXPECT_EQ(lines[1].device, "cuda_gb10:0");
  EXPECT_EQ(lines[2].selector, "layers.*.experts");
  EXPECT_EQ(lines[2].device, "cpu_avx512:0");
  EXPECT_EQ(lines[3].selector, "head");
}

TEST(SummarizePlacement, PinningItsLinesGivesTheSamePlacement) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const int32_t layers = 1 + static_cast<int32_t>(random() % 6);
    const PartList model =
        Model(layers, static_cast<int32_t>(random() % static_cast<uint32_t>(layers + 1)), 8);
    const uint32_t spread = 1 + random() % 8;  // how often a device repeats: long runs and wild mixes
    std::vector<PlacedPart> placed;
    std::string last = kDevices[0];
    for (const Part& part : model) {
      const uint32_t cut =
          part.kind == PartKind::kExperts && random() % 2 ? 1 + random() % 7 : part.expert_end;
      for (uint32_t begin = part.expert_begin, end = cut;; begin = end, end = part.expert_end) {
        if (random() % spread == 0) last = kDevices[random() % kDevices.size()];
        Part piece = part;
        piece.expert_begin = begin;
        piece.expert_end = end;
        placed.push_back({piece, last});
        if (end == part.expert_end) break;
      }
    }
    std::vector<Pin> pins;
    for (const PlacementLine& line : SummarizePlacement(placed)) pins.push_back({line.selector, line.device});
    const auto again = ApplyPins(pins, model, kDevices);
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    for (const PlacedPart& want : placed) {
      bool found = false;
      for (const PinnedPart& got : again->parts) {
        if (got.part.kind != want.part.kind || got.part.layer != want.part.layer) continue;
        if (want.part.kind == PartKind::kExperts &&
            (want.part.expert_begin < got.part.expert_begin || want.part.expert_end > got.part.expert_end))
          continue;
        ASSERT_GE(got.pin, 0) << ToString(got.part);
        EXPECT_EQ(pins[static_cast<size_t>(got.pin)].device, want.device) << ToString(want.part);
        found = true;
      }
      EXPECT_TRUE(found) << ToString(want.part);
    }
  }
}

}  // namespace
}  // namespace motley
