/* motley/plugin.h - everything that a backend plugin and the host say to each other.
 *
 * Plain C11; includes nothing of ours. Read top to bottom: words, host, devices, weights, graph, programs, table.
 *
 * Version 0.x: it may still break; major and minor must be equal. From 1.0 on it grows in two ways only: fields
 * are appended behind `size` (in spans: behind the stride), or an interface is added by id.
 *
 * Rules that hold for every function, unless its comment says otherwise:
 * - Errors: 0, or a MOTLEY_* code; `err` (may be NULL) is the caller's memory and gets the text. Nothing that one
 *   side allocated is freed by the other; no exception crosses.
 * - Arguments are borrowed for the call. `size` fields are set by the caller; a reader uses min(size, sizeof).
 *   Reserved fields are 0 and checked. An unknown op, attribute, format, role or flag is refused with
 *   MOTLEY_UNIMPLEMENTED and its name, never ignored.
 * - Threads: any function from any thread. Externally synchronised are only calls on one queue, and map, unmap
 *   and free of one buffer. Any number of queues may read one buffer at a time. Data hazards are the host's
 *   duty, by fences. Programs are immutable and may run at once with different binds.
 * - Nothing in an argument points to code except motley_host, motley_range.released and fence_notify, so that
 *   one marshaller can carry the whole ABI. Handles never cross an instance.
 */
#ifndef MOTLEY_PLUGIN_H_
#define MOTLEY_PLUGIN_H_
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define MOTLEY_ABI_MAJOR 0u
#define MOTLEY_ABI_MINOR 1u
#define MOTLEY_EXPORT __attribute__((visibility("default")))

/* ---- Words ------------------------------------------------------------------------------------------------ */

typedef int32_t motley_status;
#define MOTLEY_OK 0
#define MOTLEY_CANCELLED 1
#define MOTLEY_INVALID_ARGUMENT 3
#define MOTLEY_DEADLINE_EXCEEDED 4
#define MOTLEY_NOT_FOUND 5
#define MOTLEY_RESOURCE_EXHAUSTED 8
#define MOTLEY_FAILED_PRECONDITION 9
#define MOTLEY_ABORTED 10     /* work on which this depends was poisoned */
#define MOTLEY_UNIMPLEMENTED 12
#define MOTLEY_INTERNAL 13
#define MOTLEY_UNAVAILABLE 14 /* the device is lost: every call but destroy, free, close returns this */
#define MOTLEY_DATA_LOSS 15

typedef struct motley_error {
  uint32_t size;
  int32_t code;
  char text[240];       /* NUL-terminated: names the thing, the value and the fix */
  uint64_t bytes_short; /* with RESOURCE_EXHAUSTED: how many bytes are missing; 0 = unknown */
  int64_t node;         /* the node at fault; -1 = none */
} motley_error;

typedef struct motley_str { const char* data; uint64_t size; } motley_str;  /* UTF-8, not NUL-terminated */

/* `count` structs, `stride` bytes apart. */
typedef struct motley_span { const void* data; uint64_t count; uint32_t stride, reserved; } motley_span;

#define MOTLEY_TYPE_I64 1u
#define MOTLEY_TYPE_F64 2u
#define MOTLEY_TYPE_BOOL 3u     /* in motley_value: u.i is 0 or 1 */
#define MOTLEY_TYPE_STR 4u
#define MOTLEY_TYPE_STR_LIST 5u /* in a schema only; its values come as STR, named NAME.0, NAME.1, ... */

/* An option's value or a node's attribute. */
typedef struct motley_value {
  motley_str name;
  uint32_t type, reserved;
  union { int64_t i; double f; motley_str s; } u;
} motley_value;

/* One row of a plugin's option schema, [plugin.NAME] in TOML. Names are dotted; `worker.*.address` stands for
 * worker.0.address, worker.1.address, ... `enabled`, `isolate`, `probe_in_child`, `probe_timeout_s` are the host's. */
