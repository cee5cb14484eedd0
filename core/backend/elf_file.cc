#include "core/backend/elf_file.h"

#include <elf.h>

#include <cstring>

#include "core/base/checked.h"
#include "core/base/mmap_file.h"

namespace motley {
namespace {

// Whether [offset, offset + bytes) lies inside the file.
bool Inside(uint64_t offset, uint64_t bytes, uint64_t file_bytes) {
  uint64_t end = 0;
  return CheckedAdd(offset, bytes, &end) && end <= file_bytes;
}

#if defined(__x86_64__)
constexpr uint16_t kOurMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kOurMachine = EM_AARCH64;
#else
constexpr uint16_t kOurMachine = EM_NONE;  // the loader judges alone
#endif

std::string MachineName(uint16_t machine) {
  switch (machine) {
    case EM_386: return "32-bit x86";
    case EM_X86_64: return "x86_64";
    case EM_ARM: return "32-bit ARM";
    case EM_AARCH64: return "aarch64";
    case EM_RISCV: return "RISC-V";
    case EM_PPC64: return "PowerPC 64";
    case EM_S390: return "s390";
    default: return "machine " + std::to_string(machine) + " of ELF";
  }
}

}  // namespace

Status CheckElf(const std::string& path) {
  const StatusOr<MmapFile> file = MmapFile::Open(path);
  if (!file.ok()) return OkStatus();  // the loader names the reason
  const auto bytes = file->bytes();
  Elf64_Ehdr header;
  if (bytes.size() < SELFMAG || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) return OkStatus();
  const Status cut = FailedPreconditionError(path + ": the file is cut short: its " + std::to_string(bytes.size()) +
                                             " bytes are fewer than its headers say; copy it again");
  if (bytes.size() < sizeof(header)) return cut;
  std::memcpy(&header, bytes.data(), sizeof(header));
  // The loader says of such a file that it does not exist.
  if (kOurMachine != EM_NONE && header.e_machine != kOurMachine) {
    return FailedPreconditionError(path + ": built for " + MachineName(header.e_machine) + ", this machine is " +
                                   MachineName(kOurMachine));
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return OkStatus();
  if (!Inside(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), bytes.size())) return cut;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type == PT_LOAD && !Inside(segment.p_offset, segment.p_filesz, bytes.size())) return cut;
  }
  return OkStatus();
}

}  // namespace motley
