// The functions of each arch_NAME.cc, for the table in model.cc.
#pragma once

#include "core/model/model.h"

namespace motley {

StatusOr<HyperParameters> ReadLlama(const WeightsFile& file);
StatusOr<ModelGraph> BuildLlama(const WeightsFile& file, const HyperParameters& params, const GraphLimits& limits);

StatusOr<HyperParameters> ReadQwen3(const WeightsFile& file);
StatusOr<ModelGraph> BuildQwen3(const WeightsFile& file, const HyperParameters& params, const GraphLimits& limits);

}  // namespace motley
