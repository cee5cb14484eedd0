// llama: pre-norm decoder, grouped-query attention, SwiGLU. Its GGUF files hold q and k with their rows permuted for
// rotation of adjacent pairs.
#include "core/model/arch.h"
#include "core/model/decoder.h"

namespace motley {

StatusOr<HyperParameters> ReadLlama(const WeightsFile& file) {
  const Metadata& metadata = file.metadata();
  MOTLEY_ASSIGN_OR_RETURN(const auto experts, metadata.FindU64("llama.expert_count"));
  if (experts.value_or(0) > 0) {
    return metadata.Error("llama.expert_count", "= " + std::to_string(*experts) + ": llama with experts is not known");
  }
  return ReadDecoderKeys(file, "llama");
}

StatusOr<ModelGraph> BuildLlama(const WeightsFile& file, const HyperParameters& params, const GraphLimits& limits) {
  DecoderBuilder decoder(file, params, limits);
  TensorId x = decoder.Embed();
  for (int64_t layer = 0; layer < params.n_layers; ++layer) {
    x = decoder.AttentionBlock(layer, x, RopeStyle::kAdjacent);
    x = decoder.FfnBlock(layer, x);
  }
  return std::move(decoder).Finish(decoder.Head(x));
}

}  // namespace motley
