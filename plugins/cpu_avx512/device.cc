#include "plugins/cpu_avx512/device.h"

#include "plugins/cpu_avx512/program.h"

namespace motley::cpu {

using plugin::CheckedGraph;
using plugin::CheckedWeight;
using plugin::Fail;
using plugin::Fault;
using plugin::FindFormatRow;
using plugin::GraphNode;
using plugin::GraphTensor;

namespace {

// Names of the formats of weights, of all or (vectors) of those with one value an element.
std::string FormatNames(bool vectors) {
  std::string names;
  for (const FormatRow& row : kFormats) {
    if (vectors && IsQuantised(row.format)) continue;
    names += std::string(names.empty() ? "" : ", ") + NameOf(row.format);
  }
  return names;
}

Fault CheckFormat(uint32_t format) {
  if (IsSupported(format)) return {};
  return Fail(MOTLEY_UNIMPLEMENTED, "weights in %s are not supported: %s are", FindFormatRow(format)->name,
              FormatNames(false).c_str());
}

Fault CheckKv(uint32_t format, int64_t k_dim, int64_t v_dim) {
  const char* name = FindFormatRow(format)->name;
  if (!IsKvFormat(format)) {
    return Fail(MOTLEY_UNIMPLEMENTED, "KV pages in %s are not supported: F32, F16, BF16, Q8_0 and Q4_0 are", name);
  }
  if (!InBlocks(static_cast<KvFormat>(format)) || (k_dim % kKvBlock == 0 && v_dim % kKvBlock == 0)) return {};
  return Fail(MOTLEY_UNIMPLEMENTED, "KV pages in %s need head dims in multiples of %lld, not %lld and %lld", name,
              static_cast<long long>(kKvBlock), static_cast<long long>(k_dim), static_cast<long long>(v_dim));
}

// Vectors are loaded as F32.
Fault CheckVectorFormat(uint32_t format) {
  if (IsSupported(format) && !IsQuantised(static_cast<WeightFormat>(format))) return {};
  return Fail(MOTLEY_UNIMPLEMENTED, "vectors in %s are not supported: %s are", FindFormatRow(format)->name,
              FormatNames(true).c_str());
}

Fault CheckOperands(const CheckedGraph& graph, const GraphNode& node) {
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (!node.Has(i)) continue;
    const GraphTensor& t = graph.tensors[node.in[i]];
    const OperandKind kind = node.schema->inputs[i].kind;
    if (kind == OperandKind::kWEIGHT) {
      MOTLEY_TRY(CheckFormat(t.dtype));
      if (t.dims[0] < 1 || t.dims[1] < 1) return Fail(MOTLEY_UNIMPLEMENTED, "%s: a symbol in its shape", t.name.c_str());
    }
    if (kind == OperandKind::kVECTOR) MOTLEY_TRY(CheckVectorFormat(t.dtype));
  }
  // Kernels step through rows of a fixed width.
  for (const std::vector<uint32_t>* ids : {&node.in, &node.out}) {
    for (const uint32_t id : *ids) {
      if (id == kNone) continue;
      const GraphTensor& t = graph.tensors[id];
      const bool matrix = t.dims.size() >= 2 && t.dtype == plugin::format_id::kF32;
      if (matrix && t.dims.back() < 1) return Fail(MOTLEY_UNIMPLEMENTED, "%s: its rows' width is a symbol", t.name.c_str());
    }
  }
  if (node.schema->op != Op::kATTENTION) return {};
  return CheckKv(static_cast<uint32_t>(node.I64("kv_format")), node.I64("head_dim"), node.I64("v_dim"));
}

std::string Arch(const CpuFeatures& f) {
  if (!f.has_avx512()) return "x86-64-v3";
  return std::string("x86-64-v4") + (f.avx512vnni ? "+vnni" : "") + (f.avx512bf16 ? "+bf16" : "") +
         (f.system_grants_tiles ? "+amx" : "");
}

uint64_t PageBytes(const GraphNode& node) {
  return static_cast<uint64_t>(KvPageBytes(static_cast<KvFormat>(node.I64("kv_format")), node.I64("page_tokens"),
                                           node.I64("n_kv_heads"), node.I64("head_dim"), node.I64("v_dim")));
}

// Whether tensors come in the layouts that the kernels read.
Fault CheckLayouts(const CheckedGraph& graph, const GraphNode& node) {
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (!node.Has(i)) continue;
    const GraphTensor& t = graph.tensors[node.in[i]];
    uint32_t needs = t.layout;
    if (node.schema->inputs[i].kind == OperandKind::kWEIGHT) {
      needs = (t.layout == kFactorLayout + t.dtype ? kFactorLayout : kPackedLayout) + t.dtype;
    }
    if (node.schema->inputs[i].kind == OperandKind::kVECTOR) needs = MOTLEY_LAYOUT_F32;
    if (node.schema->inputs[i].kind == OperandKind::kSTATE) {
      needs = KvLayout(static_cast<KvFormat>(node.I64("kv_format")), node.I64("page_tokens"));
    }
    if (t.layout != needs) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "%.*s: tensor %s has layout %u, needs %u", MOTLEY_TEXT(node.schema->name),
                  t.name.c_str(), t.layout, needs);
    }
  }
  if (node.schema->op != Op::kATTENTION) return {};
  const int64_t page_bytes = graph.tensors[node.in[13]].dims[1];
  if (page_bytes == static_cast<int64_t>(PageBytes(node))) return {};
  return Fail(MOTLEY_INVALID_ARGUMENT, "attention: page_bytes = %lld, kv_plan says %llu",
              static_cast<long long>(page_bytes), static_cast<unsigned long long>(PageBytes(node)));
}

