#include "tools/motley/launcher.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>

#include "core/base/units.h"
#include "core/model/printable.h"

namespace motley {
namespace {

void AddCommonFlags(CLI::App& command, CommonFlags& flags) {
  const char* group = "Common";
  command.add_option("-c,--config", flags.config_file, "TOML file; flags win over it")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--device", flags.devices, "use only this device (repeatable); motley devices prints names")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--pin", flags.pins,
                  "put a part of the model on a device (repeatable), e.g. \"layers.*.experts=cpu_avx512:0\"")
      ->type_name("SELECTOR=DEVICE")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--context", flags.context, "tokens a sequence; default: the model's limit, or what fits")
      ->type_name("N")
      ->group(group);
  command.add_option("--sequences", flags.sequences, "sequences at once; default 1")
      ->type_name("N")
      ->group(group);
  command.add_option("--page-tokens", flags.page_tokens, "tokens a page of the cache; default 64")
      ->type_name("N")
      ->group(group);
  command.add_option("--kv", flags.kv, "how keys and values are kept; default f16")
      ->type_name("f32|f16|q8|q4")
      ->group(group);
  command
      .add_option("--set", flags.settings,
                  "any key of the TOML file (repeatable), e.g. plugin.cpu_avx512.threads=8")
      ->type_name("TABLE.KEY=VALUE")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--plugin-path", flags.plugin_paths, "a folder with plugins, searched first (repeatable)")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->group(group);
  command.add_flag("--json", flags.json, "results as JSON on stdout, errors too")->group(group);
  command
      .add_option("--color", flags.colour,
                  "when to colour; auto (default): on a terminal, unless NO_COLOR is set")
      ->type_name("auto|always|never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->group(group);
  command.add_flag("-v,--verbose", flags.verbose, "say more; -vv says everything")->group(group);
  command.add_flag("-q,--quiet", flags.quiet, "results and errors only")->group(group);
}

Status AddPin(const std::string& text, Config& config) {
  const std::string position = "--pin " + Printable(text, 80);
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return InvalidArgumentError(position +
                                ": write SELECTOR=DEVICE, e.g. --pin \"layers.*.experts=cpu_avx512:0\"");
  }
  ConfigPin pin;
  pin.what = text.substr(0, equals);
  pin.on = text.substr(equals + 1);
  pin.what_position = pin.on_position = position;
  pin.from_flag = true;
  config.placement.pins.push_back(std::move(pin));
  return OkStatus();
}

Status ApplyFlags(const CommonFlags& flags, Config& config) {
  for (const std::string& setting : flags.settings) MOTLEY_RETURN_IF_ERROR(ApplySetting(config, setting));
  const struct {
    const char* key;
    const char* flag;
    const std::string& value;
  } rows[] = {{"model.path", "--model", flags.model},
              {"model.context", "--context", flags.context},
              {"model.sequences", "--sequences", flags.sequences},
              {"kv.page_tokens", "--page-tokens", flags.page_tokens},
              {"kv.dtype", "--kv", flags.kv}};
  for (const auto& row : rows) {
    if (!row.value.empty()) MOTLEY_RETURN_IF_ERROR(SetConfigValue(config, row.key, row.value, row.flag));
  }
  if (!flags.devices.empty()) {
    config.placement.devices = flags.devices;
    config.positions["placement.devices"] = "--device";
  }
  for (const std::string& pin : flags.pins) MOTLEY_RETURN_IF_ERROR(AddPin(pin, config));
  config.plugins.path.insert(config.plugins.path.begin(), flags.plugin_paths.begin(),
                             flags.plugin_paths.end());
  return OkStatus();
}

}  // namespace

CLI::App* AddCommand(CLI::App& app, Launcher& launcher, const std::string& name, const std::string& what,
                     const std::string& examples, std::function<Status(Launcher&)> run) {
  CLI::App* command = app.add_subcommand(name, what);
  command->footer("Examples:\n" + examples);
  AddCommonFlags(*command, launcher.flags);
  command->callback([&launcher, run = std::move(run)] { launcher.command = run; });
  return command;
}

void AddModelFlag(CLI::App& command, Launcher& launcher) {
  command.add_option("-m,--model", launcher.flags.model, "a .gguf file (any shard of a split one)")
      ->type_name("MODEL");
}

void AddKeyFlag(CLI::App& command, KeyFlag& flag, const std::string& spelling, const std::string& key,
                const std::string& what) {
  flag.key = key;
  flag.flag = spelling.substr(spelling.rfind(',') + 1);
  const auto take = [&flag](const std::string& text) {
    flag.value = text;
    flag.given = true;
  };
  command.add_option_function<std::string>(spelling, take, what)->type_name("X");
}

CLI::Option* AddTextFlag(CLI::App& command, GivenText& flag, const std::string& spelling,
                         const std::string& type, const std::string& what) {
  const auto take = [&flag](const std::string& text) {
    flag.text = text;
    flag.given = true;
  };
  return command.add_option_function<std::string>(spelling, take, what)->type_name(type);
}

StatusOr<Config> MakeConfig(const CommonFlags& flags, const std::vector<const KeyFlag*>& more) {
  Config config;
  if (!flags.config_file.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(config, LoadConfig(flags.config_file));
  }
  MOTLEY_RETURN_IF_ERROR(ApplyFlags(flags, config));
  for (const KeyFlag* flag : more) {
    if (flag->given) MOTLEY_RETURN_IF_ERROR(SetConfigValue(config, flag->key, flag->value, flag->flag));
  }
  return config;
}

LogLevel LogLevelOf(const CommonFlags& flags, const Config& config) {
  if (flags.quiet) return LogLevel::kError;
  if (flags.verbose > 0) return flags.verbose > 1 ? LogLevel::kDebug : LogLevel::kInfo;
  return config.log.level;
}

StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t most_bytes) {
  const std::string name = path == "-" ? "standard input" : Printable(path, 200);
  const int fd = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string text;
  char buffer[65536];
  ssize_t count = fd < 0 ? -1 : 1;
  while (count > 0 && text.size() <= most_bytes) {
    do {
      count = read(fd, buffer, sizeof(buffer));
    } while (count < 0 && errno == EINTR);
    if (count > 0) text.append(buffer, static_cast<size_t>(count));
  }
  const int read_errno = errno;
  if (fd >= 0) close(fd);
  if (count < 0) return NotFoundError(name + ": cannot be read: " + std::strerror(read_errno));
  if (text.size() > most_bytes)
    return InvalidArgumentError(name + ": larger than " + FormatSize(most_bytes) + ": give a shorter one");
  return text;
}

}  // namespace motley
