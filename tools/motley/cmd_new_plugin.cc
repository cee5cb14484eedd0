// motley new-plugin: a plugin to begin with, which builds with the installed package alone.
#include <filesystem>
#include <memory>
#include <system_error>

#include <boost/json/array.hpp>

#include "core/text/utf8.h"
#include "tools/motley/backends.h"
#include "tools/motley/launcher.h"
#include "tools/motley/plugin_skeleton.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

struct NewPluginFlags {
  std::string name;
  std::string folder;
};

// Names of the plugins that are there, used or not. Nothing is loaded.
StatusOr<std::vector<std::string>> TakenNames(const Config& config) {
  DiscoveryOptions options;
  options.paths = config.plugins.path;
  options.install_folder = InstallFolder();
  MOTLEY_ASSIGN_OR_RETURN(const Discovery found, Discover(options));
  std::vector<std::string> names;
  for (const Candidate& candidate : found.candidates) names.push_back(candidate.report.name);
  return names;
}

// What to type next. A launcher that is installed knows where its package is.
std::string NextSteps(const NewPluginFlags& flags) {
  const fs::path prefix = fs::path(SkeletonFolder()).parent_path().parent_path().parent_path();
  std::error_code error;
  const bool installed = fs::exists(prefix / "lib" / "cmake" / "motley" / "motley-config.cmake", error);
  const std::string build = (fs::path(flags.folder) / "build").string();
  return "next: cmake -S " + flags.folder + " -B " + build + " -DCMAKE_PREFIX_PATH=" +
         (installed ? prefix.string() : std::string("PREFIX (where cmake --install has put motley)")) +
         "\n      cmake --build " + build + "\n      motley plugins --plugin-path " + build + "/lib/motley";
}

Status NewPlugin(const NewPluginFlags& flags, Launcher& launcher) {
  MOTLEY_ASSIGN_OR_RETURN(const Config config, MakeConfig(launcher.flags));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<std::string> taken, TakenNames(config));
  MOTLEY_RETURN_IF_ERROR(CheckPluginName(flags.name, taken));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<std::string> written,
                          WriteSkeleton(SkeletonFolder(), flags.name, flags.folder));
  if (launcher.out.json) {
    boost::json::array files;
    for (const std::string& path : written) files.emplace_back(ToValidUtf8(path));
    launcher.out.PrintJson({{"name", flags.name}, {"files", std::move(files)}});
    return OkStatus();
  }
  for (const std::string& path : written) launcher.out.Print(path + "\n");
  launcher.out.Note(NextSteps(flags));
  return OkStatus();
}

}  // namespace

void AddNewPlugin(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<NewPluginFlags>();
  CLI::App* command = AddCommand(app, launcher, "new-plugin", "a plugin to begin with, which builds",
                                 "  motley new-plugin mine mine/     writes mine/plugin.cc, mine/device.cc, ...\n"
                                 "docs/vendor.md goes on from there.",
                                 [flags](Launcher& l) { return NewPlugin(*flags, l); });
  command->add_option("NAME", flags->name, "of the plugin: small letters, digits and _")->required();
  command->add_option("DIR", flags->folder, "a folder that is not there yet, or is empty")
      ->type_name("DIR")
      ->required();
}

}  // namespace motley
