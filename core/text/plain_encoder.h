// PlainEncoder: text between special tokens to ids. One implementation a kind of vocabulary, one object a
// tokenizer.
//
// Threads: Encode may be called from any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace motley {

class PlainEncoder {
 public:
  virtual ~PlainEncoder() = default;
  PlainEncoder(const PlainEncoder&) = delete;
  PlainEncoder& operator=(const PlainEncoder&) = delete;

  // Appends the ids of `text`: any bytes, at most Tokenizer's limit of them. What stands before it is a
  // special token or nothing.
  virtual Status Encode(std::string_view text, std::vector<int32_t>* ids) const = 0;

 protected:
  PlainEncoder() = default;
};

// "the text holds the byte 0x41, and ...": for vocabularies that lack it.
Status NoTokenForByteError(char byte);

}  // namespace motley
