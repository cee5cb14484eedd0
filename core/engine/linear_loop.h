// LinearLoop: linear nodes on one device over made-up weights, as a segment of their own - the path that a
// model takes - run over and over. What `bench` puts beside a speed, and what `probe` writes down, is
// measured by it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/backend/device.h"
#include "core/base/figure.h"
#include "core/base/status.h"
#include "core/engine/measure.h"
#include "core/tensor/format.h"

namespace motley {

struct LinearSpec {
  Format format = Format::kF32;
  int64_t rows = 0, cols = 0;  // of the weight: [n_out, n_in], cols a multiple of the format's block
  int64_t max_tokens = 1;      // rows of the activation, at most
  uint32_t chain = 1;  // nodes, each reading the one before and the same weight; more than one: rows == cols
};

// Called between runs; true ends a measurement with CANCELLED.
using Cancelled = std::function<bool()>;

// One thread at a time. The device must outlive it.
class LinearLoop {
 public:
  // Makes, loads and compiles. UNIMPLEMENTED, with the device's reason, where it does not run the format;
  // RESOURCE_EXHAUSTED where the weight and its packed copy do not fit in the memory that is left.
  static StatusOr<std::unique_ptr<LinearLoop>> Create(Device& device, const LinearSpec& spec);
  ~LinearLoop();

  // Seconds an execution over `tokens` rows takes, 1..max_tokens, from the call until the fence says that it
  // is done.
  StatusOr<Figure> Measure(int64_t tokens, const MeasureLimits& limits, const Cancelled& cancelled);

  uint64_t stored_bytes() const;            // of the weight in a file
  uint64_t weight_bytes() const;            // as the device holds it
  uint32_t layout() const;                  // in which it does
  uint32_t math() const;                    // MOTLEY_MATH_*
  double operations(int64_t tokens) const;  // of one execution: two a weight, token and node

 private:
  class Impl;
  explicit LinearLoop(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
