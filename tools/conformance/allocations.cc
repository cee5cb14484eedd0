#include "tools/conformance/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MOTLEY_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MOTLEY_SANITIZED 1
#endif
#endif

namespace motley::conformance {
namespace {
std::atomic<int64_t> g_allocations{0};
}  // namespace

#ifdef MOTLEY_SANITIZED
bool CountsAllocations() {
  return false;
}
#else
bool CountsAllocations() {
  return true;
}
#endif
int64_t Allocations() {
  return g_allocations;
}

}  // namespace motley::conformance

#ifndef MOTLEY_SANITIZED
void* operator new(size_t bytes) {
  ++motley::conformance::g_allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
void* operator new[](size_t bytes) {
  return operator new(bytes);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete[](void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, size_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, size_t) noexcept {
  std::free(p);
}
#endif
