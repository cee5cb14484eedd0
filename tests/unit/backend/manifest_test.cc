#include "core/backend/manifest.h"

#include <gtest/gtest.h>
#include <motley/plugin.h>

#include "fakes.h"

namespace motley {
namespace {

using test::Contains;
using test::ManifestText;

constexpr char kPath[] = "/opt/motley/gpu.plugin.toml";

std::string ErrorOf(std::string_view text) {
  const StatusOr<Manifest> manifest = ParseManifest(text, kPath);
  if (manifest.ok()) return "";
  EXPECT_EQ(manifest.status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(Contains(manifest.status().message(), kPath));
  return manifest.status().message();
}

// `text` with the line of `key` replaced.
std::string With(const std::string& key, const std::string& line) {
  std::string text =
      ManifestText("gpu.so", "sha256 = \"" + std::string(64, 'a') + "\"\ncpu_features = [\"avx2\"]\n");
  const size_t begin = text.find(key + " = ");
  text.replace(begin, text.find('\n', begin) - begin, line);
  return text;
}

TEST(Manifest, ReadsEveryKey) {
  const StatusOr<Manifest> manifest = ParseManifest(
      "library = \"libgpu.so\"\nabi = \"12.34\"\narch = \"aarch64\"\nkind = \"gpu\"\ncpu_features = "
      "[\"asimd\", "
      "\"i8mm\"]\nsha256 = \"0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\"\n",
      kPath);
  ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
  EXPECT_EQ(manifest->name, "gpu");
  EXPECT_EQ(manifest->path, kPath);
  EXPECT_EQ(manifest->library, "/opt/motley/libgpu.so");
  EXPECT_EQ(manifest->abi_major, 12u);
  EXPECT_EQ(manifest->abi_minor, 34u);
  EXPECT_EQ(manifest->arch, "aarch64");
  EXPECT_EQ(manifest->kind, "gpu");
  EXPECT_EQ(manifest->cpu_features, (std::vector<std::string>{"asimd", "i8mm"}));
  EXPECT_EQ(manifest->sha256, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
}

TEST(Manifest, ErrorsNameFileKeyAndFix) {
  EXPECT_TRUE(Contains(ErrorOf(""), ": library is missing"));
  EXPECT_TRUE(Contains(ErrorOf(With("abi", "")), ": abi is missing"));
  EXPECT_TRUE(Contains(ErrorOf(With("arch", "")), ": arch is missing"));
  EXPECT_TRUE(Contains(ErrorOf(With("kind", "")), ": kind is missing"));
  EXPECT_TRUE(Contains(ErrorOf(With("abi", "abi = 0.1")), ":2:7: abi: must be a text"));
  EXPECT_TRUE(
      Contains(ErrorOf(With("library", "library = \"\"")), ":1:11: library = \"\": must not be empty"));
  EXPECT_TRUE(Contains(ErrorOf(With("kind", "kind = \"gpuu\"")), "kind = \"gpuu\": must be one of"));
  EXPECT_TRUE(Contains(ErrorOf(With("kind", "kind = \"gpuu\"")), "did you mean \"gpu\"?"));
  EXPECT_TRUE(Contains(ErrorOf(With("cpu_features", "cpu_feature = [\"avx2\"]")),
                       "cpu_feature: unknown key; did you mean \"cpu_features\"?"));
  EXPECT_TRUE(Contains(ErrorOf(With("cpu_features", "cpu_features = \"avx2\"")), "must be a list of texts"));
  EXPECT_TRUE(Contains(ErrorOf(With("cpu_features", "cpu_features = [1]")), "must be a list of texts"));
  EXPECT_TRUE(Contains(ErrorOf(With("sha256", "sha256 = \"12\"")), "must be 64 hexadecimal digits"));
  for (const char* abi : {"1", "1.", ".1", "a.b", "1.2.3", "-1.0", "1. 2", "99999999999.0"}) {
    EXPECT_TRUE(
        Contains(ErrorOf(With("abi", "abi = \"" + std::string(abi) + "\"")), "must be \"MAJOR.MINOR\""))
        << abi;
  }
}

TEST(Manifest, TheLibraryIsAFileBesideIt) {
  for (const char* library :
       {"../evil.so", "/lib/evil.so", "sub/evil.so", "..", ".", ".hidden.so", "a\\\\b.so", "a\\u0000b.so"}) {
    EXPECT_TRUE(Contains(ErrorOf(With("library", "library = \"" + std::string(library) + "\"")),
                         "must be the name of a file in the manifest's folder"))
        << library;
  }
}

TEST(Manifest, NoTextAborts) {
  EXPECT_TRUE(Contains(ErrorOf("library = "), ":1:"));
  EXPECT_TRUE(Contains(ErrorOf("library = \"a.so\"\nlibrary = \"b.so\"\n"), ":2:"));
  EXPECT_NE(ErrorOf(std::string("\0\xff\xfe garbage", 11)), "");
  EXPECT_NE(ErrorOf(std::string(1 << 17, 'a')), "");
  EXPECT_NE(ErrorOf(std::string(60000, '[')), "");
  EXPECT_NE(ErrorOf("[library]\nx = 1\n"), "");
}

TEST(Manifest, AFolderOrNothingIsNoManifest) {
  test::TempDir dir;
  EXPECT_EQ(ReadManifest(dir.path().string() + "/no.plugin.toml").status().code(), Code::kNotFound);
  EXPECT_EQ(ReadManifest(dir.path().string()).status().code(), Code::kInvalidArgument);
}

TEST(Manifest, ChecksTheMachine) {
  Manifest manifest;
  manifest.abi_major = MOTLEY_ABI_MAJOR;
  manifest.abi_minor = MOTLEY_ABI_MINOR;
  manifest.arch = "x86_64";
  EXPECT_TRUE(CheckManifest(manifest, "x86_64", {}).ok());
  EXPECT_EQ(CheckManifest(manifest, "aarch64", {}).message(), "built for x86_64, this machine is aarch64");
  manifest.arch = "any";
  EXPECT_TRUE(CheckManifest(manifest, "aarch64", {}).ok());
  manifest.cpu_features = {"quantum"};
  EXPECT_TRUE(Contains(CheckManifest(manifest, "aarch64", {}).message(),
                       "quantum (this version does not know that name)"));
  manifest.cpu_features.clear();
  manifest.abi_minor += 1;
  const std::string both = CheckManifest(manifest, "aarch64", {}).message();
  EXPECT_TRUE(Contains(both, "built for ABI " + std::to_string(MOTLEY_ABI_MAJOR) + "." +
                                 std::to_string(MOTLEY_ABI_MINOR + 1)));
  EXPECT_TRUE(Contains(both, "this motley has ABI " + test::AbiText()));
}

TEST(Manifest, ChecksTheHash) {
  test::TempDir dir;
  Manifest manifest;
  manifest.library = dir.Write("x.so", "abc");
  EXPECT_TRUE(CheckLibraryHash(manifest).ok());  // none given
  manifest.sha256 =
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // FIPS 180-4's example
  EXPECT_TRUE(CheckLibraryHash(manifest).ok());
  dir.Write("x.so", "abd");
  const Status changed = CheckLibraryHash(manifest);
  EXPECT_EQ(changed.code(), Code::kDataLoss);
  EXPECT_TRUE(Contains(changed.message(), manifest.library));
  EXPECT_TRUE(Contains(changed.message(), manifest.sha256));
  manifest.library += ".gone";
  EXPECT_EQ(CheckLibraryHash(manifest).code(), Code::kNotFound);
}

}  // namespace
}  // namespace motley
