// MakeEditedReader (line_reader.h): a LineReader by libedit.
#include <histedit.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "core/text/utf8.h"
#include "tools/motley/line_reader.h"
#include "tools/motley/message_text.h"
#include "tools/motley/terminal_input.h"
#include "tools/motley/terminal_text.h"

namespace motley {
namespace {

constexpr std::string_view kPasteOn = "\x1b[?2004h", kPasteOff = "\x1b[?2004l";
constexpr std::wstring_view kPasteEnd = L"\x1b[201~";
constexpr size_t kMostPasted = 16u << 20;  // characters
constexpr wchar_t kCtrlC = 3;

// Keys that nobody types, for the library's own commands: a command of ours ends in one of them.
constexpr const char kNewlineKey[] = "\x1en", kLineUpKey[] = "\x1eu",
                     kLineDownKey[] =
                         "\x1e"
                         "d",
                     kOlderKey[] = "\x1ep", kNewerKey[] = "\x1eq", kDeleteKey[] = "\x1ex";

class EditedReader final : public LineReader {
 public:
  EditedReader(Interrupt& interrupt, std::FILE* terminal, bool coloured, Completer completer)
      : interrupt_(interrupt),
        input_(STDIN_FILENO, interrupt),
        terminal_(terminal),
        completer_(std::move(completer)),
        // \1 stands around what takes no column.
        prompt_(coloured ? L"\1\x1b[1m\1>\1\x1b[0m\1 " : L"> ") {}

  ~EditedReader() override {
    if (editor_ != nullptr) el_end(editor_);
    if (history_ != nullptr) history_wend(history_);
    if (nowhere_ != nullptr) std::fclose(nowhere_);
  }

  bool Open();
  TypedMessage Read(const std::vector<std::string>& history) override;

 private:
  static EditedReader& Of(EditLine* editor) {
    void* self = nullptr;
    el_wget(editor, EL_CLIENTDATA, &self);
    return *static_cast<EditedReader*>(self);
  }
  static wchar_t* Prompt(EditLine* editor) { return Of(editor).prompt_.data(); }
  static int GetCharacter(EditLine* editor, wchar_t* character);

  // Commands of keys: the library calls them with the key, and acts on what they return.
  static unsigned char OnEnter(EditLine* editor, int key);
  static unsigned char OnNewline(EditLine* editor, int key);
  static unsigned char OnPaste(EditLine* editor, int key);
  static unsigned char OnInterrupt(EditLine* editor, int key);
  static unsigned char OnEnd(EditLine* editor, int key);
  static unsigned char OnSuspend(EditLine* editor, int key);
  static unsigned char OnTab(EditLine* editor, int key);
  static unsigned char OnUp(EditLine* editor, int key);
  static unsigned char OnDown(EditLine* editor, int key);

  void BindKeys();
  void SetHistory(const std::vector<std::string>& entries);
  bool NextCharacter(wchar_t* character);
  void Redraw();
  void Send(std::string_view text) const {
    std::fwrite(text.data(), 1, text.size(), terminal_);
    std::fflush(terminal_);
  }
  std::string Line(bool to_cursor = false) const {
    const LineInfoW* line = el_wline(editor_);
    const wchar_t* end = to_cursor ? line->cursor : line->lastchar;
    return FromWide({line->buffer, static_cast<size_t>(end - line->buffer)});
  }

