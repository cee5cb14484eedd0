// motley completion: what a shell needs to complete commands, flags, their values and files.
#include <memory>

#include "tools/motley/completion.h"
#include "tools/motley/launcher.h"

namespace motley {

void AddCompletion(CLI::App& app, Launcher& launcher) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "a script by which a shell completes what is typed");
  command->footer(
      "Examples:\n"
      "  source <(motley completion bash)                                    in ~/.bashrc\n"
      "  motley completion zsh > ~/.zfunc/_motley                            a folder of fpath\n"
      "  motley completion fish > ~/.config/fish/completions/motley.fish");
  command->add_option("SHELL", *shell, "whose script")
      ->type_name("bash|zsh|fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
      ->required();
  // The commands are gone once the command line is parsed: the script is made here.
  command->callback([&app, &launcher, shell] {
    const auto commands = DescribeForCompletion(app);
    const std::string script = *shell == "bash"  ? BashCompletion(commands)
                               : *shell == "zsh" ? ZshCompletion(commands)
                                                 : FishCompletion(commands);
    launcher.command = [script](Launcher& l) {
      l.out.Print(script);
      return OkStatus();
    };
  });
}

}  // namespace motley
