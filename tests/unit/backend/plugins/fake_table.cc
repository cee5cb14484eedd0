// The table of a fake plugin, right or, by FAKE_FAULT, wrong in one way.
#include <stdexcept>

#include "fake_plugin.h"

#ifndef FAKE_NAME
#define FAKE_NAME "fake"
#endif
#define FAULT_NONE 0
#define FAULT_MAJOR_UP 1
#define FAULT_MINOR_UP 2
#define FAULT_MINOR_DOWN 3
#define FAULT_SHORT 4
#define FAULT_NULL_OPEN 5
#define FAULT_NULL_TABLE 6
#define FAULT_NO_SYMBOL 7
#define FAULT_RESERVED_OPTION 8
#define FAULT_UNKNOWN_FLAG 9
#define FAULT_QUERY_THROWS 10
#define FAULT_MAY_UNLOAD 11
#define FAULT_TINY 12
#ifndef FAKE_FAULT
#define FAKE_FAULT FAULT_NONE
#endif

#if defined(FAKE_NEEDS_NOPE)
extern "C" int motley_nope();
extern int (*const needs_nope)();
int (*const needs_nope)() = motley_nope;
#endif

const char* const fake_name = FAKE_NAME;

namespace {

#define STR(text) \
  { text, sizeof(text) - 1 }
const motley_option options[] = {
    {STR("fault"), STR("what goes wrong"), {}, {}, MOTLEY_TYPE_STR, 0},
    {STR("devices"), STR("how many"), STR("1"), STR("1..20"), MOTLEY_TYPE_I64, 0},
    {STR("team"), STR("threads"), STR("0"), STR("0.."), MOTLEY_TYPE_I64, 0},
    {STR("ratio"), STR("a number"), STR("0.5"), STR("0..1"), MOTLEY_TYPE_F64, 0},
    {STR("mode"), STR("a choice"), STR("slow"), STR("slow|fast"), MOTLEY_TYPE_STR, 0},
#if FAKE_FAULT == FAULT_RESERVED_OPTION
    {STR("isolate"), STR("the host's"), {}, {}, MOTLEY_TYPE_BOOL, 0},
#endif
};

const motley_plugin plugin = {
#if FAKE_FAULT == FAULT_SHORT
    offsetof(motley_plugin, close),
#elif FAKE_FAULT == FAULT_TINY
    16,
#else
    sizeof(motley_plugin),
#endif
    FAKE_FAULT == FAULT_MAJOR_UP ? MOTLEY_ABI_MAJOR + 1 : MOTLEY_ABI_MAJOR,
    FAKE_FAULT == FAULT_MINOR_UP     ? MOTLEY_ABI_MINOR + 1
    : FAKE_FAULT == FAULT_MINOR_DOWN ? MOTLEY_ABI_MINOR - 1
                                     : MOTLEY_ABI_MINOR,
    FAKE_FAULT == FAULT_UNKNOWN_FLAG ? 1u << 30
    : FAKE_FAULT == FAULT_MAY_UNLOAD ? MOTLEY_PLUGIN_MAY_UNLOAD
                                     : 0u,
    STR(FAKE_NAME),
    STR("1.2.3"),
    STR("tests"),
    STR("test build"),
    {options, sizeof options / sizeof options[0], sizeof options[0], 0},
    FAKE_FAULT == FAULT_NULL_OPEN ? nullptr : FakeOpen,
    FakeClose,
    FakeGetInterface,
};

}  // namespace

#if FAKE_FAULT != FAULT_NO_SYMBOL
extern "C" MOTLEY_EXPORT const motley_plugin* motley_plugin_query(uint32_t, uint32_t) {
#if FAKE_FAULT == FAULT_QUERY_THROWS
  throw std::runtime_error("thrown by query");
#endif
  return FAKE_FAULT == FAULT_NULL_TABLE ? nullptr : &plugin;
}
#endif
