/* The smallest plugin: it opens, and has no devices. */
#include <motley/plugin.h>

struct motley_instance { int unused; };
static motley_instance g_instance;

static motley_status Open(const motley_host* host, motley_span values, motley_instance** out, motley_error* err) {
  (void)host, (void)values, (void)err;
  *out = &g_instance;
  return MOTLEY_OK;
}
static motley_status Close(motley_instance* instance, motley_error* err) {
  (void)instance, (void)err;
  return MOTLEY_OK;
}
static motley_status GetInterface(motley_instance* instance, uint32_t id, uint32_t min_version, const void** out) {
  (void)instance, (void)id, (void)min_version;
  *out = 0;
  return MOTLEY_UNIMPLEMENTED;
}

int HiddenByDefault(void) { return 1; } /* must not be exported */

const motley_plugin* motley_plugin_query(uint32_t host_abi_major, uint32_t host_abi_minor) {
  (void)host_abi_major, (void)host_abi_minor;
  static const motley_plugin plugin = {sizeof(motley_plugin), MOTLEY_ABI_MAJOR, MOTLEY_ABI_MINOR, 0,
                                       {"minimal", 7}, {"1", 1}, {"outside", 7}, {"c", 1}, {0, 0, 0, 0},
                                       Open, Close, GetInterface};
  return &plugin;
}
