#include "core/base/host_pages.h"

#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/base/checked.h"
#include "core/base/units.h"

namespace motley {
namespace {

constexpr uint64_t kAlignment = 2ull << 20;
#ifdef MADV_POPULATE_WRITE
constexpr int kPopulateWrite = MADV_POPULATE_WRITE;
#else
constexpr int kPopulateWrite = 23;  // since Linux 5.14, whatever the headers say
#endif

constexpr std::array<std::pair<PageKind, std::string_view>, 3> kNames = {
    {{PageKind::kBase, "base"}, {PageKind::kTransparent, "transparent"}, {PageKind::kHuge, "huge"}}};

std::string FirstLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Bytes of the pool's pages, 0 where the kernel has none.
uint64_t HugePageBytes() {
  std::ifstream file("/proc/meminfo");
  constexpr std::string_view kName = "Hugepagesize:";
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, kName.size(), kName) == 0)
      return std::strtoull(line.c_str() + kName.size(), nullptr, 10) << 10;
  }
  return 0;
}

// The pages of the pool, or why not. A mapping alone is a promise that a control group may still break, with
// a SIGBUS at the first touch; so the pages are asked for here, where the answer is an error code.
StatusOr<void*> MapHuge(uint64_t bytes) {
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (memory == MAP_FAILED) return ResourceExhaustedError(std::strerror(errno));
  if (madvise(memory, bytes, kPopulateWrite) == 0) return memory;
  const int error = errno;
  munmap(memory, bytes);
  return ResourceExhaustedError(error == EINVAL ? "this kernel cannot say whether they are really there"
                                                : std::strerror(error));
}

}  // namespace

std::string_view PageKindName(PageKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "unknown";
}

std::optional<PageKind> PageKindFromName(std::string_view name) {
  for (const auto& [kind, known] : kNames) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

StatusOr<HostPages> HostPages::Allocate(uint64_t bytes, PageKind kind) {
  HostPages pages;
  pages.bytes_ = bytes;
  pages.kind_ = kind;
  uint64_t padded = 0;
  if (bytes == 0 || !CheckedAdd(bytes, kAlignment, &padded)) {
    return InvalidArgumentError("host memory of " + std::to_string(bytes) +
                                " bytes: ask for less, and for some");
  }
  if (kind == PageKind::kHuge) {
    const uint64_t page = HugePageBytes();
    StatusOr<void*> memory = UnavailableError("this kernel has none");
    uint64_t whole = 0;
    if (page > 0 && CheckedAlignUp(bytes, page, &whole)) memory = MapHuge(whole);
    if (memory.ok()) {
      pages.mapping_ = *memory;
      pages.mapped_bytes_ = whole;
      pages.begin_ = static_cast<std::byte*>(*memory);
      return pages;
    }
    pages.notice_ = FormatSize(bytes) + " in huge pages: " + memory.status().message() +
                    "; transparent ones are taken (vm.nr_hugepages reserves huge ones)";
    pages.kind_ = PageKind::kTransparent;
  }
  void* memory = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return ResourceExhaustedError("host memory of " + FormatSize(bytes) + ": " + std::strerror(errno));
  }
  pages.mapping_ = memory;
  pages.mapped_bytes_ = padded;
  const auto address = reinterpret_cast<uintptr_t>(memory);
  pages.begin_ = reinterpret_cast<std::byte*>((address + kAlignment - 1) & ~(kAlignment - 1));
  const bool never =
      FirstLine("/sys/kernel/mm/transparent_hugepage/enabled").find("[never]") != std::string::npos;
  if (pages.kind_ == PageKind::kTransparent && (never || madvise(pages.begin_, bytes, MADV_HUGEPAGE) != 0)) {
    pages.notice_ += (pages.notice_.empty() ? "" : "; ") + std::string("transparent huge pages: ") +
                     (never ? "the system says never" : std::strerror(errno)) + "; base pages are taken";
    pages.kind_ = PageKind::kBase;
  } else if (pages.kind_ == PageKind::kBase) {
    madvise(pages.begin_, bytes, MADV_NOHUGEPAGE);  // refused only where there are none anyway
  }
  return pages;
}

HostPages::HostPages(HostPages&& other) noexcept {
  Swap(other);
}

HostPages& HostPages::operator=(HostPages&& other) noexcept {
  HostPages taken(std::move(other));
  Swap(taken);
  return *this;
}

HostPages::~HostPages() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

void HostPages::Swap(HostPages& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  std::swap(kind_, other.kind_);
  std::swap(notice_, other.notice_);
}

}  // namespace motley