typedef struct motley_option {
  motley_str name, doc;
  motley_str fallback;  /* the default as text; empty = none */
  motley_str allowed;   /* I64 and F64: "1..16"; STR: "a|b|c"; empty = anything */
  uint32_t type, flags; /* flags: 0 */
} motley_option;

typedef struct motley_instance motley_instance; /* opaque, made and destroyed by the plugin */
typedef struct motley_device motley_device;     /* lives as long as its instance */
typedef struct motley_queue motley_queue;
typedef struct motley_fence motley_fence;
typedef struct motley_buffer motley_buffer;
typedef struct motley_program motley_program;
typedef struct motley_team motley_team;         /* the host's */

/* ---- Host: lent to the plugin from open() until close() returns -------------------------------------------- */

typedef struct motley_host {
  uint32_t size, abi_minor;
  void* self;
  /* level: 0 debug 1 info 2 warning 3 error. */
  void (*log)(void* self, uint32_t level, motley_str scope, motley_str text);
  /* Compute threads are the host's. A device makes its team at open. numa_node -1 = any. */
  motley_status (*team_create)(void* self, uint32_t threads, int32_t numa_node, motley_team** out);
  /* Runs fn(arg, i, n) for i in [0, n), n = the team's threads, all at once, so barriers inside fn are safe; the
   * caller is i = 0. Returns when all have. No nesting; one run of a team at a time. */
  void (*team_run)(motley_team*, void (*fn)(void* arg, uint32_t i, uint32_t n), void* arg);
  void (*team_destroy)(motley_team*);
} motley_host;

/* ---- Devices ------------------------------------------------------------------------------------------------ */

#define MOTLEY_DEVICE_CPU 1u
#define MOTLEY_DEVICE_GPU 2u
#define MOTLEY_DEVICE_OTHER 3u
#define MOTLEY_DEVICE_REFERENCE 4u /* right, not fast: used where nothing else serves */
#define MOTLEY_DEVICE_TEST 5u      /* used only by name */

/* The work of execute, copy, read, write and weight_load is done on the calling thread, and signalled before the
 * call returns; the host has satisfied the waits before. Without it these calls only enqueue. */
#define MOTLEY_FEATURE_DEVICE_SYNC (1ull << 0)
/* Each output row is bitwise a function of its own row, weights and KV alone, on this kind and these options. */
#define MOTLEY_FEATURE_ROW_INVARIANT (1ull << 1)

/* How a kernel rounds activations. One for an (op, format, options), the same for one row and for many. */
#define MOTLEY_MATH_F32 1u
#define MOTLEY_MATH_F16 2u
#define MOTLEY_MATH_BF16 3u
#define MOTLEY_MATH_INT8 4u /* symmetric int8 in blocks of 32 */
#define MOTLEY_MATH_FP8 5u
#define MOTLEY_MATH_FP4 6u  /* only by an explicit option */

typedef struct motley_rate { uint32_t math, reserved; double ops_per_s; } motley_rate;

typedef struct motley_device_info {
  uint32_t size, kind;
  uint32_t ordinal;
  int32_t numa_node;            /* -1 = none */
  motley_str name;              /* "0": the host prefixes PLUGIN: */
  motley_str arch;              /* "sm_121", "gfx906", "x86-64-v4" */
  motley_str pool;              /* devices of equal pools share one memory: "ram", "ram:1", "pci:0000:0a:00.0" */
  uint64_t memory_bytes;        /* the pool's size; device_memory() has what is free */
  uint64_t max_alloc, alignment; /* bytes; alignment of slices in a buffer: a power of two <= 256 */
  double mem_bytes_per_s, link_bytes_per_s; /* 0 = unknown, never a guess */
  motley_span rates;            /* motley_rate[]; empty = unknown. Strings and spans live as long as the device */
  uint64_t features;            /* MOTLEY_FEATURE_* */
} motley_device_info;

/* ---- Buffers, ranges, fences ---------------------------------------------------------------------------------- */