// Bytes of weights and cache that the node reads at these dims.
uint64_t ReadBytes(const CheckedGraph& graph, const GraphNode& node, const int64_t* at) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (!node.Has(i)) continue;
    const GraphTensor& t = graph.tensors[node.in[i]];
    if (node.schema->inputs[i].kind == OperandKind::kSTATE) {
      bytes += static_cast<uint64_t>(at[MOTLEY_DIM_N_SEQS] * at[MOTLEY_DIM_N_PAGES]) * PageBytes(node);
    }
    if (node.schema->inputs[i].kind != OperandKind::kWEIGHT) continue;
    const auto format = static_cast<WeightFormat>(t.dtype);
    // embed reads one lane in 16, so about whole lines; linear reads all.
    const int64_t rows = node.schema->op == Op::kEMBED ? CheckedGraph::Extent(graph.tensors[node.in[0]].dims[0],
                                                                              {at, graph.dims.size()})
                                                       : Tiles(t.dims[0]);
    bytes += static_cast<uint64_t>(rows * TileBytes(format, t.dims[1]));
  }
  return bytes;
}

}  // namespace

CpuDevice::CpuDevice(const motley_host* host, uint32_t ordinal, uint32_t threads, const CpuFeatures& features,
                     const KernelChoice& kernels)
    : ordinal_(ordinal), name_(std::to_string(ordinal)),
      arch_(Arch(features)),
      kernels_(kernels) {
  uint32_t n = threads;
  while (n > 1 && !team_.Create(host, n, -1).ok()) --n;
  if (n < threads) {
    plugin::Log(host, plugin::LogLevel::kWarning, "cpu_avx512",
                "device " + name_ + ": the host has " + std::to_string(n) + " of " + std::to_string(threads) + " threads");
  }
}

void CpuDevice::Describe(motley_device_info* info) const {
  info->kind = MOTLEY_DEVICE_CPU;
  info->ordinal = ordinal_;
  info->name = plugin::Str(name_);
  info->arch = plugin::Str(arch_);
  info->pool = plugin::Str("ram");
  info->features |= MOTLEY_FEATURE_ROW_INVARIANT;
}

Fault CpuDevice::PlanWeight(const CheckedWeight& weight, uint32_t layout, motley_weight_plan* plan) {
  const motley_part* scale = nullptr;
  MOTLEY_TRY(plugin::CheckScaledWeight(weight, &scale));
  const auto refuse = [&](const Fault& why) { return Fail(why.code, "%s: %s", weight.Text().c_str(), why.text.c_str()); };
  if (weight.slots != 0) return refuse(Fail(MOTLEY_UNIMPLEMENTED, "expert slots are not supported"));
  if (layout == MOTLEY_LAYOUT_F32 && weight.rank == 1 && !scale) {
    if (Fault f = CheckVectorFormat(weight.format); !f.ok()) return refuse(f);
    plan->bytes = static_cast<uint64_t>(weight.dims[0]) * sizeof(float);
    return {};
  }
  if (Fault f = CheckFormat(weight.format); !f.ok()) return refuse(f);
  const uint32_t packed = (scale ? kFactorLayout : kPackedLayout) + weight.format;
  if (weight.rank != 2 || layout != packed) {
    return refuse(Fail(MOTLEY_UNIMPLEMENTED, "rank %u in layout %u%s: rank 1 is loaded in layout %u, rank 2 in %u",
                       weight.rank, layout, scale ? " with a scale" : "", MOTLEY_LAYOUT_F32, packed));
  }
  plan->bytes = static_cast<uint64_t>(
      PackedBytes(static_cast<WeightFormat>(weight.format), weight.dims[0], weight.dims[1]) + (scale ? kFactorBytes : 0));
  return {};
}

