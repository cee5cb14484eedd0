#include "tools/conformance/target.h"

#include <utility>

namespace motley::conformance {
namespace {

Target& Stored() {
  static Target target;
  return target;
}

}  // namespace

const Target& TheTarget() {
  return Stored();
}

void SetTarget(Target target) {
  Stored() = std::move(target);
}

}  // namespace motley::conformance
