// The scripts of motley completion, in the shells that they are for.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "tests/support/child_process.h"
#include "tests/support/temp_dir.h"

namespace motley {
namespace {

using test::ChildResult;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)
#define EXPECT_HAS_NOT(text, part) EXPECT_EQ((text).find(part), std::string::npos) << (text)

std::string FindProgram(const char* name) {
  for (const char* folder : {"/bin/", "/usr/bin/", "/usr/local/bin/"}) {
    if (std::filesystem::exists(std::string(folder) + name)) return std::string(folder) + name;
  }
  return "";
}

class Completion : public testing::Test {
 protected:
  std::string Script(const char* shell) {
    const ChildResult result = test::RunChild({MOTLEY_LAUNCHER, "completion", shell});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return dir_.Write(std::string("completion.") + shell, result.out);
  }
  // What bash offers for the last of the words.
  std::string Bash(const std::vector<std::string>& words) {
    std::string quoted;
    for (const std::string& word : words) quoted += " '" + word + "'";
    const ChildResult result = test::RunChild(
        {FindProgram("bash"), "--norc", "-c",
         "set -u; cd '" + dir_.path().string() + "'; source '" + Script("bash") + "'; COMP_WORDS=(" + quoted +
             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _motley; printf '[%s]\\n' \"${COMPREPLY[@]-}\"; "
             "complete -p motley"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_HAS(result.out, "-F _motley motley");
    return result.out;
  }
  std::string Fish(const std::string& line) {
    const ChildResult result = test::RunChild(
        {FindProgram("fish"), "-N", "-c",
         "cd '" + dir_.path().string() + "'; source '" + Script("fish") + "'; complete -C '" + line + "'"},
        {.environment = {"HOME=" + dir_.path().string()}});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  test::TempDir dir_;
};

TEST_F(Completion, BashOffersCommandsFlagsValuesAndFiles) {
  if (FindProgram("bash").empty()) GTEST_SKIP() << "no bash here";
  dir_.Write("a model.gguf", "");
  dir_.Write("notes.txt", "");
  dir_.Write("folder/x.gguf", "");
  EXPECT_HAS(Bash({"motley", "ru"}), "[run]\n");
  EXPECT_HAS(Bash({"motley", ""}), "[perplexity]\n");
  EXPECT_HAS(Bash({"motley", "--ver"}), "[--version]\n");
  EXPECT_HAS(Bash({"motley", "run", "--temp"}), "[--temperature]\n");
  EXPECT_HAS_NOT(Bash({"motley", "plan", "--temp"}), "[--temperature]");
  EXPECT_HAS(Bash({"motley", "run", "--kv", ""}), "[q8]\n");
  EXPECT_HAS(Bash({"motley", "run", "--kv", "=", "f"}), "[f16]\n");
  EXPECT_HAS(Bash({"motley", "run", "--thinking", "o"}), "[off]\n");
  EXPECT_HAS(Bash({"motley", "completion", "z"}), "[zsh]\n");
  const std::string models = Bash({"motley", "run", "-m", ""});
  EXPECT_HAS(models, "[a model.gguf]\n");
  EXPECT_HAS(models, "[folder]\n");
  EXPECT_HAS_NOT(models, "notes.txt");
  EXPECT_HAS(Bash({"motley", "run", "-m", "a model.gguf", "-f", "no"}), "[notes.txt]\n");
  EXPECT_HAS(Bash({"motley", "inspect", "a"}), "[a model.gguf]\n");
  EXPECT_HAS(Bash({"motley", "run", "--plugin-path", ""}), "[folder]\n");
  EXPECT_HAS_NOT(Bash({"motley", "run", "--plugin-path", ""}), "notes.txt");
  EXPECT_HAS(Bash({"motley", "new-p"}), "[new-plugin]\n");
  EXPECT_HAS(Bash({"motley", "run", "--seed", ""}), "[]\n");  // nobody can guess it
}

TEST_F(Completion, ZshTakesTheScript) {
  const std::string zsh = FindProgram("zsh");
  if (zsh.empty()) GTEST_SKIP() << "no zsh here";
  const std::string script = Script("zsh");
  const ChildResult syntax = test::RunChild({zsh, "-n", script});
  EXPECT_EQ(syntax.exit_code, 0) << syntax.err;
  const ChildResult loaded = test::RunChild(
      {zsh, "-f", "-c",
       "autoload -Uz compinit && compinit -D -u && source '" + script + "' && print -r -- $_comps[motley]"},
      {.environment = {"HOME=" + dir_.path().string()}});
  EXPECT_EQ(loaded.exit_code, 0) << loaded.err;
  EXPECT_EQ(loaded.out, "_motley\n");
}

TEST_F(Completion, FishOffersCommandsFlagsValuesAndFiles) {
  if (FindProgram("fish").empty()) GTEST_SKIP() << "no fish here";
  dir_.Write("model.gguf", "");
  EXPECT_HAS(Fish("motley ru"), "run\t");
  EXPECT_HAS(Fish("motley run --temp"), "--temperature\t");
  EXPECT_HAS_NOT(Fish("motley plan --temp"), "--temperature");
  EXPECT_HAS(Fish("motley run --kv "), "q8");
  EXPECT_HAS(Fish("motley run -m mod"), "model.gguf");
  EXPECT_HAS(Fish("motley inspect mod"), "model.gguf");
  EXPECT_HAS(Fish("motley completion z"), "zsh");
}

TEST_F(Completion, AnotherShellIsRefusedByName) {
  const ChildResult result = test::RunChild({MOTLEY_LAUNCHER, "completion", "tcsh"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_HAS(result.err, "tcsh");
  EXPECT_HAS(result.err, "bash");
}

}  // namespace
}  // namespace motley
