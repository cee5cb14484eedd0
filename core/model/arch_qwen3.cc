// qwen3: as llama, with q and k normalised a head, a head size of its own, and rotation of halves.
#include "core/model/arch.h"
#include "core/model/decoder.h"

namespace motley {

StatusOr<HyperParameters> ReadQwen3(const WeightsFile& file) {
  MOTLEY_RETURN_IF_ERROR(file.metadata().GetU64("qwen3.attention.key_length").status());
  return ReadDecoderKeys(file, "qwen3");
}

StatusOr<ModelGraph> BuildQwen3(const WeightsFile& file, const HyperParameters& params, const GraphLimits& limits) {
  DecoderBuilder decoder(file, params, limits);
  TensorId x = decoder.Embed();
  for (int64_t layer = 0; layer < params.n_layers; ++layer) {
    for (const char* norm : {"attn_q_norm.weight", "attn_k_norm.weight"}) {
      // qwen3 is not right without them.
      decoder.Weight("blk." + std::to_string(layer) + "." + norm, {params.head_dim},
                     {{"attention.key_length", params.head_dim}});
    }
    x = decoder.AttentionBlock(layer, x, RopeStyle::kHalves);
    x = decoder.FfnBlock(layer, x);
  }
  return std::move(decoder).Finish(decoder.Head(x));
}

}  // namespace motley
