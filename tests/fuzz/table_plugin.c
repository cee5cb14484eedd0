/* A plugin whose table is whatever the fuzzer puts in the slot. */
#include <motley/plugin.h>

MOTLEY_EXPORT const motley_plugin* motley_fuzz_table;

const motley_plugin* motley_plugin_query(uint32_t host_abi_major, uint32_t host_abi_minor) {
  (void)host_abi_major, (void)host_abi_minor;
  return motley_fuzz_table;
}
