// motley: the launcher. Every command is one file, cmd_NAME.cc.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/base/suggest.h"
#include "core/model/printable.h"
#include "tools/motley/exit_code.h"
#include "tools/motley/launcher.h"
#include "tools/motley/terminal_text.h"

namespace motley {
namespace {

constexpr const char* kLaterCommands[] = {"worker", "certs", "serve"};

constexpr const char* kExamples =
    "Examples:\n"
    "  motley run -m model.gguf \"Why is the sky blue?\"   one answer\n"
    "  motley run -m model.gguf                           a chat\n"
    "  motley plan -m model.gguf                          what would go where, and does it fit\n"
    "  motley devices                                     what this machine offers, and what was skipped\n"
    "  motley run -c motley.toml                          all of it from a file\n"
    "motley COMMAND --help explains a command.\n"
    "Exit codes: 0 done, 1 failed at run time, 2 wrong usage, configuration or file, 3 does not fit, 130 "
    "interrupted.";

void AddCommands(CLI::App& app, Launcher& launcher) {
  AddRun(app, launcher);
  AddPlan(app, launcher);
  AddDevices(app, launcher);
  AddPlugins(app, launcher);
  AddProbe(app, launcher);
  AddBench(app, launcher);
  AddInspect(app, launcher);
  AddCheck(app, launcher);
  AddTokenize(app, launcher);
  AddRender(app, launcher);
  AddLogits(app, launcher);
  AddPerplexity(app, launcher);
  AddNewPlugin(app, launcher);
  AddCompletion(app, launcher);
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// What was typed that nobody knows: a command, or a flag of the command.
Status UnknownWord(const CLI::App& app, const std::vector<std::string>& args) {
  const auto parsed = app.get_subcommands();
  if (parsed.empty()) {
    const std::vector<std::string> names = CommandNames(app);
    const std::string word = args.empty() ? "" : args[0];
    std::string suggestion = DidYouMean(word, names);
    if (suggestion.empty()) suggestion = "; the commands are " + ListNames(names, 20);
    return InvalidArgumentError("no command \"" + Printable(word, 60) + "\"" + suggestion);
  }
  std::vector<std::string> flags;
  for (const CLI::Option* option : parsed[0]->get_options([](const CLI::Option*) { return true; })) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  const std::vector<std::string> extras = parsed[0]->remaining();
  const std::string word = extras.empty() ? "" : extras[0].substr(0, extras[0].find('='));
  std::string suggestion = word.rfind('-', 0) == 0 ? DidYouMean(word, flags) : "";
  if (suggestion.empty()) suggestion = "; motley " + parsed[0]->get_name() + " --help lists what it takes";
  return InvalidArgumentError("motley " + parsed[0]->get_name() + ": unexpected \"" + Printable(word, 60) +
                              "\"" + suggestion);
}

Status ParseError(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& args) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return UnknownWord(app, args);
  if (args.empty())
    return InvalidArgumentError("which command? The commands are " + ListNames(CommandNames(app), 20) +
                                "; motley --help explains them");
  const auto parsed = app.get_subcommands();
  if (parsed.empty()) return UnknownWord(app, args);
  return InvalidArgumentError("motley " + parsed[0]->get_name() + ": " + error.what() + "; motley " +
                              parsed[0]->get_name() + " --help explains it");
}

// Sets launcher.command. Help and version are printed here and leave it empty.
Status ParseCommandLine(const std::vector<std::string>& args, Launcher& launcher) {
  CLI::App app{"motley runs large language models on whatever mix of hardware there is.", "motley"};
  app.set_version_flag("--version", std::string("motley " MOTLEY_VERSION));
  app.footer(kExamples);
  app.require_subcommand(1);
  AddCommands(app, launcher);
  if (!args.empty()) {
    for (const char* later : kLaterCommands) {
      if (args[0] == later)
        return UnimplementedError("motley " + args[0] +
                                  " comes with a later version; the commands of this one are " +
                                  ListNames(CommandNames(app), 20));
    }
  }
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 takes them from the back
  } catch (const CLI::CallForHelp&) {
    const auto parsed = app.get_subcommands();
    launcher.out.Print(parsed.empty() ? app.help() : parsed[0]->help("motley"));
  } catch (const CLI::CallForAllHelp&) {
    launcher.out.Print(app.help("", CLI::AppFormatMode::All));
  } catch (const CLI::CallForVersion& version) {
    launcher.out.Print(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    return ParseError(app, error, args);
  }
  return OkStatus();
}

Status Run(const std::vector<std::string>& args, Launcher& launcher) {
  MOTLEY_RETURN_IF_ERROR(ParseCommandLine(args, launcher));
  if (!launcher.command) return OkStatus();
  launcher.out.json = launcher.flags.json;
  launcher.out.quiet = launcher.flags.quiet;
  const std::string& colour = launcher.flags.colour;
  if (colour == "never") setenv("NO_COLOR", "1", 1);  // the log's too, and what children say
  launcher.out.SetColour(colour == "always" ? ColourChoice::kAlways
                         : colour == "never" ? ColourChoice::kNever
                                             : ColourChoice::kAuto);
  return launcher.command(launcher);
}

int Main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + (argc > 0 ? argc : 1));
  UseUtf8Locale();
  Interrupt interrupt;  // before any other thread
  Output out;
  // A command line that cannot be parsed answers in JSON too, where it asks for that.
  for (const std::string& arg : args) out.json = out.json || arg == "--json";
  Launcher launcher(out, interrupt);
  Status status;
  try {
    status = Run(args, launcher);
  } catch (const std::bad_alloc&) {
    status = ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    status = InternalError(std::string("unexpected: ") + error.what());
  }
  if (!status.ok()) out.Error(status);
  if (const Status written = out.Finish(); !written.ok() && status.ok()) {
    status = written;
    out.Error(status);
  }
  return ExitCodeOf(status.code());
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) {
  return motley::Main(argc, argv);
}
