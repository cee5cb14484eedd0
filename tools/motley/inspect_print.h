// An InspectReport for people and for programs.
#pragma once

#include <boost/json/object.hpp>

#include "core/model/weights_file.h"
#include "tools/motley/inspect_report.h"
#include "tools/motley/output.h"

namespace motley {

// `every_tensor`: a row a tensor; else a row for what is alike in every layer.
void PrintInspection(const WeightsFile& file, const InspectReport& report, bool every_tensor, Output& out);

boost::json::object InspectionJson(const WeightsFile& file, const InspectReport& report);

}  // namespace motley