Fault CpuDevice::LoadWeight(const CheckedWeight& weight, uint32_t layout, uint32_t slot, std::byte* dst) {
  if (slot != ~0u) return Fail(MOTLEY_UNIMPLEMENTED, "%s: slot %u: it has none", weight.Text().c_str(), slot);
  plugin::RangeBytes stored;
  MOTLEY_TRY(stored.Open(weight.parts[0].src));
  const auto* from = reinterpret_cast<const uint8_t*>(stored.data());
  const auto format = static_cast<WeightFormat>(weight.format);
  if (layout == MOTLEY_LAYOUT_F32) {
    kernels_.table->convert_to_float(format, from, weight.dims[0], reinterpret_cast<float*>(dst));
    return {};
  }
  const int64_t n = weight.dims[0], k = weight.dims[1], tile_bytes = kTileRows * StoredRowBytes(format, k);
  team_.Run([&](uint32_t i, uint32_t members) {
    const auto [begin, end] = plugin::Share(Tiles(n), i, members);
    kernels_.table->pack_tiles(format, from + begin * tile_bytes, n, k, begin, end, reinterpret_cast<uint8_t*>(dst));
  });
  if (!HasFactor(layout)) return {};
  std::byte* behind = dst + PackedBytes(format, n, k);
  std::memset(behind, 0, kFactorBytes);
  float factor = 1;
  MOTLEY_TRY(plugin::ReadScale(weight, &factor));
  std::memcpy(behind, &factor, sizeof factor);
  return {};
}

Fault CpuDevice::PlanKv(const motley_kv_desc& desc, motley_kv_plan* plan) {
  if (desc.kind != MOTLEY_KV_GQA) return Fail(MOTLEY_UNIMPLEMENTED, "KV kind %u is not supported: GQA is", desc.kind);
  MOTLEY_TRY(CheckKv(desc.dtype, desc.k_dim, desc.v_dim));
  uint64_t bytes = (static_cast<uint64_t>(desc.k_dim) + desc.v_dim) * 4;
  for (const uint64_t factor : {desc.page_tokens, desc.n_kv_heads}) {
    if (__builtin_mul_overflow(bytes, factor, &bytes) || bytes > (1ull << 48)) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "a KV page of %u tokens, %u heads, %u + %u values is too large",
                  desc.page_tokens, desc.n_kv_heads, desc.k_dim, desc.v_dim);
    }
  }
  const auto format = static_cast<KvFormat>(desc.dtype);
  plan->layout = KvLayout(format, desc.page_tokens);
  plan->page_bytes = static_cast<uint64_t>(
      KvPageBytes(format, desc.page_tokens, desc.n_kv_heads, desc.k_dim, desc.v_dim));
  return {};
}

void CpuDevice::Judge(const CheckedGraph& graph, const GraphNode& node, const int64_t* at, motley_verdict* verdict) {
  if (const Fault fault = CheckOperands(graph, node); !fault.ok()) return plugin::Refuse(verdict, fault);
  verdict->ok = 1;
  verdict->math = MOTLEY_MATH_F32;
  verdict->read_bytes = ReadBytes(graph, node, at);
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (node.schema->inputs[i].kind != OperandKind::kWEIGHT) continue;
    const uint32_t format = graph.tensors[node.in[i]].dtype;
    verdict->layouts[0] = kPackedLayout + format;
    verdict->layouts[1] = kFactorLayout + format;
    if (node.schema->op == Op::kLINEAR && IsQuantised(static_cast<WeightFormat>(format))) verdict->math = MOTLEY_MATH_INT8;
  }
}

Fault CpuDevice::Compile(CheckedGraph graph, motley_span values, std::unique_ptr<plugin::HostProgram>* out) {
  if (values.count != 0) {
    const std::string_view name = plugin::View(plugin::SpanView<motley_value>(values)[0].name);
    return Fail(MOTLEY_UNIMPLEMENTED, "cpu_avx512: a program has no option %.*s", MOTLEY_TEXT(name));
  }
  for (const GraphNode& node : graph.nodes) {
    Fault fault = CheckOperands(graph, node);
    if (fault.ok()) fault = CheckLayouts(graph, node);
    if (fault.ok()) continue;
    fault.node = &node - graph.nodes.data();
    return fault;
  }
  StagePlan plan = PlanStages(graph);
  *out = std::make_unique<CpuProgram>(std::move(graph), std::move(plan), &team_, &kernels_);
  return {};
}

}  // namespace motley::cpu
