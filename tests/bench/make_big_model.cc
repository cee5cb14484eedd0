// make_big_model FILE [MIB] [FORMAT]: a random model of about that size, for measurements of loading and
// memory.
#include <cstdio>
#include <cstdlib>

#include "tests/support/big_model.h"

int main(int argc, char** argv) {
  const auto format = motley::FormatFromName(argc > 3 ? argv[3] : "Q4_K");
  const long mib = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 1024;
  if (argc < 2 || !format || mib < 1 || mib > 65536) {
    std::fprintf(stderr, "usage: make_big_model FILE [MIB, 1..65536] [FORMAT, such as Q4_K]\n");
    return 2;
  }
  const motley::Status written =
      motley::test::WriteBigModel(*format, static_cast<uint64_t>(mib) << 20, argv[1]);
  if (written.ok()) return 0;
  std::fprintf(stderr, "make_big_model: %s\n", written.message().c_str());
  return 1;
}
