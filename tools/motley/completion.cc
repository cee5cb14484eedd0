#include "tools/motley/completion.h"

#include <algorithm>
#include <map>

namespace motley {
namespace {

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == at) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

CompletionFlag Describe(const CLI::Option& option) {
  CompletionFlag flag;
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  flag.doc = FirstLine(option.get_description());
  if (option.get_items_expected_max() == 0) return flag;
  flag.value = option.get_type_name();
  const std::string& type = flag.value;
  if (type.find('|') != std::string::npos) {
    flag.completes = Completes::kWords;
    flag.words = Split(type, '|');
  } else if (type == "MODEL") {
    flag.completes = Completes::kModel;
  } else if (type == "FILE" || type == "CONFIG" || type.rfind("OUT", 0) == 0) {
    flag.completes = Completes::kFile;
  } else if (type == "DIR") {
    flag.completes = Completes::kFolder;
  } else {
    flag.completes = Completes::kAnything;
  }
  return flag;
}

CompletionCommand DescribeCommand(const CLI::App& app, const std::string& name) {
  CompletionCommand command;
  command.name = name;
  command.doc = FirstLine(app.get_description());
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    CompletionFlag flag = Describe(*option);
    (flag.names.empty() ? command.arguments : command.flags).push_back(std::move(flag));
  }
  return command;
}

std::string Join(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// In single quotes; `quote` is what stands for one inside them.
std::string Quoted(const std::string& text, const std::string& quote, const std::string& escaped = "") {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += quote;
    } else {
      if (escaped.find(c) != std::string::npos) out += '\\';
      out += c;
    }
  }
  return out + "'";
}

const CompletionCommand* FindRoot(const std::vector<CompletionCommand>& commands) {
  const auto root = std::find_if(commands.begin(), commands.end(),
                                 [](const CompletionCommand& command) { return command.name.empty(); });
  return root == commands.end() ? nullptr : &*root;
}

std::vector<std::string> FlagNames(const CompletionCommand& command) {
  std::vector<std::string> names;
  for (const CompletionFlag& flag : command.flags)
    names.insert(names.end(), flag.names.begin(), flag.names.end());
  return names;
}

std::string BashAction(const CompletionFlag& flag) {
  switch (flag.completes) {
    case Completes::kNothing:
    case Completes::kAnything: return ":";
    case Completes::kFile: return "_motley_files";
    case Completes::kModel: return "_motley_models";
    case Completes::kFolder: return "_motley_folders";
    case Completes::kWords: return "_motley_words " + Quoted(Join(flag.words, " "), "'\\''");
  }
  return ":";
}

constexpr char kBashHelpers[] =
    "# bash completion for motley, made by: motley completion bash\n"
    "_motley_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
    "_motley_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); "
    "}\n"
    "_motley_folders() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); "
    "}\n"
    "_motley_models() {\n"
    "  compopt -o filenames 2>/dev/null\n"
    "  mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"; compgen -f -X '!*.gguf' -- \"$cur\")\n"
    "}\n"
    "_motley() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev= command= i\n"
    "  ((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD-1]}\n"
    "  # --flag=value comes as three words\n"
    "  if [[ $cur == = ]]; then cur=\n"
    "  elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "  [[ $cur == '~/'* ]] && cur=$HOME/${cur:2}\n"
    "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "    if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; break; fi\n"
    "  done\n"
    "  COMPREPLY=()\n"
    "  case $command in\n";

std::string BashCase(const CompletionCommand& command) {
  std::map<std::string, std::vector<std::string>> names_of;  // by what completes their value
  for (const CompletionFlag& flag : command.flags) {
    std::vector<std::string>& names = names_of[BashAction(flag)];
    if (flag.completes != Completes::kNothing)
      names.insert(names.end(), flag.names.begin(), flag.names.end());
  }
  std::string text = "    " + command.name + ")\n      case $prev in\n";
  for (const auto& [action, names] : names_of) {
    if (!names.empty()) text += "        " + Join(names, "|") + ") " + action + "; return ;;\n";
  }
  text += "      esac\n      if [[ $cur == -* ]]; then _motley_words " +
          Quoted(Join(FlagNames(command), " "), "'\\''") + "\n";
  const std::string argument = command.arguments.empty() ? ":" : BashAction(command.arguments[0]);
  return text + "      else " + argument + "; fi ;;\n";
}

std::string ZshAction(const CompletionFlag& flag) {
  switch (flag.completes) {
    case Completes::kNothing: return "";
    case Completes::kAnything: return " ";
    case Completes::kFile: return "_files";
    case Completes::kModel: return "_files -g \"*.gguf(-.)\"";
    case Completes::kFolder: return "_files -/";
    case Completes::kWords: return "(" + Join(flag.words, " ") + ")";
  }
  return "";
}