#define MOTLEY_USAGE_WEIGHTS 1u
#define MOTLEY_USAGE_KV 2u
#define MOTLEY_USAGE_WORK 3u
#define MOTLEY_USAGE_HOST 4u /* host memory, pinned where the device has that; mappable */

typedef struct motley_slice { motley_buffer* buffer; uint64_t offset, bytes; } motley_slice;

/* Bytes of a file. base may be NULL (then fd and fd_offset), or fd -1 (then base); neither need be aligned. */
typedef struct motley_range {
  uint32_t size, reserved;
  const void* base;
  uint64_t bytes;
  int32_t fd, reserved2;
  uint64_t fd_offset;
  void (*released)(void* arg); /* called exactly once, also on failure, from any thread; NULL = nobody asks */
  void* arg;
  motley_str path;             /* the file, for a worker that has its own copy; may be empty */
  uint64_t hash[2];            /* of the bytes; 0, 0 = unknown */
} motley_range;

/* A timeline: `fence` reached `value`. Fences belong to the instance, so points chain over all its devices. A wait
 * may name a value whose signal no call has asked for yet. A fence outlives the queues whose calls name it. */
typedef struct motley_point { motley_fence* fence; uint64_t value; } motley_point;
typedef struct motley_sync { motley_span wait, signal; } motley_sync; /* motley_point[]; a NULL sync = neither */

/* ---- Weights ---------------------------------------------------------------------------------------------------- */

/* Layouts below 256 are the same for everyone; a plugin's own packed layouts follow. */
#define MOTLEY_LAYOUT_STORED 0u     /* the bytes as in the file */
#define MOTLEY_LAYOUT_F32 1u        /* dense row-major f32: what every plugin takes for weights of rank 1 */
#define MOTLEY_LAYOUT_NONE 0xffffffffu

#define MOTLEY_PART_DATA 1u
#define MOTLEY_PART_SCALE 2u
#define MOTLEY_PART_ZERO 3u
#define MOTLEY_PART_SCALE2 4u
#define MOTLEY_PART_INPUT_SCALE 5u
#define MOTLEY_PART_G_IDX 6u

typedef struct motley_part {
  uint32_t role, dtype; /* dtype: a format id (format_table.inc) */
  int32_t expert;       /* global id; -1 = the part holds all of the weight */
  uint32_t rank;
  int64_t dims[4];      /* outermost first */
  motley_range src;
} motley_part;

/* One logical tensor of one or many stored parts. */
typedef struct motley_weight {
  uint32_t size, format; /* format id */
  uint32_t rank, slots;  /* slots: 0, or expert slots */
  int64_t dims[3];       /* logical, unsharded, outermost first: [n_out, n_in] or [n] */
  motley_span parts;     /* motley_part[] */
  uint32_t shard_axis, shard_index, shard_count, reserved; /* count 0 = not sharded */
  uint64_t hash[2];
  motley_str name;       /* for messages */
} motley_weight;

typedef struct motley_weight_plan {
  uint32_t size, layout, version, reserved;
  uint64_t bytes;      /* to allocate for dst; 0 = dst is an import of the range, in place */
  uint64_t alignment;
  uint64_t slot_bytes;
  uint64_t staging;    /* held besides, while loading */
} motley_weight_plan;

/* ---- KV pages --------------------------------------------------------------------------------------------------- */

#define MOTLEY_KV_GQA 1u
#define MOTLEY_KV_MLA 2u
#define MOTLEY_KV_INDEX 3u

/* One layer's cache. Page p is the contiguous bytes [p * page_bytes, + page_bytes) of its STATE slice. */
typedef struct motley_kv_desc {
  uint32_t size, kind;
  uint32_t dtype; /* format id of the cached values */
  uint32_t page_tokens, n_kv_heads, k_dim, v_dim, reserved;
} motley_kv_desc;
typedef struct motley_kv_plan {
  uint32_t size, layout, version, reserved;
  uint64_t page_bytes, alignment;
} motley_kv_plan;

/* ---- Graph: nodes of op_table.inc over tensors -------------------------------------------------------------------- */

