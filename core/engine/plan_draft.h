// Draft: everything that is known of a plan before parts are placed - the graph, what each device says of it,
// and the problem for Place(). Inside core/engine.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/backend/device.h"
#include "core/base/status.h"
#include "core/engine/config.h"
#include "core/engine/planning.h"
#include "core/model/model.h"
#include "core/plan/device_profile.h"
#include "core/plan/placement.h"

namespace motley {

struct Draft {
  GraphLimits limits;
  std::unique_ptr<ModelGraph> graph;    // stays where it is: what is compiled refers to it
  std::vector<DeviceProfile> profiles;  // a candidate
  PlacementProblem problem;
  std::vector<uint32_t> node_part;  // a node: index in problem.model.parts
};

// Asks each candidate. report: the pins are filled in.
StatusOr<Draft> MakeDraft(const Config& config, const Model& model, const WeightsFile& file,
                          std::span<Device* const> candidates, const GraphLimits& limits, PlanReport* report);

std::vector<std::string> DeviceNames(std::span<Device* const> devices);

}  // namespace motley
