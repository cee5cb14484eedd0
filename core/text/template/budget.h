// Budget: what one rendering may still take. Everything that loops or makes something asks it first.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/base/status.h"
#include "core/text/chat_template.h"

namespace motley::jinja {

class Budget {
 public:
  explicit Budget(const ChatTemplateLimits& limits);

  Status Step(uint64_t count = 1) {
    steps_ += count;
    if (steps_ < next_check_) return OkStatus();
    return CheckSteps();
  }
  // Memory that is about to be taken. Counted up only: what is freed does not come back.
  Status Bytes(uint64_t count);
  Status Output(uint64_t bytes) const;

  // What became of watched values: signs that a template does not know this form of input.
  struct Notes {
    bool none_printed = false;  // as the word None
    bool list_printed = false;  // as Python writes a list
    bool text_quoted = false;   // a string written as a JSON or Python string
  };
  Notes notes;

  // Calls and nested constructs, all of which take stack.
  Status Enter();
  void Leave() { --nesting_; }
  Status EnterCall();
  void LeaveCall() { --calls_; }

 private:
  Status CheckSteps();
  Status CheckTime() const;

  ChatTemplateLimits limits_;
  std::chrono::steady_clock::time_point end_;
  uint64_t steps_ = 0, next_check_ = 0, bytes_ = 0, checked_bytes_ = 0;
  int nesting_ = 0, calls_ = 0;
};

// Leaves what it entered.
class Nesting {
 public:
  explicit Nesting(Budget& budget) : budget_(budget), status_(budget.Enter()) {}
  ~Nesting() { budget_.Leave(); }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  const Status& status() const { return status_; }

 private:
  Budget& budget_;
  Status status_;
};

}  // namespace motley::jinja