/* Symbols: dims that change from step to step. The first five are the same in every graph. */
typedef struct motley_dim { motley_str name; int64_t min, max; } motley_dim;
#define MOTLEY_DIM_N_TOKENS 0u
#define MOTLEY_DIM_N_SEQS 1u
#define MOTLEY_DIM_N_OUT 2u   /* rows of which the sampler wants logits */
#define MOTLEY_DIM_N_PAGES 3u /* most pages that a sequence of the step has */
#define MOTLEY_DIM_N_STARTS 4u /* n_seqs + 1 */
#define MOTLEY_DIM_COUNT 5u

#define MOTLEY_ROLE_INPUT 1u
#define MOTLEY_ROLE_OUTPUT 2u
#define MOTLEY_ROLE_WEIGHT 3u
#define MOTLEY_ROLE_STATE 4u /* opaque bytes, read and written: KV */
#define MOTLEY_ROLE_STEP 5u  /* step data: positions, slots, page tables, ... */
#define MOTLEY_ROLE_TEMP 6u  /* inside the program; the plugin places it in the workspace */

#define MOTLEY_MAX_RANK 6
#define MOTLEY_NO_TENSOR 0xffffffffu

typedef struct motley_tensor {
  uint32_t dtype, role; /* dtype: a format id; activations are F32, ids I32, STATE U8 */
  int32_t rank;
  uint32_t layout;      /* WEIGHT: the layout in which it is loaded; STATE: kv_plan's; else 0 */
  int64_t dims[MOTLEY_MAX_RANK];    /* outermost first; < 0 is the symbol ~dims[i] */
  int64_t strides[MOTLEY_MAX_RANK]; /* elements; 0 = dense row-major */
  motley_str name;
} motley_tensor;

typedef struct motley_node {
  uint32_t op, version;         /* op_table.inc */
  uint32_t in, in_count;        /* [in, in + in_count) of graph.refs, in the table's order; absent = ~0 */
  uint32_t out, out_count;      /* likewise */
  uint32_t attr, attr_count;    /* [attr, attr + attr_count) of graph.attrs */
} motley_node;

typedef struct motley_graph {
  uint32_t size, reserved;
  motley_span tensors; /* motley_tensor[] */
  motley_span nodes;   /* motley_node[], in an order in which they can run */
  motley_span refs;    /* uint32_t[]: tensor ids */
  motley_span attrs;   /* motley_value[] */
  motley_span dims;    /* motley_dim[] */
} motley_graph;

/* ---- Verdicts and programs ------------------------------------------------------------------------------------------ */

typedef struct motley_verdict {
  uint32_t ok;         /* 1 = this device runs the node */
  uint32_t reason;     /* a MOTLEY_* code where it does not */
  uint32_t math, reserved;
  uint32_t layouts[4]; /* of the node's weight of rank >= 2, best first; unused = MOTLEY_LAYOUT_NONE */
  double seconds;      /* at the dims that were asked; 0 = unknown */
  uint64_t workspace, read_bytes;
  char text[96];       /* the printed refusal, NUL-terminated */
} motley_verdict;

typedef struct motley_program_info {
  uint32_t size, kernels;
  uint64_t workspace, alignment; /* bytes at the dims' max */
  uint64_t captures;             /* of a GPU's graphs so far; counted, so that tests see a re-capture */
  motley_str notes;              /* lives as long as the program */
} motley_program_info;

typedef struct motley_bind {
  uint32_t size, reserved;
  uint64_t bind_id;       /* != 0: the very slices of the last execute of this program with this id */
  motley_span slices;     /* motley_slice[], one a tensor of the program's graph; TEMP: empty */
  motley_slice workspace;
  const int64_t* dims;    /* this step's value of each symbol */
  uint64_t dim_count;
} motley_bind;

/* ---- MOTLEY_IFACE_COMPUTE --------------------------------------------------------------------------------------------- */

