#include "tools/motley/alloc_count.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define MOTLEY_OTHER_ALLOCATOR 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define MOTLEY_OTHER_ALLOCATOR 1
#endif

#ifdef MOTLEY_OTHER_ALLOCATOR

namespace motley {
bool CanCountAllocations() {
  return false;
}
uint64_t AllocationCount() {
  return 0;
}
}  // namespace motley

#else

namespace {

// The one global of the launcher: malloc has no other place to count in. Constant-initialised, as malloc is
// called before any constructor runs.
std::atomic<uint64_t> allocations{0};

void Count() {
  allocations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// The executable's malloc takes the place of the C library's in every shared object, and hands on to it.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);

void* malloc(size_t size) {
  Count();
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  Count();
  return __libc_calloc(count, size);
}

void* realloc(void* old, size_t size) {
  Count();
  return __libc_realloc(old, size);
}

void* memalign(size_t alignment, size_t size) {
  Count();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  Count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** out, size_t alignment, size_t size) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  Count();
  void* memory = __libc_memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}

void free(void* memory) {
  __libc_free(memory);
}
}  // extern "C"

namespace motley {

bool CanCountAllocations() {
  return true;
}

uint64_t AllocationCount() {
  return allocations.load(std::memory_order_relaxed);
}

}  // namespace motley

#endif
