// Exit codes, the launcher's contract with scripts.
#pragma once

#include "core/base/status.h"

namespace motley {

enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,  // at run time
  kExitUsage = 2,   // wrong usage, configuration or file
  kExitDoesNotFit = 3,
  kExitInterrupted = 130,
};

inline ExitCode ExitCodeOf(Code code) {
  switch (code) {
    case Code::kOk: return kExitDone;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kUnimplemented: return kExitUsage;
    case Code::kResourceExhausted: return kExitDoesNotFit;
    case Code::kCancelled: return kExitInterrupted;
    case Code::kDeadlineExceeded:
    case Code::kFailedPrecondition:
    case Code::kAborted:
    case Code::kInternal:
    case Code::kUnavailable:
    case Code::kDataLoss: return kExitFailed;
  }
  return kExitFailed;
}

}  // namespace motley