#define MOTLEY_IFACE_COMPUTE 1u
#define MOTLEY_IFACE_KV 2u    /* reserved: canonical form of pages */
#define MOTLEY_IFACE_GROUP 3u /* reserved: collectives */
#define MOTLEY_IFACE_SERVE 4u /* reserved: a worker's server */
#define MOTLEY_IFACE_SHARE 5u /* reserved: copies between plugins */

typedef struct motley_compute {
  uint32_t size, version; /* version 1 */

  /* Fills up to `capacity` handles and sets *count to how many there are. */
  motley_status (*devices)(motley_instance*, motley_device** out, uint32_t capacity, uint32_t* count);
  motley_status (*device_info)(motley_device*, motley_device_info* inout, motley_error*);
  /* Bytes of the device's pool now. Cheap, repeatable. */
  motley_status (*device_memory)(motley_device*, uint64_t* total, uint64_t* free_bytes, motley_error*);

  /* Contents of a new buffer are undefined. RESOURCE_EXHAUSTED says how many bytes are short. */
  motley_status (*buffer_alloc)(motley_device*, uint64_t bytes, uint32_t usage, motley_buffer**, motley_error*);
  /* A read-only buffer over the range itself, without a copy; UNIMPLEMENTED where the device cannot. The range
   * is released when the buffer is freed. */
  motley_status (*buffer_import)(motley_device*, const motley_range*, motley_buffer**, motley_error*);
  /* Only USAGE_HOST and devices with DEVICE_SYNC; UNIMPLEMENTED otherwise, never a hidden copy. */
  motley_status (*buffer_map)(motley_buffer*, uint64_t offset, uint64_t bytes, void** out, motley_error*);
  void (*buffer_unmap)(motley_buffer*);
  void (*buffer_free)(motley_buffer*); /* the host has waited for all work that uses it */

  motley_status (*queue_create)(motley_device*, uint32_t priority, motley_queue**, motley_error*);
  /* Calls before it may be held back and sent as one message. Waits flush too. */
  motley_status (*queue_flush)(motley_queue*, motley_error*);
  void (*queue_destroy)(motley_queue*); /* waits for the queue's work */

  motley_status (*fence_create)(motley_instance*, uint64_t initial, motley_fence**, motley_error*);
  /* A poisoned fence returns its code and text, from query and from wait, at once and for ever. */
  motley_status (*fence_query)(motley_fence*, uint64_t* value, motley_error*);
  motley_status (*fence_signal)(motley_fence*, uint64_t value, motley_error*); /* by the host */
  motley_status (*fence_poison)(motley_fence*, int32_t code, motley_str why, motley_error*);
  /* DEADLINE_EXCEEDED poisons nothing. timeout_ns UINT64_MAX = for ever. */
  motley_status (*fence_wait)(motley_fence*, uint64_t value, uint64_t timeout_ns, motley_error*);
  /* Optional (may be NULL). fn runs once, on any thread, at once if reached; it must not block. */
  motley_status (*fence_notify)(motley_fence*, uint64_t value, void (*fn)(void* arg, int32_t code), void* arg,
                                motley_error*);
  void (*fence_destroy)(motley_fence*);

  /* In queue order, after `wait`, then `signal`. A call that returns non-zero enqueued and signals nothing; a
   * later failure poisons its signal points, and work that waits on a poisoned point does not run and poisons
   * its own with ABORTED and the first text. dst.bytes == src.bytes. */
  motley_status (*copy)(motley_queue*, motley_slice dst, motley_slice src, const motley_sync*, motley_error*);
  /* Host memory is borrowed until signalled. */
  motley_status (*write)(motley_queue*, motley_slice dst, const void* src, const motley_sync*, motley_error*);
  motley_status (*read)(motley_queue*, void* dst, motley_slice src, const motley_sync*, motley_error*);

  /* What loading would take; the host allocates `bytes` and passes them as dst. */
  motley_status (*weight_plan)(motley_device*, const motley_weight*, uint32_t layout, motley_weight_plan*,
                               motley_error*);
  /* slot ~0 = all. Packed bytes are a function of (content, layout, version, slot) alone. The structs are
   * borrowed for the call, the ranges until `released`. */
  motley_status (*weight_load)(motley_queue*, const motley_weight*, uint32_t layout, uint32_t slot,
                               motley_slice dst, const motley_sync*, motley_error*);
  /* UNIMPLEMENTED and why, before anything is loaded, where the pair is not supported. */
  motley_status (*kv_plan)(motley_device*, const motley_kv_desc*, motley_kv_plan*, motley_error*);

  /* One verdict a node, written to verdicts.data (the host's memory); `at`: the n dims asked about. */
  motley_status (*supports)(motley_device*, const motley_graph*, const int64_t* at, uint64_t n,
                            motley_span verdicts, motley_error*);
  /* A segment, once. The graph is borrowed for the call. */
  motley_status (*compile)(motley_device*, const motley_graph*, motley_span values, motley_program**,
                           motley_error*);
  motley_status (*program_info)(motley_program*, motley_program_info*, motley_error*);
  /* Step data out of range is found by the plugin in every build, and poisons the step. */
  motley_status (*execute)(motley_queue*, motley_program*, const motley_bind*, const motley_sync*, motley_error*);
  void (*program_destroy)(motley_program*);
} motley_compute;

