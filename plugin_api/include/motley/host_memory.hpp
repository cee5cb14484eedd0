// Host memory for devices that compute in it: what is free, and aligned blocks.
#pragma once

#include <motley/plugin.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace motley::plugin {

// MemTotal and MemAvailable of /proc/meminfo, in bytes; 0 where they cannot be read. No allocation.
inline void HostMemoryBytes(uint64_t* total, uint64_t* available) {
  *total = *available = 0;
  const int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[4096];
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return;
  text[n] = '\0';
  const auto field = [&](const char* name) -> uint64_t {
    const char* line = std::strstr(text, name);
    return line ? std::strtoull(line + std::strlen(name), nullptr, 10) * 1024 : 0;
  };
  *total = field("MemTotal:");
  *available = field("MemAvailable:");
}

// Aligned memory, in whole pages of its own so that freeing gives it back.
class HostBlock {
 public:
  HostBlock() = default;
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;
  ~HostBlock() {
    if (data_) munmap(data_, mapped_);
  }

  // RESOURCE_EXHAUSTED says how many bytes are short: Linux would give the memory now and kill later.
  Fault Allocate(uint64_t bytes) {
    uint64_t total = 0, available = 0;
    HostMemoryBytes(&total, &available);
    constexpr uint64_t kPage = 4096;
    if (bytes > (1ull << 50) || (available > 0 && bytes > available)) {
      Fault fault = Fail(MOTLEY_RESOURCE_EXHAUSTED, "%llu bytes of host memory: %llu are available",
                         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(available));
      fault.bytes_short = bytes - available;
      return fault;
    }
    const uint64_t mapped = bytes ? (bytes + kPage - 1) / kPage * kPage : kPage;
    void* data = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) {
      Fault fault = Fail(MOTLEY_RESOURCE_EXHAUSTED, "mmap of %llu bytes failed",
                         static_cast<unsigned long long>(mapped));
      fault.bytes_short = bytes;
      return fault;
    }
    // Huge pages where the kernel has them: fewer TLB misses while weights stream. Failing is harmless.
    if (mapped >= (2u << 20)) madvise(data, mapped, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(data);
    mapped_ = mapped;
    return {};
  }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t mapped_ = 0;
};

}  // namespace motley::plugin
