// A plan in words, JSON and TOML.
#pragma once

#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "core/engine/planning.h"
#include "tools/motley/output.h"

namespace motley {

boost::json::object PlanJson(const PlannedModel& planned);
boost::json::array PinsJson(const PlanReport& report);

// "pin layers.*.ffn = ref:0: 30 parts" a line.
std::string PinsText(const PlanReport& report);

// The table of devices, the placement and the pins; `explain` adds why devices are unused and what runs
// where.
std::string PlanText(const PlannedModel& planned, const Output& out, bool explain);

// [[placement.pin]] tables that lead to the same plan.
std::string PlanToml(const PlanReport& report);

}  // namespace motley
