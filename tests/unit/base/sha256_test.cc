#include "core/base/sha256.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace motley {
namespace {

std::string HashOf(std::string_view text) {
  Sha256 hash;
  hash.Update(text);
  return hash.Finish();
}

// The examples of FIPS 180 (NIST's SHA256.pdf and SHA2_Additional.pdf).
TEST(Sha256, Examples) {
  EXPECT_EQ(HashOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HashOf(std::string("\xbd", 1)),
            "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  EXPECT_EQ(HashOf(std::string(55, '\0')),
            "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
  EXPECT_EQ(HashOf(std::string(56, '\0')),
            "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
  EXPECT_EQ(HashOf(std::string(64, '\0')),
            "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
  EXPECT_EQ(HashOf(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesOfAnyLengthGiveTheSame) {
  const std::string text(1000, 'q');
  for (const size_t piece : {1u, 3u, 63u, 64u, 65u, 999u}) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += piece) hash.Update(std::string_view(text).substr(at, piece));
    EXPECT_EQ(hash.Finish(), HashOf(text)) << piece;
  }
}

TEST(Sha256, OfAFile) {
  test::TempDir dir;
  EXPECT_EQ(*Sha256OfFile(dir.Write("a", std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  const StatusOr<std::string> missing = Sha256OfFile(dir.path().string() + "/none");
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_NE(missing.status().message().find("/none"), std::string::npos);
  EXPECT_FALSE(Sha256OfFile(dir.path().string()).ok());  // a folder
}

}  // namespace
}  // namespace motley