  Interrupt& interrupt_;
  TerminalInput input_;
  std::FILE* terminal_;
  Completer completer_;
  std::wstring prompt_;
  EditLine* editor_ = nullptr;
  HistoryW* history_ = nullptr;
  std::FILE* nowhere_ = nullptr;  // for what the library has to say of TERM
  size_t columns_ = 80;
  bool interrupted_ = false;
};

bool EditedReader::Open() {
  nowhere_ = std::fopen("/dev/null", "w");
  if (nowhere_ == nullptr) return false;
  editor_ =
      el_init_fd("motley", stdin, terminal_, nowhere_, STDIN_FILENO, fileno(terminal_), fileno(nowhere_));
  history_ = history_winit();
  if (editor_ == nullptr || history_ == nullptr) return false;
  el_wset(editor_, EL_CLIENTDATA, this);
  el_wset(editor_, EL_PROMPT_ESC, &Prompt, L'\1');
  el_wset(editor_, EL_HIST, history_w, history_);
  el_wset(editor_, EL_EDITOR, L"emacs");
  el_source(editor_, nullptr);  // ~/.editrc: what its owner is used to
  el_wset(editor_, EL_GETCFN, &GetCharacter);
  // Ctrl-C and Ctrl-Z come as keys: a signal would leave the terminal as the editor has it.
  el_set(editor_, EL_SETTY, "-d", "-isig", nullptr);
  // So that the two characters at the end of a pasted line can be told from two lines.
  el_set(editor_, EL_SETTY, "-d", "-icrnl", nullptr);
  BindKeys();
  return true;
}

void EditedReader::BindKeys() {
  const struct {
    const wchar_t* name;
    unsigned char (*command)(EditLine*, int);
  } commands[] = {{L"motley-enter", &OnEnter},     {L"motley-newline", &OnNewline},
                  {L"motley-paste", &OnPaste},     {L"motley-interrupt", &OnInterrupt},
                  {L"motley-suspend", &OnSuspend}, {L"motley-tab", &OnTab},
                  {L"motley-up", &OnUp},           {L"motley-down", &OnDown},
                  {L"motley-end", &OnEnd}};
  for (const auto& row : commands) el_wset(editor_, EL_ADDFN, row.name, L"of motley", row.command);
  const struct {
    const char* key;
    const char* command;
  } keys[] = {{kNewlineKey, "ed-newline"},
              {kLineUpKey, "ed-prev-line"},
              {kLineDownKey, "ed-next-line"},
              {kOlderKey, "ed-prev-history"},
              {kNewerKey, "ed-next-history"},
              {"\r", "motley-enter"},
              {kDeleteKey, "ed-delete-next-char"},
              {"\x04", "motley-end"},
              {"\n", "motley-enter"},
              {"\x1b\r", "motley-newline"},
              {"\x1b\n", "motley-newline"},
              {"\x1b[200~", "motley-paste"},
              {"\x03", "motley-interrupt"},
              {"\x1a", "motley-suspend"},
              {"\t", "motley-tab"},
              {"\x1b[A", "motley-up"},
              {"\x1b[B", "motley-down"},
              {"\x1bOA", "motley-up"},
              {"\x1bOB", "motley-down"},
              {"\x12", "em-inc-search-prev"},
              {"\x17", "ed-delete-prev-word"},
              {"\x1b[3~", "ed-delete-next-char"},
              {"\x1b[H", "ed-move-to-beg"},
              {"\x1b[1~", "ed-move-to-beg"},
              {"\x1bOH", "ed-move-to-beg"},
              {"\x1b[F", "ed-move-to-end"},
              {"\x1b[4~", "ed-move-to-end"},
              {"\x1bOF", "ed-move-to-end"},
              {"\x1b[1;5C", "em-next-word"},
              {"\x1b[1;5D", "ed-prev-word"}};
  for (const auto& row : keys) el_set(editor_, EL_BIND, row.key, row.command, nullptr);
}

TypedMessage EditedReader::Read(const std::vector<std::string>& history) {
  SetHistory(history);
  interrupted_ = false;
  termios before{};
  const bool known = tcgetattr(STDIN_FILENO, &before) == 0;
  const int fd = fileno(terminal_);
  const Interrupt::Undo restore(interrupt_, [=] {
    if (known) tcsetattr(STDIN_FILENO, TCSANOW, &before);
    if (write(fd, kPasteOff.data(), kPasteOff.size()) < 0) return;
  });
  const TerminalInput::Listening listening(input_);
  columns_ = TerminalColumns(fd);
  el_resize(editor_);  // it may have changed during the answer
  Send(kPasteOn);
  // The library would print the prompt first: keys that follow it at once would meet a terminal that echoes, takes
  // Ctrl-C for a signal and swallows Ctrl-D.
  el_set(editor_, EL_PREP_TERM, 1);
  int count = 0;
  const wchar_t* line = el_wgets(editor_, &count);
  std::string text;
  if (line != nullptr && count > 0) text = FromWide({line, static_cast<size_t>(count)});
  Send(kPasteOff);
  if (text.empty()) return {TypedMessage::kEnd, ""};
  if (text.back() == '\n') text.pop_back();
  if (interrupted_) return {TypedMessage::kInterrupt, text};
  return {TypedMessage::kMessage, MessageOf(text)};
}

void EditedReader::SetHistory(const std::vector<std::string>& entries) {
  HistEventW event;
  history_w(history_, &event, H_CLEAR);
  history_w(history_, &event, H_SETSIZE, static_cast<int>(entries.size() + 1));
  for (const std::string& entry : entries) history_w(history_, &event, H_ENTER, ToWide(entry).c_str());
}

int EditedReader::GetCharacter(EditLine* editor, wchar_t* character) {
  EditedReader& self = Of(editor);
  while (!self.NextCharacter(character)) {
    switch (self.input_.Wait()) {
      case TerminalInput::Event::kBytes: break;
      case TerminalInput::Event::kResize: self.Redraw(); break;
      case TerminalInput::Event::kInterrupt: *character = kCtrlC; return 1;
      case TerminalInput::Event::kEnd: return 0;
    }
  }
  return 1;
}

bool EditedReader::NextCharacter(wchar_t* character) {
  std::string& bytes = input_.bytes;
  if (bytes.empty()) return false;
  const Utf8Step step = NextUtf8(bytes);
  if (step.kind == Utf8Step::kIncomplete) return false;
  *character = ToWide(std::string_view(bytes).substr(0, step.size))[0];
  bytes.erase(0, step.size);
  return true;
}

// Rows above the cursor of a text that begins at the left.
size_t RowsAbove(std::wstring_view text, size_t columns) {
  size_t rows = 0, column = 0;
  for (const wchar_t c : text) {
    column += DisplayWidth(FromWide({&c, 1}));
    if (c != L'\n' && column <= columns) continue;
    ++rows;
    column = c == L'\n' ? 0 : DisplayWidth(FromWide({&c, 1}));
  }
  return rows;
}

// Some terminals fold their lines anew and some cut them off: no more rows are taken back than either leaves,
// since what stands above is an answer.
void EditedReader::Redraw() {
  const LineInfoW* line = el_wline(editor_);
  const std::wstring text = L"> " + std::wstring(line->buffer, line->cursor);
  const size_t columns = TerminalColumns(fileno(terminal_));
  const size_t up = std::min(RowsAbove(text, columns_), RowsAbove(text, columns));
  columns_ = columns;
  Send((up > 0 ? "\x1b[" + std::to_string(up) + "A" : std::string()) + "\r\x1b[J");
  el_resize(editor_);
  el_wset(editor_, EL_REFRESH);
}

unsigned char EditedReader::OnEnter(EditLine* editor, int) {
  const std::string text = Of(editor).Line();
  const LineInfoW* line = el_wline(editor);
  el_cursor(editor, static_cast<int>(line->lastchar - line->cursor));
  if (!MessageGoesOn(text)) {
    el_push(editor, kNewlineKey);
    return CC_NORM;
  }
  if (ContinuedMessage(text).size() == text.size()) el_wdeletestr(editor, 1);  // the backslash
  el_winsertstr(editor, L"\n");
  return CC_REFRESH;
}

unsigned char EditedReader::OnNewline(EditLine* editor, int) {
  el_winsertstr(editor, L"\n");
  return CC_REFRESH;
}

unsigned char EditedReader::OnPaste(EditLine* editor, int) {
  std::wstring text;
  bool too_long = false;
  wchar_t character = 0;
  const auto ended = [&] {
    return text.size() >= kPasteEnd.size() &&
           std::wstring_view(text).substr(text.size() - kPasteEnd.size()) == kPasteEnd;
  };
  while (!ended()) {
    if (el_wgetc(editor, &character) != 1) return CC_EOF;
    text += character;
    if (text.size() < kMostPasted) continue;
    too_long = true;  // no prompt is so long: only the end of it is waited for
    text.erase(0, text.size() - kPasteEnd.size());
  }
  if (too_long) return CC_REFRESH_BEEP;
  text.erase(text.size() - kPasteEnd.size());
  std::wstring clean;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == L'\r' && i + 1 < text.size() && text[i + 1] == L'\n') continue;
    const wchar_t c = text[i] == L'\r' ? L'\n' : text[i];
    if ((c >= L' ' && c != 0x7f) || c == L'\n' || c == L'\t') clean += c;
  }
  // A line that was copied whole is not to leave an empty one behind it.
  if (!clean.empty() && clean.back() == L'\n') clean.pop_back();
  if (!clean.empty() && el_winsertstr(editor, clean.c_str()) != 0) return CC_ERROR;
  return CC_REFRESH;
}

