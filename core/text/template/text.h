// Text: bytes and, for each of them, whether the template wrote it.
//
// Trust runs are kept as the places where trust changes, so that a text of one origin costs one word.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace motley::jinja {

class Text {
 public:
  Text() = default;
  Text(std::string bytes, bool trusted) : bytes_(std::move(bytes)), first_(trusted) {}

  const std::string& bytes() const { return bytes_; }
  std::string_view view() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  bool TrustedAt(size_t at) const;
  // Every byte trusted, also of an empty one.
  bool all_trusted() const { return bytes_.empty() || (flips_.empty() && first_); }

  void Append(std::string_view bytes, bool trusted);
  void Append(const Text& other) { Append(other, 0, other.size()); }
  // Bytes [begin, end) of `other`, which is not this.
  void Append(const Text& other, size_t begin, size_t end);
  void Reserve(size_t bytes) { bytes_.reserve(bytes); }

  Text Part(size_t begin, size_t end) const;

  struct Run { size_t begin, end; bool trusted; };
  // The runs in order; none is empty, neighbours differ.
  std::vector<Run> Runs() const;

  // A walk along the trust of the bytes, for code that copies byte by byte: offsets must not fall.
  class Cursor {
   public:
    explicit Cursor(const Text& text) : text_(text), trusted_(text.first_) {}
    bool TrustedAt(size_t at) {
      while (next_ < text_.flips_.size() && text_.flips_[next_] <= at) {
        ++next_;
        trusted_ = !trusted_;
      }
      return trusted_;
    }

   private:
    const Text& text_;
    size_t next_ = 0;
    bool trusted_;
  };

 private:
  std::string bytes_;
  std::vector<size_t> flips_;  // ascending, inside (0, size): from here on the trust is the other
  bool first_ = true;          // of the first byte
};

}  // namespace motley::jinja
