// HostPages: anonymous memory in pages of a chosen kind, for measurements and large buffers.
//
// Where the kernel has none of the kind that was asked for, the memory comes in another and `notice()` says
// why: asking for huge pages never ends a process, neither here nor when the memory is touched (field failure
// P10).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace motley {

enum class PageKind : uint32_t {
  kBase,         // the system's ordinary pages, usually 4 KiB, and no larger ones
  kTransparent,  // larger ones wherever the kernel can (madvise)
  kHuge,         // of the pool that the administrator reserved (vm.nr_hugepages)
};

std::string_view PageKindName(PageKind kind);  // "base", "transparent", "huge"
std::optional<PageKind> PageKindFromName(std::string_view name);

// Move-only. Any thread.
class HostPages {
 public:
  // `bytes` > 0, writable, aligned to 2 MiB; zero. Base and transparent pages come when they are touched, so
  // that each thread may touch its own first; huge ones are there at once. RESOURCE_EXHAUSTED where the
  // system maps no memory.
  static StatusOr<HostPages> Allocate(uint64_t bytes, PageKind kind);

  HostPages(HostPages&& other) noexcept;
  HostPages& operator=(HostPages&& other) noexcept;
  ~HostPages();

  std::byte* data() const { return begin_; }
  uint64_t bytes() const { return bytes_; }
  PageKind kind() const { return kind_; }                // what it is, not what was asked for
  const std::string& notice() const { return notice_; }  // why another kind; "" = as asked for

 private:
  HostPages() = default;
  void Swap(HostPages& other) noexcept;

  void* mapping_ = nullptr;
  uint64_t mapped_bytes_ = 0;
  std::byte* begin_ = nullptr;
  uint64_t bytes_ = 0;
  PageKind kind_ = PageKind::kBase;
  std::string notice_;
};

}  // namespace motley
