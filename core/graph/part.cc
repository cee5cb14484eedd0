#include "core/graph/part.h"

namespace motley {

std::string_view PartKindName(PartKind kind) {
  switch (kind) {
    case PartKind::kEmbed: return "embed";
    case PartKind::kHead: return "head";
    case PartKind::kAttention: return "attention";
    case PartKind::kFfn: return "ffn";
    case PartKind::kRouter: return "router";
    case PartKind::kSharedExperts: return "shared_experts";
    case PartKind::kExperts: return "experts";
    case PartKind::kKv: return "kv";
  }
  return "unknown";
}

std::string ToString(const Part& part) {
  std::string text;
  if (part.layer >= 0) text = "layers." + std::to_string(part.layer) + ".";
  text += PartKindName(part.kind);
  if (part.kind == PartKind::kExperts && part.expert_end > part.expert_begin) {
    text += "." + std::to_string(part.expert_begin) + "-" + std::to_string(part.expert_end - 1);
  }
  return text;
}

}  // namespace motley
