// What compile needs to know of attention.
#pragma once

#include "ops.h"

namespace motley::ref {

// Formats in which pages can be cached.
plugin::Fault CheckKvFormat(uint32_t format);

// Whether the graph's page_bytes are those of PlanKv.
plugin::Fault CheckPageBytes(const plugin::CheckedGraph& graph, const plugin::GraphNode& node,
                             uint32_t layout);

// Doubles that one thread needs.
uint64_t AttentionScratchDoubles(const plugin::CheckedGraph& graph, const plugin::GraphNode& node);

}  // namespace motley::ref