std::string ZshSpec(const CompletionFlag& flag) {
  const std::string names = flag.names.size() == 1 ? flag.names[0] : "'{" + Join(flag.names, ",") + "}'";
  std::string spec = "'*" + names + "[";
  const std::string doc = Quoted(flag.doc, "'\\''", "[]\\");
  spec += doc.substr(1, doc.size() - 2) + "]";
  if (flag.completes != Completes::kNothing) {
    // A colon would end the message.
    std::string value = flag.completes == Completes::kWords ? "value" : flag.value;
    std::replace(value.begin(), value.end(), ':', ' ');
    spec += ":" + value + ":" + ZshAction(flag);
  }
  return spec + "'";
}

std::string ZshCase(const CompletionCommand& command) {
  std::string text = "        " + command.name + ") _arguments -s";
  for (const CompletionFlag& flag : command.flags) text += " \\\n          " + ZshSpec(flag);
  for (const CompletionFlag& argument : command.arguments)
    text += " \\\n          '*:argument:" + ZshAction(argument) + "'";
  return text + " ;;\n";
}

std::string FishFlag(const CompletionFlag& flag, const std::string& condition) {
  std::string text = "complete -c motley -n " + condition;
  for (const std::string& name : flag.names)
    text += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
  switch (flag.completes) {
    case Completes::kNothing: break;
    case Completes::kAnything: text += " -x"; break;
    case Completes::kFile:
    case Completes::kModel: text += " -r -F"; break;
    case Completes::kFolder: text += " -x -a '(__fish_complete_directories)'"; break;
    case Completes::kWords: text += " -x -a " + Quoted(Join(flag.words, " "), "\\'"); break;
  }
  return text + " -d " + Quoted(flag.doc, "\\'", "\\") + "\n";
}

}  // namespace

std::vector<CompletionCommand> DescribeForCompletion(const CLI::App& app) {
  std::vector<CompletionCommand> commands{DescribeCommand(app, "")};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(DescribeCommand(*command, command->get_name()));
  return commands;
}

std::string BashCompletion(const std::vector<CompletionCommand>& commands) {
  std::string text = kBashHelpers, words;
  for (const CompletionCommand& command : commands) {
    if (command.name.empty()) continue;
    text += BashCase(command);
    words += command.name + " ";
  }
  if (const CompletionCommand* root = FindRoot(commands)) words += Join(FlagNames(*root), " ");
  text += "    '') _motley_words " + Quoted(words, "'\\''") + " ;;\n";
  return text + "  esac\n}\ncomplete -F _motley motley\n";
}

std::string ZshCompletion(const std::vector<CompletionCommand>& commands) {
  std::string names, cases, flags;
  for (const CompletionCommand& command : commands) {
    if (command.name.empty()) {
      for (const CompletionFlag& flag : command.flags) flags += " " + ZshSpec(flag);
      continue;
    }
    names += "        " + Quoted(command.name + ":" + command.doc, "'\\''") + "\n";
    cases += ZshCase(command);
  }
  return "#compdef motley\n# zsh completion for motley, made by: motley completion zsh\n"
         "_motley() {\n  local curcontext=$curcontext state line\n  typeset -A opt_args\n"
         "  _arguments -C" +
         flags +
         " '1: :->command' '*:: :->arguments'\n  case $state in\n    command)\n      local -a commands=(\n" +
         names +
         "      )\n      _describe -t commands 'motley command' commands ;;\n    arguments)\n"
         "      case $line[1] in\n" +
         cases +
         "      esac ;;\n  esac\n}\n"
         "if [[ $funcstack[1] == _motley ]]; then _motley \"$@\"; else compdef _motley motley; fi\n";
}

std::string FishCompletion(const std::vector<CompletionCommand>& commands) {
  std::string text = "# fish completion for motley, made by: motley completion fish\ncomplete -c motley -f\n";
  for (const CompletionCommand& command : commands) {
    const std::string condition =
        command.name.empty() ? "__fish_use_subcommand" : "'__fish_seen_subcommand_from " + command.name + "'";
    if (!command.name.empty())
      text += "complete -c motley -n __fish_use_subcommand -a " + command.name + " -d " +
              Quoted(command.doc, "\\'", "\\") + "\n";
    for (const CompletionFlag& flag : command.flags) text += FishFlag(flag, condition);
    for (const CompletionFlag& argument : command.arguments) {
      const bool path = argument.completes == Completes::kFile || argument.completes == Completes::kModel;
      if (path) text += "complete -c motley -n " + condition + " -F\n";
      if (argument.completes == Completes::kWords)
        text +=
            "complete -c motley -n " + condition + " -a " + Quoted(Join(argument.words, " "), "\\'") + "\n";
    }
  }
  return text;
}

}  // namespace motley
