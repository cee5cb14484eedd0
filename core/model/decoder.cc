#include "core/model/decoder.h"

#include <cmath>

#include "core/model/weight_scale.h"

namespace motley {
namespace {

// Ten times what the deepest models have.
constexpr int64_t kMaxLayers = 2000;

// A count of at least 1 that is small enough for any product of two of them.
StatusOr<int64_t> Count(const Metadata& metadata, const std::string& key) {
  MOTLEY_ASSIGN_OR_RETURN(const uint64_t value, metadata.GetU64(key));
  if (value < 1 || value > 0x7fffffff) {
    return metadata.Error(key, "= " + std::to_string(value) + ": must be 1..2147483647");
  }
  return static_cast<int64_t>(value);
}

StatusOr<int64_t> CountOr(const Metadata& metadata, const std::string& key, int64_t fallback) {
  if (!metadata.Has(key)) return fallback;
  return Count(metadata, key);
}

std::string Layer(int64_t layer, std::string_view tensor) {
  return "blk." + std::to_string(layer) + "." + std::string(tensor);
}

std::string DimsText(const std::vector<int64_t>& dims) {
  std::string text;
  for (int64_t dim : dims) text += (text.empty() ? "[" : ", ") + std::to_string(dim);
  return text + "]";
}

}  // namespace

StatusOr<HyperParameters> ReadDecoderKeys(const WeightsFile& file, const std::string& arch) {
  const Metadata& metadata = file.metadata();
  auto key = [&](std::string_view name) { return arch + "." + std::string(name); };
  HyperParameters params;
  params.arch = arch;
  MOTLEY_ASSIGN_OR_RETURN(params.n_layers, Count(metadata, key("block_count")));
  if (params.n_layers > kMaxLayers) {
    return metadata.Error(key("block_count"), "= " + std::to_string(params.n_layers) + ": must be at most " +
                                                  std::to_string(kMaxLayers));
  }
  MOTLEY_ASSIGN_OR_RETURN(params.hidden, Count(metadata, key("embedding_length")));
  MOTLEY_ASSIGN_OR_RETURN(params.ffn, Count(metadata, key("feed_forward_length")));
  MOTLEY_ASSIGN_OR_RETURN(params.context_length, Count(metadata, key("context_length")));
  MOTLEY_ASSIGN_OR_RETURN(const auto window, metadata.FindU64(key("attention.sliding_window")));
  if (window.value_or(0) > 0 && *window < static_cast<uint64_t>(params.context_length)) {
    return metadata.Error(key("attention.sliding_window"), "= " + std::to_string(*window) +
                                                               ": attention in windows is not known");
  }
  MOTLEY_ASSIGN_OR_RETURN(params.n_heads, Count(metadata, key("attention.head_count")));
  MOTLEY_ASSIGN_OR_RETURN(params.n_kv_heads, CountOr(metadata, key("attention.head_count_kv"), params.n_heads));
  if (params.n_heads % params.n_kv_heads != 0) {
    return metadata.Error(key("attention.head_count_kv"), "= " + std::to_string(params.n_kv_heads) +
                                                              ": must divide the " + std::to_string(params.n_heads) +
                                                              " heads");
  }
  if (!metadata.Has(key("attention.key_length")) && params.hidden % params.n_heads != 0) {
    return metadata.Error(key("attention.head_count"), "= " + std::to_string(params.n_heads) +
                                                           ": does not divide embedding_length, and there is no "
                                                           "attention.key_length");
  }
  const int64_t even_split = params.hidden / params.n_heads;
  MOTLEY_ASSIGN_OR_RETURN(params.head_dim, CountOr(metadata, key("attention.key_length"), even_split));
  MOTLEY_ASSIGN_OR_RETURN(params.v_dim, CountOr(metadata, key("attention.value_length"), params.head_dim));
  MOTLEY_ASSIGN_OR_RETURN(params.rotary_dim, CountOr(metadata, key("rope.dimension_count"), params.head_dim));
  if (params.rotary_dim % 2 != 0 || params.rotary_dim > params.head_dim) {
    return metadata.Error(key("rope.dimension_count"), "= " + std::to_string(params.rotary_dim) +
                                                           ": must be even and at most the head's " +
                                                           std::to_string(params.head_dim));
  }
  const std::string eps_key = key("attention.layer_norm_rms_epsilon");
  MOTLEY_ASSIGN_OR_RETURN(params.rms_eps, metadata.GetF64(eps_key));
  if (!(params.rms_eps > 0 && params.rms_eps < 1)) {
    return metadata.Error(eps_key, "= " + std::to_string(params.rms_eps) + ": must be between 0 and 1");
  }
  MOTLEY_ASSIGN_OR_RETURN(const StoredTensor* embedding, file.GetTensor("token_embd.weight"));
  if (embedding->dims.size() != 2 || embedding->dims[1] != params.hidden) {
    return InvalidArgumentError(metadata.origin() + ": token_embd.weight: its rows must have the " +
                                std::to_string(params.hidden) + " values of " + key("embedding_length"));
  }
  params.vocab_rows = embedding->dims[0];
  return params;
}

DecoderBuilder::DecoderBuilder(const WeightsFile& file, const HyperParameters& params, const GraphLimits& limits)
    : file_(file), params_(params), limits_(limits), builder_(limits.Max()) {
  const int64_t tokens = DimOf(Symbol::kTokens), seqs = DimOf(Symbol::kSeqs);
  StepTensors& step = model_.step;
  step.counts = builder_.Step("counts", Format::kI32, {16});
  step.token = builder_.Step("token", Format::kI32, {tokens});
  step.position = builder_.Step("position", Format::kI32, {tokens});
  step.slot = builder_.Step("slot", Format::kI32, {tokens});
  step.row_start = builder_.Step("row_start", Format::kI32, {DimOf(Symbol::kStarts)});
  step.kv_len = builder_.Step("kv_len", Format::kI32, {seqs});
  step.seq_row = builder_.Step("seq_row", Format::kI32, {seqs});
  step.out_row = builder_.Step("out_row", Format::kI32, {DimOf(Symbol::kOut)});
  step.rope = builder_.Step("rope", Format::kF32, {tokens, 2, params.rotary_dim / 2});
  step.pages = builder_.Step("pages", Format::kI32, {limits.max_seqs, limits.max_pages});
}

TensorId DecoderBuilder::Weight(const std::string& name, const std::vector<int64_t>& dims, Reasons reasons) {
  const TensorId id = OptionalWeight(name, dims, reasons);
  if (id == kNoTensor) builder_.Fail(file_.GetTensor(name).status());
  return id;
}

TensorId DecoderBuilder::OptionalWeight(const std::string& name, const std::vector<int64_t>& dims, Reasons reasons) {
  const StoredTensor* stored = file_.FindTensor(name);
  if (stored == nullptr) return kNoTensor;
  if (stored->dims != dims) {
    std::string text = file_.metadata().origin() + ": " + name + " is " + DimsText(stored->dims) + ": must be " +
                       DimsText(dims);
    std::string_view before = " for ";
    for (const Reason& reason : reasons) {
      text += std::string(before) + params_.arch + "." + std::string(reason.key) + " = " + std::to_string(reason.value);
      before = ", ";
    }
    builder_.Fail(InvalidArgumentError(std::move(text)));
  }
  if (const StoredTensor* scale = FindWeightScale(file_, name); scale != nullptr) {
    if (Status status = CheckWeightScale(file_, *scale); !status.ok()) builder_.Fail(std::move(status));
    if (dims.size() != 2) {
      builder_.Fail(UnimplementedError(file_.metadata().origin() + ": " + std::string(scale->name) + ": a scale of " +
                                       name + ", which is no matrix, is not known"));
    }
  }
  return builder_.Weight(name, stored->format, stored->dims);
}

TensorId DecoderBuilder::Linear(std::string_view name, TensorId x, const std::string& tensor, int64_t n_out,
                                int64_t n_in, Reasons reasons) {
  const TensorId weight = Weight(tensor + ".weight", {n_out, n_in}, reasons);
  return builder_.Add(Op::kLINEAR, name, {x, weight, OptionalWeight(tensor + ".bias", {n_out}, reasons)});
}

TensorId DecoderBuilder::Embed() {
  builder_.SetPart({PartKind::kEmbed}, "embed");
  return builder_.Add(Op::kEMBED, "token", {model_.step.token, Weight("token_embd.weight", {params_.vocab_rows, params_.hidden},
                                                                               {{"embedding_length", params_.hidden}})});
}

TensorId DecoderBuilder::AttentionBlock(int64_t layer, TensorId x, RopeStyle style) {
  const auto index = static_cast<int32_t>(layer);
  builder_.SetPart({PartKind::kAttention, index}, "layers." + std::to_string(layer) + ".attention");
  const Reason width{"embedding_length", params_.hidden}, heads{"attention.head_count", params_.n_heads},
      kv_heads{"attention.head_count_kv", params_.n_kv_heads}, head{"attention.key_length", params_.head_dim},
      v_head{"attention.value_length", params_.v_dim};
  const TensorId norm = Weight(Layer(layer, "attn_norm.weight"), {params_.hidden}, {width});
  const TensorId h = builder_.Add(Op::kRMS_NORM, "norm", {x, norm}, {{"eps", params_.rms_eps}});
  const TensorId q = Linear("q", h, Layer(layer, "attn_q"), params_.n_heads * params_.head_dim, params_.hidden,
                            {heads, head, width});
  const TensorId k = Linear("k", h, Layer(layer, "attn_k"), params_.n_kv_heads * params_.head_dim, params_.hidden,
                            {kv_heads, head, width});
  const TensorId v = Linear("v", h, Layer(layer, "attn_v"), params_.n_kv_heads * params_.v_dim, params_.hidden,
                            {kv_heads, v_head, width});
  const TensorId q_norm = OptionalWeight(Layer(layer, "attn_q_norm.weight"), {params_.head_dim}, {head});
  const TensorId k_norm = OptionalWeight(Layer(layer, "attn_k_norm.weight"), {params_.head_dim}, {head});

  const TensorId kv = builder_.State("kv." + std::to_string(layer), {limits_.kv_pages, 1});
  model_.kv.push_back({kv, index, MOTLEY_KV_GQA, params_.n_kv_heads, params_.head_dim, params_.v_dim});
  const StepTensors& step = model_.step;
  const TensorId a = builder_.Add(
      Op::kATTENTION, "attention",
      {q, k, v, q_norm, k_norm, step.position, step.slot, step.rope, step.row_start, step.kv_len, step.seq_row,
       step.pages, step.counts, kv},
      {{"n_heads", params_.n_heads},
       {"n_kv_heads", params_.n_kv_heads},
       {"head_dim", params_.head_dim},
       {"v_dim", params_.v_dim},
       {"rotary_dim", params_.rotary_dim},
       {"rope_style", static_cast<int64_t>(style)},
       {"page_tokens", static_cast<int64_t>(limits_.page_tokens)},
       {"kv_format", static_cast<int64_t>(limits_.kv_format)},
       {"scale", 1.0 / std::sqrt(static_cast<double>(params_.head_dim))},
       {"qk_norm_eps", params_.rms_eps}});
  const TensorId o = Linear("o", a, Layer(layer, "attn_output"), params_.hidden, params_.n_heads * params_.v_dim,
                            {width, heads, v_head});
  return builder_.Add(Op::kADD, "residual", {x, o});
}

TensorId DecoderBuilder::FfnBlock(int64_t layer, TensorId x) {
  builder_.SetPart({PartKind::kFfn, static_cast<int32_t>(layer)}, "layers." + std::to_string(layer) + ".ffn");
  const Reason width{"embedding_length", params_.hidden}, inner{"feed_forward_length", params_.ffn};
  const TensorId norm = Weight(Layer(layer, "ffn_norm.weight"), {params_.hidden}, {width});
  const TensorId h = builder_.Add(Op::kRMS_NORM, "norm", {x, norm}, {{"eps", params_.rms_eps}});
  const TensorId gate = Linear("gate", h, Layer(layer, "ffn_gate"), params_.ffn, params_.hidden, {inner, width});
  const TensorId up = Linear("up", h, Layer(layer, "ffn_up"), params_.ffn, params_.hidden, {inner, width});
  const TensorId act = builder_.Add(Op::kSWIGLU, "act", {gate, up});
  const TensorId down = Linear("down", act, Layer(layer, "ffn_down"), params_.hidden, params_.ffn, {width, inner});
  return builder_.Add(Op::kADD, "residual", {x, down});
}

TensorId DecoderBuilder::Head(TensorId x) {
  // Gathered where the last layer is, so that only the output rows cross to the head's device.
  const TensorId rows = builder_.Add(Op::kGATHER_ROWS, "out_rows", {x, model_.step.out_row});
  builder_.SetPart({PartKind::kHead}, "head");
  const Reason width{"embedding_length", params_.hidden};
  const TensorId norm = Weight("output_norm.weight", {params_.hidden}, {width});
  const TensorId h = builder_.Add(Op::kRMS_NORM, "norm", {rows, norm}, {{"eps", params_.rms_eps}});
  const StoredTensor* output = file_.FindTensor("output.weight");
  const bool tied = output == nullptr;
  if (!tied && output->dims[0] != params_.vocab_rows) {
    builder_.Fail(InvalidArgumentError(file_.metadata().origin() + ": output.weight: has " +
                                       std::to_string(output->dims[0]) + " rows, token_embd.weight has " +
                                       std::to_string(params_.vocab_rows)));
  }
  if (tied && file_.FindTensor("output.scale") != nullptr) {
    builder_.Fail(UnimplementedError(file_.metadata().origin() +
                                     ": output.scale: a scale of the embedding's use as a head is not known"));
  }
  const std::vector<int64_t> dims = {params_.vocab_rows, params_.hidden};
  const TensorId projection = Weight(tied ? "token_embd.weight" : "output.weight", dims, {width});
  const TensorId bias = OptionalWeight("output.bias", {params_.vocab_rows}, {});
  return builder_.Add(Op::kLINEAR, "logits", {h, projection, bias});
}

StatusOr<ModelGraph> DecoderBuilder::Finish(TensorId logits) && {
  builder_.MarkOutput(logits);
  StatusOr<Graph> graph = std::move(builder_).Finish();
  if (!graph.ok()) {
    const std::string& origin = file_.metadata().origin();
    // Messages of the weights file name it already.
    const bool named = graph.status().message().rfind(origin, 0) == 0;
    return named ? graph.status() : graph.status().WithPrefix(origin);
  }
  model_.graph = *std::move(graph);
  model_.logits = logits;
  return std::move(model_);
}

}  // namespace motley
