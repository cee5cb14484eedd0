// What fake_plugin.cc gives to fake_table.cc.
#pragma once

#include <motley/plugin.h>

extern const char* const fake_name;

motley_status FakeOpen(const motley_host* host, motley_span values, motley_instance** out, motley_error* error);
motley_status FakeClose(motley_instance* instance, motley_error* error);
motley_status FakeGetInterface(motley_instance* instance, uint32_t id, uint32_t min_version, const void** out);
