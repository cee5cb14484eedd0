// Any bytes as a GGUF file: the header is refused, or everything it says can be read to the last byte.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/model/gguf_header.h"
#include "core/model/gguf_split.h"
#include "core/model/metadata.h"

namespace motley {
namespace {

volatile uint64_t g_sink;  // keeps the reads of bytes from being left out

void Require(bool promise) {
  if (!promise) std::abort();
}

void ReadEveryPair(const Metadata& metadata) {
  for (const MetaEntry& entry : metadata.entries()) {
    Require(metadata.Find(entry.key) == &entry.value);
    (void)metadata.FindU64(entry.key);
    (void)metadata.FindI64(entry.key);
    (void)metadata.FindF64(entry.key);
    (void)metadata.FindBool(entry.key);
    (void)metadata.FindInts(entry.key);
    (void)metadata.FindFloats(entry.key);
    (void)metadata.FindBools(entry.key);
    uint64_t sum = 0;
    if (const auto text = metadata.FindString(entry.key); text.ok()) {
      for (char c : **text) sum += static_cast<unsigned char>(c);
    }
    if (const auto texts = metadata.FindStrings(entry.key); texts.ok()) {
      for (std::string_view text : **texts) {
        for (char c : text) sum += static_cast<unsigned char>(c);
      }
    }
    g_sink = sum + DescribeValue(entry.value).size();
  }
}

void ReadEveryTensor(const std::vector<StoredTensor>& tensors, std::string_view file) {
  for (const StoredTensor& tensor : tensors) {
    uint64_t elems = 1;
    for (int64_t dim : tensor.dims) elems *= static_cast<uint64_t>(dim);
    Require(elems == tensor.elems && elems > 0 && tensor.bytes > 0);
    Require(*FormatBytes(tensor.format, static_cast<int64_t>(elems)) == tensor.bytes);
    Require(tensor.offset < file.size() && tensor.bytes <= file.size() - tensor.offset);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < tensor.bytes; ++i) sum += std::to_integer<uint64_t>(tensor.data[i]);
    g_sink = sum;
  }
}

void CheckAsShards(const std::vector<MetaEntry>& entries, const std::vector<StoredTensor>& tensors) {
  const std::vector<Shard> shards = {{"a", Metadata("a", entries), tensors, {}}, {"b", Metadata("b", entries), {}, {}}};
  (void)CheckShards(shards);
  (void)CheckShards({shards.data(), 1});
}

}  // namespace
}  // namespace motley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace motley;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const StatusOr<GgufHeader> header = ParseGgufHeader(bytes, "fuzz");
  if (!header.ok()) {
    Require(!header.status().message().empty());
    return 0;
  }
  const Metadata metadata("fuzz", header->entries);
  ReadEveryPair(metadata);
  ReadEveryTensor(header->tensors, bytes);
  (void)CheckGgufVocabulary(metadata);
  CheckAsShards(header->entries, header->tensors);
  return 0;
}