/* ---- The plugin ---------------------------------------------------------------------------------------------------------- */

#define MOTLEY_PLUGIN_MAY_UNLOAD 1u    /* proved: after close nothing of it is left */
#define MOTLEY_PLUGIN_NAMES_DEVICES 2u /* gives whole device names (rpc) */

typedef struct motley_plugin {
  uint32_t size, abi_major, abi_minor, flags; /* the first 80 bytes are frozen in every major */
  motley_str name, version, vendor, build;    /* build: compiler, sanitizer, commit */
  motley_span options;                        /* motley_option[]: the schema of [plugin.NAME] */
  motley_status (*open)(const motley_host*, motley_span values, motley_instance** out, motley_error*);
  motley_status (*close)(motley_instance*, motley_error*); /* 0 = no thread, callback or device work is left */
  /* UNIMPLEMENTED for an interface or version that it does not have. The table lives as long as the library. */
  motley_status (*get_interface)(motley_instance*, uint32_t id, uint32_t min_version, const void** out);
} motley_plugin;

/* The one exported symbol. Pure: starts no thread, touches no driver. Returns its static table also when the
 * host's version differs, so that the host can print both. NULL = a broken plugin. */
MOTLEY_EXPORT const motley_plugin* motley_plugin_query(uint32_t host_abi_major, uint32_t host_abi_minor);

#define MOTLEY_HAS(p, T, f) ((p)->size >= offsetof(T, f) + sizeof((p)->f) && (p)->f)
#ifdef __cplusplus
#define MOTLEY_CHECK(e) static_assert(e, #e)
#else
#define MOTLEY_CHECK(e) _Static_assert(e, #e)
#endif
MOTLEY_CHECK(sizeof(void*) == 8 && sizeof(motley_span) == 24 && sizeof(motley_str) == 16);
MOTLEY_CHECK(offsetof(motley_plugin, options) == 80 && offsetof(motley_plugin, open) == 104);
MOTLEY_CHECK(sizeof(motley_value) == 40 && sizeof(motley_tensor) == 128 && sizeof(motley_node) == 32);
MOTLEY_CHECK(sizeof(motley_error) == 264 && sizeof(motley_verdict) == 152 && sizeof(motley_slice) == 24);
MOTLEY_CHECK(offsetof(motley_device_info, pool) == 48 && offsetof(motley_device_info, features) == 128);
MOTLEY_CHECK(offsetof(motley_compute, execute) == 8 + 27 * 8);
MOTLEY_CHECK(sizeof(motley_host) == 48 && sizeof(motley_range) == 88 && sizeof(motley_bind) == 80);
#ifdef __cplusplus
}
#endif
#endif  /* MOTLEY_PLUGIN_H_ */
