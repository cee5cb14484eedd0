// What is tested: one device of one plugin, as the command line says. And the fixtures of all cases.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tools/conformance/client.h"

namespace motley::conformance {

struct Target {
  std::string path;  // of the shared object, absolute
  OptionMap options;
  size_t device = 0;  // the index of the device that the cases use
  uint64_t seed = 1;  // of everything random
};

// Set once, in main, before the first case runs: GoogleTest makes the fixtures and hands them nothing.
const Target& TheTarget();
void SetTarget(Target target);

// "unsupported: WHY" as a skip is how a case says that the plugin refused, with UNIMPLEMENTED, what it asks
// for.
inline constexpr char kUnsupported[] = "unsupported: ";
#define MOTLEY_UNSUPPORTED(why) GTEST_SKIP() << ::motley::conformance::kUnsupported << (why)

// A session on the device of the target.
template <class Base>
class OnTargetOf : public Base {
 protected:
  Client client{TheTarget().path, TheTarget().options};
  Session session{client, TheTarget().device};
  const motley_compute* api = client.api;
  motley_device* device = client.devices.at(TheTarget().device);
  Error err;

  bool Has(uint64_t feature) const { return (client.Info(TheTarget().device).features & feature) != 0; }
};
using OnTarget = OnTargetOf<testing::Test>;

// Lets the device choose the layouts of a graph's weights; ends the case where it does not run a node of it.
#define MOTLEY_SETTLE(graph)                                                      \
  if (const Refusal refusal = session.Settle(graph); refusal.code != MOTLEY_OK) { \
    ASSERT_EQ(refusal.code, MOTLEY_UNIMPLEMENTED) << refusal.text;                \
    ASSERT_FALSE(refusal.text.empty()) << "a refusal has a reason";               \
    MOTLEY_UNSUPPORTED(refusal.text);                                             \
  }

}  // namespace motley::conformance
