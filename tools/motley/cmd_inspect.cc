// motley inspect: what a model file says of itself. Structure and vocabulary are checked; whether the
// hyper-parameters make a model is told, and judged by run, plan and check.
#include <memory>

#include "core/model/gguf.h"
#include "tools/motley/inspect_print.h"
#include "tools/motley/launcher.h"

namespace motley {
namespace {

struct InspectFlags {
  std::string path;
  bool tensors = false;
};

Status Inspect(const InspectFlags& flags, Output& out) {
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(flags.path));
  for (const std::string& warning : file->warnings()) out.Note("warning: " + warning);
  MOTLEY_ASSIGN_OR_RETURN(const InspectReport report, InspectModel(*file));
  for (const std::string& warning : report.vocabulary.warnings) out.Note("warning: " + warning);
  if (out.json) {
    out.PrintJson(InspectionJson(*file, report));
  } else {
    PrintInspection(*file, report, flags.tensors, out);
  }
  if (!report.vocabulary.unsupported.empty()) {
    return UnimplementedError(file->metadata().origin() + ": " + report.vocabulary.unsupported);
  }
  return OkStatus();
}

}  // namespace

void AddInspect(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<InspectFlags>();
  CLI::App* command =
      AddCommand(app, launcher, "inspect",
                 "what a model file holds: size, shape, formats, vocabulary, chat template, cache, tensors",
                 "  motley inspect model.gguf\n"
                 "  motley inspect model.gguf --tensors        every tensor, not every kind\n"
                 "  motley inspect model-00001-of-00003.gguf   any shard opens the whole set\n"
                 "  motley inspect model.gguf --json",
                 [flags](Launcher& l) { return Inspect(*flags, l.out); });
  command->add_option("MODEL", flags->path, "a .gguf file")->type_name("MODEL")->required();
  command->add_flag("--tensors", flags->tensors,
                    "a row for every tensor, not one for what is alike in all layers");
}

}  // namespace motley
