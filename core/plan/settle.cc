#include "core/plan/settle.h"

#include <algorithm>

namespace motley {
namespace {

constexpr int kExactRounds =
    4;  // in which just what was measured is set aside: most plans settle in the first
constexpr int kMostRounds = 64;  // each doubles what is set aside: enough for any size there is

// Takes over what was measured; whether it was no more than had been set aside. After the first round nothing
// shrinks, so that placements cannot alternate.
bool Learn(uint64_t measured, int round, uint64_t* known) {
  const bool enough = measured <= *known;
  *known = round == 0 ? measured : std::max(*known, measured);
  if (!enough && round >= kExactRounds) *known += *known;
  return enough;
}

}  // namespace

StatusOr<Placement> SettlePlacement(PlacementProblem* problem, const MeasureWork& measure) {
  MOTLEY_ASSIGN_OR_RETURN(Placement placement, Place(*problem));
  for (int round = 0; round < kMostRounds; ++round) {
    MOTLEY_ASSIGN_OR_RETURN(const WorkBytes work, measure(placement));
    bool enough = Learn(work.host, round, &problem->host_bytes);
    for (size_t d = 0; d < problem->devices.size(); ++d) {
      if (work.device[d] == 0) continue;
      enough = Learn(work.device[d], round, &problem->devices[d].workspace_bytes) && enough;
    }
    Placement next = placement;
    if (!enough) {
      MOTLEY_ASSIGN_OR_RETURN(next, Place(*problem));
    }
    if (next.device == placement.device) {  // it fits with what it takes
      for (size_t d = 0; d < problem->devices.size(); ++d) {
        if (work.device[d] > 0) next.use[d].workspace_bytes = work.device[d];
      }
      next.host_bytes = work.host;
      return next;
    }
    placement = std::move(next);
  }
  return ResourceExhaustedError(
      "the model does not fit: its programs ask for more workspace with each placement; pins of some parts, "
      "or a smaller "
      "schedule.step_tokens, would help");
}

}  // namespace motley