unsigned char EditedReader::OnInterrupt(EditLine* editor, int) {
  Of(editor).interrupted_ = true;
  const LineInfoW* line = el_wline(editor);
  el_cursor(editor, static_cast<int>(line->lastchar - line->cursor));
  el_push(editor, kNewlineKey);
  return CC_NORM;
}

// Of the library's own command the screen would keep "^D".
unsigned char EditedReader::OnEnd(EditLine* editor, int) {
  if (Of(editor).Line().empty()) return CC_EOF;
  el_push(editor, kDeleteKey);
  return CC_NORM;
}

unsigned char EditedReader::OnSuspend(EditLine* editor, int) {
  const EditedReader& self = Of(editor);
  self.Send(std::string(kPasteOff) + "\n");
  el_set(editor, EL_PREP_TERM, 0);
  kill(0, SIGTSTP);  // every process of the pipeline, as the terminal would; continues here
  el_set(editor, EL_PREP_TERM, 1);
  self.Send(kPasteOn);
  return CC_REDISPLAY;
}

unsigned char EditedReader::OnTab(EditLine* editor, int) {
  const EditedReader& self = Of(editor);
  const std::string before = self.Line(true);
  const std::string after = self.completer_ ? self.completer_(before) : before;
  if (after.size() <= before.size()) return before.empty() || before[0] != '/' ? CC_NORM : CC_REFRESH_BEEP;
  el_winsertstr(editor, ToWide(std::string_view(after).substr(before.size())).c_str());
  return CC_REFRESH;
}

unsigned char EditedReader::OnUp(EditLine* editor, int) {
  const bool inside = Of(editor).Line(true).find('\n') != std::string::npos;
  el_push(editor, inside ? kLineUpKey : kOlderKey);
  return CC_NORM;
}

unsigned char EditedReader::OnDown(EditLine* editor, int) {
  const LineInfoW* line = el_wline(editor);
  const bool inside = std::find(line->cursor, line->lastchar, L'\n') != line->lastchar;
  el_push(editor, inside ? kLineDownKey : kNewerKey);
  return CC_NORM;
}

}  // namespace

std::unique_ptr<LineReader> MakeEditedReader(Interrupt& interrupt, std::FILE* terminal, bool coloured,
                                             Completer completer) {
  auto reader = std::make_unique<EditedReader>(interrupt, terminal, coloured, std::move(completer));
  if (!reader->Open()) return nullptr;
  return reader;
}

}  // namespace motley
