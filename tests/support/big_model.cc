#include "tests/support/big_model.h"

#include <malloc.h>

#include <algorithm>

#include "tests/support/tiny_model.h"

namespace motley::test {

Status WriteBigModel(Format format, uint64_t bytes, const std::filesystem::path& path) {
  TinyModelSpec spec;
  spec.name = "big";
  spec.arch = "llama";
  spec.format = format;
  spec.hidden = 2048;
  spec.ffn = 5632;
  spec.heads = 16;
  spec.kv_heads = 4;
  spec.head_dim = 128;
  spec.tied = true;
  spec.seed = 1;
  const int64_t q = spec.heads * spec.head_dim, kv = spec.kv_heads * spec.head_dim;
  const auto layer_bytes = FormatBytes(format, (2 * q + 2 * kv + 3 * spec.ffn) * spec.hidden);
  if (!layer_bytes.ok()) return layer_bytes.status();
  spec.layers = std::max<int64_t>(1, static_cast<int64_t>((bytes + *layer_bytes / 2) / *layer_bytes));
  const Status written = WriteTinyModel(spec, path);
#if defined(__GLIBC__)
  malloc_trim(0);  // so that a child's memory is not measured with what its parent holds
#endif
  return written;
}

}  // namespace motley::test
