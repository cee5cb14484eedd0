#include "core/backend/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>

#include "core/backend/abi.h"
#include "core/backend/elf_file.h"

namespace motley {
namespace {

constexpr uint32_t kFrozenBytes = offsetof(motley_plugin, options);  // the same in every major
constexpr uint32_t kNeededBytes =
    offsetof(motley_plugin, get_interface) + sizeof(motley_plugin::get_interface);
constexpr uint32_t kKnownFlags = MOTLEY_PLUGIN_MAY_UNLOAD | MOTLEY_PLUGIN_NAMES_DEVICES;
constexpr char kEntry[] = "motley_plugin_query";

using QueryFunction = const motley_plugin*(uint32_t, uint32_t);

std::string Version(uint32_t major, uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

bool IsPluginName(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

}  // namespace

struct Library::Loaded {
  boost::dll::shared_library object;
};

Library::Library() : loaded_(std::make_unique<Loaded>()) {}

StatusOr<std::shared_ptr<Library>> Library::Load(const std::string& path) {
  if (!std::filesystem::path(path).is_absolute())
    return InvalidArgumentError(path + ": must be an absolute path");
  MOTLEY_RETURN_IF_ERROR(CheckElf(path));
  std::shared_ptr<Library> library(new Library());
  library->path_ = path;
  try {
    using boost::dll::load_mode::rtld_local;
    using boost::dll::load_mode::rtld_now;
    boost::dll::shared_library& object = library->loaded_->object;
    std::error_code error;
    object.load(path, rtld_now | rtld_local, error);
    if (error) {
      const char* text = dlerror();  // Boost leaves it for whoever wants the reason
      return FailedPreconditionError(path + ": " + (text != nullptr ? text : error.message().c_str()));
    }
    if (!object.has(kEntry)) {
      return FailedPreconditionError(path + ": has no symbol " + kEntry + ", so it is no plugin");
    }
    QueryFunction& query = object.get<QueryFunction>(kEntry);
    MOTLEY_RETURN_IF_ERROR(CallPlugin(path, kEntry, [&](motley_error*) {
      library->plugin_ = query(MOTLEY_ABI_MAJOR, MOTLEY_ABI_MINOR);
      return MOTLEY_OK;
    }));
  } catch (const std::exception& error) {
    return FailedPreconditionError(path + ": " + error.what());
  }
  if (const Status table = library->Check(); !table.ok()) return table.WithPrefix(path);
  return library;
}

Library::~Library() {
  if (!loaded_->object.is_loaded()) return;
  const bool may_unload = plugin_ != nullptr && (plugin_->flags & MOTLEY_PLUGIN_MAY_UNLOAD) != 0 && !pinned_;
  if (may_unload) return;
  // Marks the object that is loaded already as one that stays; the handles are then only counts.
  if (void* handle = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE))
    dlclose(handle);
}

bool Library::names_devices() const {
  return (plugin_->flags & MOTLEY_PLUGIN_NAMES_DEVICES) != 0;
}

Status Library::Check() {
  if (plugin_ == nullptr)
    return FailedPreconditionError("motley_plugin_query returned NULL: the plugin is broken");
  if (plugin_->size < kFrozenBytes) {
    return FailedPreconditionError("motley_plugin.size = " + std::to_string(plugin_->size) + ": at least " +
                                   std::to_string(kFrozenBytes) + " in every version");
  }
  const auto name = CopyText(plugin_->name), version = CopyText(plugin_->version),
             vendor = CopyText(plugin_->vendor), build = CopyText(plugin_->build);
  if (!AbiFits(plugin_->abi_major, plugin_->abi_minor)) {
    return FailedPreconditionError("built for ABI " + Version(plugin_->abi_major, plugin_->abi_minor) +
                                   ", this motley has ABI " + Version(MOTLEY_ABI_MAJOR, MOTLEY_ABI_MINOR) +
                                   ": build the plugin anew");
  }
  if (plugin_->size < kNeededBytes) {
    return FailedPreconditionError("motley_plugin.size = " + std::to_string(plugin_->size) + ": ABI " +
                                   Version(MOTLEY_ABI_MAJOR, MOTLEY_ABI_MINOR) + " has at least " +
                                   std::to_string(kNeededBytes));
  }
  if (!name || !version || !vendor || !build) {
    return FailedPreconditionError("a text of motley_plugin is NULL with a length");
  }
  if (!IsPluginName(*name)) {
    return FailedPreconditionError("motley_plugin.name = \"" + *name + "\": must be of a-z 0-9 _ -");
  }
  if ((plugin_->flags & ~kKnownFlags) != 0) {
    return UnimplementedError("motley_plugin.flags = " + std::to_string(plugin_->flags) + ": unknown flags");
  }
  if (plugin_->open == nullptr) return FailedPreconditionError("motley_plugin.open is NULL");
  if (plugin_->close == nullptr) return FailedPreconditionError("motley_plugin.close is NULL");
  if (plugin_->get_interface == nullptr)
    return FailedPreconditionError("motley_plugin.get_interface is NULL");
  name_ = *name, version_ = *version, vendor_ = *vendor, build_ = *build;
  MOTLEY_ASSIGN_OR_RETURN(options_, ReadSchema(plugin_->options));
  return OkStatus();
}

}  // namespace motley
