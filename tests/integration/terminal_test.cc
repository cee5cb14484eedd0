// motley run on a real pseudo-terminal: chat, interrupt, lines, history, colours.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/child_process.h"
#include "tests/support/pty.h"
#include "tests/support/scripted_model.h"
#include "tests/support/temp_dir.h"

namespace motley {
namespace {

using test::Pty;
using test::PtyOptions;
using test::ScriptedModel;
using test::VisibleText;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)
#define EXPECT_HAS_NOT(text, part) EXPECT_EQ((text).find(part), std::string::npos) << (text)

constexpr char kPrompt[] = "[PROMPT]> ";
constexpr char kCtrlC[] = "\x03", kCtrlD[] = "\x04";

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class ChatOnTerminal : public testing::Test {
 protected:
  ChatOnTerminal() { std::filesystem::create_directory(dir_.path() / "home"); }

  std::string Model(const ScriptedModel& script, const std::string& name = "model.gguf") {
    const std::string path = (dir_.path() / name).string();
    const Status written = WriteScriptedModel(script, path);
    EXPECT_TRUE(written.ok()) << written.message();
    return path;
  }
  std::string Greeter() {
    ScriptedModel script;
    script.says = {"one ", "two ", "three"};
    return Model(script);
  }
  std::string Endless() {
    ScriptedModel script;
    script.says = {"again ", "and "};
    script.forever = true;
    script.context = 100000;
    return Model(script, "endless.gguf");
  }

  PtyOptions Options(std::vector<std::string> more = {}) const {
    const std::string home = (dir_.path() / "home").string();
    PtyOptions options;
    options.environment = {"TERM=xterm-256color",
                           "HOME=" + home,
                           "XDG_STATE_HOME=" + home + "/state",
                           "LANG=C.UTF-8",
                           "LC_ALL",
                           "NO_COLOR",
                           "EDITRC",
                           "COLUMNS",
                           "MOTLEY_PLUGIN_PATH="};
    options.environment.insert(options.environment.end(), more.begin(), more.end());
    return options;
  }
  std::vector<std::string> Run(const std::string& model, std::vector<std::string> more = {}) const {
    std::vector<std::string> command{MOTLEY_LAUNCHER, "run", "-m", model, "--device", "ref:0", "--kv", "f32"};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  std::string File(const char* name) const { return (dir_.path() / name).string(); }

  // What /save wrote, as "role: content" lines.
  std::vector<std::string> Saved(const char* name) const {
    boost::json::error_code error;
    const auto value = boost::json::parse(ReadFile(File(name)), error);
    std::vector<std::string> lines;
    if (error || !value.is_array()) return lines;
    for (const auto& message : value.as_array())
      lines.push_back(std::string(message.at("role").as_string()) + ": " +
                      std::string(message.at("content").as_string()));
    return lines;
  }

  test::TempDir dir_;
};

using Lines = std::vector<std::string>;

TEST_F(ChatOnTerminal, AnswersRemembersAndSaves) {
  Pty chat(Run(Greeter(), {"--system", "Count."}), Options());
  ASSERT_TRUE(chat.WaitFor("/help lists commands"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("Hello\r");
  ASSERT_TRUE(chat.WaitFor("one two three\n"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("More\r");
  ASSERT_TRUE(chat.WaitFor("one two three\n"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("/save " + File("chat.json") + "\r");
  ASSERT_TRUE(chat.WaitFor("saved 4 messages"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlD);
  EXPECT_EQ(chat.WaitExit(), 0) << chat.raw();
  EXPECT_TRUE(chat.InShellModes());
  EXPECT_EQ(Saved("chat.json"), (Lines{"system: Count.", "user: Hello", "assistant: one two three",
                                       "user: More", "assistant: one two three"}));
}

TEST_F(ChatOnTerminal, CommandsKeepTheChatAliveWhateverIsTyped) {
  const std::string there = dir_.Write("there.json", "mine");
  const std::string broken = dir_.Write("broken.json", "[{\"role\":\"wizard\",\"content\":\"x\"}]");
  Pty chat(Run(Greeter()), Options());
  const struct {
    std::string typed, says;
  } rows[] = {
      {"/hlep", "did you mean \"/help\"?"},
      {"/help", "/save FILE"},
      {"/save", "nothing to save"},
      {"/retry", "no message to answer again"},
      {"/stats", "no answer yet"},
      {"/load " + File("nowhere.json"), "cannot be read"},
      {"/load " + broken, "messages[0].role = \"wizard\""},
      {"/load " + File(""), "cannot be read"},
      {"/system", "no system message"},
      {"/system Be brief.", "is set"},
      {"/thinking maybe", "must be on or off"},
      {"//usr is a folder", "one two three\n"},
      {"/save " + there, "exists already; /save! "},
      {"/save /nowhere/at/all.json", "cannot be made"},
      {"/save! " + there, "saved 2 messages"},
      {"/save", "saved 2 messages"},
      {"/retry", "one two three\n"},
      {"/stats", "tokens/s"},
      {"/reset", "begins anew"},
      {"/load " + there, "2 messages of"},
      {"/save " + File("again.json"), "saved 2 messages"},
  };
  for (const auto& row : rows) {
    ASSERT_TRUE(chat.WaitFor(kPrompt)) << row.typed;
    chat.Send(row.typed + "\r");
    ASSERT_TRUE(chat.WaitFor(row.says)) << row.typed;
  }
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("/exit\r");
  EXPECT_EQ(chat.WaitExit(), 0);
  const Lines expected{"system: Be brief.", "user: /usr is a folder", "assistant: one two three"};
  EXPECT_EQ(Saved("there.json"), expected);
  EXPECT_EQ(Saved("again.json"), (Lines{expected.begin() + 0, expected.end()}));
}

TEST_F(ChatOnTerminal, CtrlCEndsTheAnswerAndNotTheChat) {
  Pty chat(Run(Endless()), Options());
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(chat.WaitFor(kPrompt));
    chat.Send("Hello\r");
    ASSERT_TRUE(chat.WaitFor("again and again and again"));
    chat.Send(kCtrlC);
    ASSERT_TRUE(chat.WaitFor("(interrupted)"));
  }
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("/save " + File("chat.json") + "\r");
  ASSERT_TRUE(chat.WaitFor("saved 4 messages"));  // as far as they came
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("half a line");
  ASSERT_TRUE(chat.WaitFor("half a line"));
  chat.Send(kCtrlC);  // clears the line
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlC);
  ASSERT_TRUE(chat.WaitFor("Ctrl-C again or Ctrl-D leaves"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlC);
  EXPECT_EQ(chat.WaitExit(), 130);
  EXPECT_TRUE(chat.InShellModes());
  const Lines saved = Saved("chat.json");
  ASSERT_EQ(saved.size(), 4u);
  EXPECT_EQ(saved[0], "user: Hello");
  EXPECT_HAS(saved[1], "again and again");
}

TEST_F(ChatOnTerminal, AHintIsForgottenOnceSomethingElseIsTyped) {
  Pty chat(Run(Greeter()), Options());
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlC);
  ASSERT_TRUE(chat.WaitFor("Ctrl-C again"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("/stats\r");
  ASSERT_TRUE(chat.WaitFor("no answer yet"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlC);
  ASSERT_TRUE(chat.WaitFor("Ctrl-C again"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlD);
  EXPECT_EQ(chat.WaitExit(), 0);
}

TEST_F(ChatOnTerminal, AKillRestoresTheTerminalAndIs130) {
  Pty chat(Run(Greeter()), Options());
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("half");
  ASSERT_TRUE(chat.WaitFor("half"));
  EXPECT_FALSE(chat.InShellModes());
  chat.Signal(SIGTERM);
  EXPECT_EQ(chat.WaitExit(), 130);
  EXPECT_TRUE(chat.InShellModes());
  EXPECT_EQ(chat.raw().rfind("\x1b[?2004l") > chat.raw().rfind("\x1b[?2004h"), true);

  Pty answering(Run(Endless()), Options());
  ASSERT_TRUE(answering.WaitFor(kPrompt));
  answering.Send("Hello\r");
  ASSERT_TRUE(answering.WaitFor("again and"));
  answering.Signal(SIGTERM);
  EXPECT_EQ(answering.WaitExit(), 130);
}

TEST_F(ChatOnTerminal, SeveralLinesAreOneMessage) {
  const struct {
    const char* name;
    std::string keys;
    std::string message;
  } rows[] = {
      {"backslash", "one\\\rtwo\\\rthree\r", "one\ntwo\nthree"},
      {"two backslashes end it", "C:\\\\\r", "C:\\\\"},
      {"block", "\"\"\"\rdef f():\r\r  return 1\r\"\"\"\r", "def f():\n\n  return 1"},
      {"block on one line", "\"\"\"a\\b\"\"\"\r", "a\\b"},
      {"alt-enter", "one\x1b\rtwo\r", "one\ntwo"},
      {"paste", "\x1b[200~one\rtwo\rthree\n\x1b[201~\r", "one\ntwo\nthree"},
      {"paste into a line", "see: \x1b[200~a\rb\x1b[201~ end\r", "see: a\nb end"},
      {"paste with keys in it", "\x1b[200~x\x03\x1b[A\ty\x1b[201~\r", "x[A\ty"},
      {"paste of a command", "\x1b[200~/exit\x1b[201~ no\x15plain\r", "plain"},
  };
  const std::string model = Greeter();
  Pty chat(Run(model), Options());
  Lines expected;
  for (const auto& row : rows) {
    ASSERT_TRUE(chat.WaitFor(kPrompt)) << row.name;
    chat.Send(row.keys);
    ASSERT_TRUE(chat.WaitFor("one two three\n")) << row.name;
    expected.push_back("user: " + row.message);
    expected.push_back("assistant: one two three");
  }
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("/save " + File("chat.json") + "\r");
  ASSERT_TRUE(chat.WaitFor("saved"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlD);
  EXPECT_EQ(chat.WaitExit(), 0);
  EXPECT_EQ(Saved("chat.json"), expected);
}

TEST_F(ChatOnTerminal, TextInAnyScriptIsEditedCharacterByCharacterWhateverTheLocale) {
  for (const char* locale : {"LANG=C.UTF-8", "LANG=C", "LANG=nonsense"}) {
    Pty chat(Run(Greeter()), Options({locale}));
    ASSERT_TRUE(chat.WaitFor(kPrompt));
    // 你好 is two wide characters; backspace takes one of them, the arrow goes over one.
    chat.Send("h\xC3\xA9llo \xE4\xBD\xA0\xE5\xA5\xBD\x7f\xE4\xBB\xAC \xF0\x9F\x98\x80\x1b[D!\r");
    ASSERT_TRUE(chat.WaitFor("one two three\n")) << locale;
    ASSERT_TRUE(chat.WaitFor(kPrompt));
    chat.Send("/save! " + File("chat.json") + "\r");
    ASSERT_TRUE(chat.WaitFor("saved"));
    ASSERT_TRUE(chat.WaitFor(kPrompt));
    chat.Send(kCtrlD);
    EXPECT_EQ(chat.WaitExit(), 0);
    ASSERT_EQ(Saved("chat.json").size(), 2u) << locale;
    EXPECT_EQ(Saved("chat.json")[0], "user: h\xC3\xA9llo \xE4\xBD\xA0\xE4\xBB\xAC !\xF0\x9F\x98\x80")
        << locale;
  }
}

TEST_F(ChatOnTerminal, HistoryGoesFromOneChatToTheNextAndIsTheOwnersAlone) {
  const std::string model = Greeter();
  const std::filesystem::path file = dir_.path() / "home/state/motley/history";
  {
    Pty chat(Run(model), Options());
    for (const char* message : {"first\r", "second\\\rline\r", "first\r", "/stats\r"}) {
      ASSERT_TRUE(chat.WaitFor(kPrompt));
      chat.Send(message);
    }
    ASSERT_TRUE(chat.WaitFor(kPrompt));
    chat.Send(kCtrlD);
    ASSERT_EQ(chat.WaitExit(), 0);
  }
  EXPECT_EQ(ReadFile(file), "\"second\\nline\"\n\"first\"\n\"/stats\"\n");
  struct stat info {};
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  {
    Pty chat(Run(model), Options());
    ASSERT_TRUE(chat.WaitFor(kPrompt));
    chat.Send("\x1b[A\x1b[A\x1b[A");  // up three times
    ASSERT_TRUE(chat.WaitFor("line"));
    chat.Send(" too\r");
    ASSERT_TRUE(chat.WaitFor("one two three\n"));
    ASSERT_TRUE(chat.WaitFor(kPrompt));
    chat.Send(
        "\x12"
        "irs");  // Ctrl-R searches
    ASSERT_TRUE(chat.WaitFor("first"));
    chat.Send("\r\r");
    ASSERT_TRUE(chat.WaitFor("one two three\n"));
    ASSERT_TRUE(chat.WaitFor(kPrompt));
    chat.Send("/save " + File("chat.json") + "\r");
    ASSERT_TRUE(chat.WaitFor("saved"));
    ASSERT_TRUE(chat.WaitFor(kPrompt));
    chat.Send(kCtrlD);
    ASSERT_EQ(chat.WaitExit(), 0);
    const Lines saved = Saved("chat.json");
    ASSERT_EQ(saved.size(), 4u);
    EXPECT_EQ(saved[0], "user: second\nline too");
    EXPECT_EQ(saved[2], "user: first");
  }
  const std::string before = ReadFile(file);
  for (const Lines& off : {Lines{"--no-history"}, Lines{"--set", "chat.history=false"}}) {
    Pty chat(Run(model, off), Options());
    ASSERT_TRUE(chat.WaitFor(kPrompt));
    chat.Send("secret\r");
    ASSERT_TRUE(chat.WaitFor("one two three\n"));
    ASSERT_TRUE(chat.WaitFor(kPrompt));
    chat.Send(kCtrlD);
    ASSERT_EQ(chat.WaitExit(), 0);
    EXPECT_EQ(ReadFile(file), before);
  }
}

TEST_F(ChatOnTerminal, AHistoryThatCannotBeWrittenIsToldOnce) {
  std::filesystem::create_directories(dir_.path() / "home/state/motley/history");  // a folder in its place
  Pty chat(Run(Greeter()), Options());
  ASSERT_TRUE(chat.WaitFor("warning: the history"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("Hello\r");
  ASSERT_TRUE(chat.WaitFor("one two three\n"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("\x1b[A");  // in memory it is there
  ASSERT_TRUE(chat.WaitFor("Hello"));
  chat.Send("\r");
  ASSERT_TRUE(chat.WaitFor("one two three\n"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlD);
  EXPECT_EQ(chat.WaitExit(), 0);
  EXPECT_EQ(chat.raw().find("warning: the history"), chat.raw().rfind("warning: the history"));
}

TEST_F(ChatOnTerminal, TabCompletesCommandsAndFiles) {
  dir_.Write("a conversation.json",
             "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"content\":\"y\"}]");
  Pty chat(Run(Greeter()), Options());
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("/lo\t" + File("a con") + "\t\r");
  ASSERT_TRUE(chat.WaitFor("2 messages of"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlD);
  EXPECT_EQ(chat.WaitExit(), 0);
}

TEST_F(ChatOnTerminal, ResizingRedrawsTheLineAndKeepsIt) {
  Pty chat(Run(Greeter()), Options());
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  const std::string text = "the quick brown fox jumps over the lazy dog and then over the next";
  chat.Send(text);
  ASSERT_TRUE(chat.WaitFor(text));
  chat.Resize(24, 30);
  ASSERT_TRUE(chat.WaitFor("> the quick"));
  ASSERT_TRUE(chat.WaitFor("the next"));
  chat.Send(" one");
  ASSERT_TRUE(chat.WaitFor("one"));
  chat.Resize(24, 120);
  ASSERT_TRUE(chat.WaitFor("> " + text + " one"));
  chat.Send("\r");
  ASSERT_TRUE(chat.WaitFor("one two three\n"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("/save " + File("chat.json") + "\r");
  ASSERT_TRUE(chat.WaitFor("saved"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlD);
  EXPECT_EQ(chat.WaitExit(), 0);
  ASSERT_EQ(Saved("chat.json").size(), 2u);
  EXPECT_EQ(Saved("chat.json")[0], "user: " + text + " one");
}

TEST_F(ChatOnTerminal, ADumbTerminalGetsPlainLinesAndNoEscape) {
  for (const char* term : {"TERM=dumb", "TERM"}) {
    Pty chat(Run(Greeter()), Options({term}));
    ASSERT_TRUE(chat.WaitFor("\n> ")) << term;
    chat.Send("one\\\n");
    ASSERT_TRUE(chat.WaitFor(". "));
    chat.Send("two\n");
    ASSERT_TRUE(chat.WaitFor("one two three\n"));
    ASSERT_TRUE(chat.WaitFor("> "));
    chat.Send("/save! " + File("chat.json") + "\n");
    ASSERT_TRUE(chat.WaitFor("saved 2"));
    ASSERT_TRUE(chat.WaitFor("> "));
    chat.Send(kCtrlC);
    ASSERT_TRUE(chat.WaitFor("Ctrl-C again"));
    ASSERT_TRUE(chat.WaitFor("> "));
    chat.Send(kCtrlD);
    EXPECT_EQ(chat.WaitExit(), 0) << term;
    EXPECT_HAS_NOT(chat.raw(), "\x1b");
    ASSERT_EQ(Saved("chat.json").size(), 2u);
    EXPECT_EQ(Saved("chat.json")[0], "user: one\ntwo");
  }
}

TEST_F(ChatOnTerminal, ColoursAreForTerminalsThatWantThem) {
  const std::string model = Greeter();
  const std::vector<std::string> inspect{MOTLEY_LAUNCHER, "inspect", model};
  const auto on_terminal = [&](std::vector<std::string> command, std::vector<std::string> more) {
    Pty pty(command, Options(std::move(more)));
    EXPECT_EQ(pty.WaitExit(), 0);
    return pty.raw();
  };
  const auto with = [&](const char* when) {
    std::vector<std::string> command = inspect;
    command.insert(command.end(), {"--color", when});
    return command;
  };
  EXPECT_HAS(on_terminal(inspect, {}), "\x1b[1m");
  EXPECT_HAS_NOT(on_terminal(inspect, {"NO_COLOR=1"}), "\x1b");
  EXPECT_HAS(on_terminal(inspect, {"NO_COLOR="}), "\x1b[1m");  // empty is unset
  EXPECT_HAS_NOT(on_terminal(inspect, {"TERM=dumb"}), "\x1b");
  EXPECT_HAS_NOT(on_terminal(with("never"), {}), "\x1b");
  EXPECT_HAS(on_terminal(with("always"), {"NO_COLOR=1"}), "\x1b[1m");
  EXPECT_HAS_NOT(test::RunChild(inspect).out, "\x1b");
  EXPECT_HAS(test::RunChild(with("always")).out, "\x1b[1m");

  Pty chat(Run(model), Options({"NO_COLOR=1"}));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("Hello\r");
  ASSERT_TRUE(chat.WaitFor("one two three\n"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlD);
  EXPECT_EQ(chat.WaitExit(), 0);
  EXPECT_HAS_NOT(chat.raw(), "\x1b[1m");
  EXPECT_HAS_NOT(chat.raw(), "\x1b[2m");
}

TEST_F(ChatOnTerminal, TablesAreNoWiderThanTheTerminal) {
  for (const char* what : {"devices", "inspect", "check"}) {
    std::vector<std::string> command{MOTLEY_LAUNCHER, what};
    if (what == std::string("inspect")) command.push_back(Greeter());
    if (what == std::string("check")) command.push_back("--keys");
    PtyOptions options = Options();
    options.columns = 60;
    Pty pty(command, options);
    EXPECT_EQ(pty.WaitExit(), 0) << what;
    std::istringstream lines(VisibleText(pty.raw()));
    bool in_table = true;
    for (std::string line; std::getline(lines, line);) {
      // Rows of "skipped NAME: reason" and of the metadata are text, which the terminal folds.
      in_table = in_table && line != "metadata";
      if (in_table && line[0] != '/' && line.rfind("skipped", 0) != 0 && line.rfind("  ", 0) != 0 &&
          line.rfind("[plugin", 0) != 0) {
        size_t characters = 0;
        for (const char c : line) characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
        EXPECT_LE(characters, 60u) << what << ": " << line;
      }
    }
  }
}

TEST_F(ChatOnTerminal, WhatAModelSaysCannotCommandTheTerminal) {
  ScriptedModel script;
  script.says = {"\x1b]52;c;QUJD\x07",
                 "\x1b[2J",
                 "a\tb\r\n",
                 "\xC2\x9B"
                 "31m",
                 "\x7f\x08",
                 "end"};
  const std::string all =
      "\x1b]52;c;QUJD\x07\x1b[2Ja\tb\r\n\xC2\x9B"
      "31m\x7f\x08"
      "end";
  const std::string model = Model(script);
  const test::ChildResult piped = test::RunChild(Run(model, {"Hello", "-q"}));
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_EQ(piped.out, all + "\n");

  Pty answer(Run(model, {"Hello"}), Options());
  EXPECT_EQ(answer.WaitExit(), 0);
  EXPECT_HAS_NOT(answer.raw(), "\x1b]52");
  EXPECT_HAS_NOT(answer.raw(), "\x1b[2J");
  EXPECT_HAS_NOT(answer.raw(), "\x07");
  EXPECT_HAS_NOT(answer.raw(), "\xC2\x9B");
  EXPECT_HAS(answer.raw(),
             "\\x1b]52;c;QUJD\\x07\\x1b[2Ja\tb\r\n\\xc2\\x9b31m\\x7f\\x08"
             "end");
}

TEST_F(ChatOnTerminal, NamesOfFilesAndModelsCannotEither) {
  ScriptedModel script;
  script.name = "evil\x1b[2Jname";
  const std::string model = Model(script, "evil\x1b]0;title\x07.gguf");
  for (const char* command : {"inspect", "run"}) {
    std::vector<std::string> words{MOTLEY_LAUNCHER, command};
    if (command == std::string("run")) {
      words = Run(model, {"--context", "999999999"});  // an error that names the file
    } else {
      words.push_back(model);
    }
    Pty pty(words, Options());
    EXPECT_GE(pty.WaitExit(), 0);
    EXPECT_HAS_NOT(pty.raw(), "\x1b]0;");
    EXPECT_HAS_NOT(pty.raw(), "\x1b[2J");
  }
}

TEST_F(ChatOnTerminal, WithStdoutInAFileTheChatIsOnStderrAndTheFileHoldsTheAnswers) {
  const std::string out = File("answers.txt");
  std::string command;
  for (const std::string& word : Run(Greeter())) command += "'" + word + "' ";
  Pty chat({"/bin/sh", "-c", command + "> '" + out + "'"}, Options());
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(chat.WaitFor(kPrompt));
    chat.Send("Hello\r");
  }
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlD);
  EXPECT_EQ(chat.WaitExit(), 0);
  EXPECT_EQ(ReadFile(out), "one two three\none two three\n");
}

// Twice, since the first one waits for the step that is under way.
TEST_F(ChatOnTerminal, ASecondCtrlCLeavesNoHalfFileBehind) {
  ScriptedModel script;
  script.context = 20000;
  std::string tokens;
  for (int i = 0; i < 10000; ++i) tokens += "5 ";
  const std::string model = Model(script);
  const auto half = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      if (entry.path().filename().string().rfind("out.npy", 0) == 0) return true;
    }
    return false;
  };
  Pty logits({MOTLEY_LAUNCHER, "logits", "-m", model, "--device", "ref:0", "--tokens", tokens, "-o", File("out.npy")},
             Options());
  ASSERT_TRUE(logits.WaitUntil(half));
  logits.Signal(SIGINT);
  logits.Signal(SIGINT);
  EXPECT_EQ(logits.WaitExit(), 130);
  EXPECT_FALSE(half());
}

TEST_F(ChatOnTerminal, CtrlCWhileThePromptIsReadEndsTheAnswerOrTheCommand) {
  ScriptedModel script;
  script.says = {"done"};
  script.context = 100000;
  const std::string model = Model(script);
  const std::string text(60000, 'x');
  const std::string file = dir_.Write("long.txt", text);
  Pty once(Run(model, {"-f", file}), Options());
  ASSERT_TRUE(once.WaitFor("reading the prompt"));
  once.Send(kCtrlC);
  EXPECT_EQ(once.WaitExit(), 130);
  EXPECT_HAS_NOT(once.raw(), "done");

  Pty chat(Run(model), Options());
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("\x1b[200~" + text + "\x1b[201~\r");
  ASSERT_TRUE(chat.WaitFor("reading the prompt"));
  chat.Send(kCtrlC);
  ASSERT_TRUE(chat.WaitFor("(interrupted)"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("Hi\r");  // the long message was taken back
  ASSERT_TRUE(chat.WaitFor("done\n"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlD);
  EXPECT_EQ(chat.WaitExit(), 0);
}

TEST_F(ChatOnTerminal, AContextThatIsFullIsToldAndTheChatGoesOn) {
  Pty chat(Run(Greeter(), {"--context", "64"}), Options());
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("Hi\r");
  ASSERT_TRUE(chat.WaitFor("one"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("a message that does not fit into what is left of this small context\r");
  ASSERT_TRUE(chat.WaitFor("/reset begins anew"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("/reset\r");
  ASSERT_TRUE(chat.WaitFor("begins anew"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send("Hi\r");
  ASSERT_TRUE(chat.WaitFor("one"));
  ASSERT_TRUE(chat.WaitFor(kPrompt));
  chat.Send(kCtrlD);
  EXPECT_EQ(chat.WaitExit(), 0);
}

}  // namespace
}  // namespace motley
