// What is told about an answer: a line for people, an object for programs.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "core/engine/engine.h"
#include "tools/motley/bandwidth.h"

namespace motley {

// One line: what was done, how fast, and how near to the limit, where that was measured.
std::string StatsLine(const RequestStats& stats, const Bandwidth& limit);

// The object that ends an answer's stream.
boost::json::object EndJson(FinishReason reason, const RequestStats& stats, const Bandwidth& limit);

}  // namespace motley
