// The tiny models and their golden logits, for scripts.
//
//   tiny_model write NAME FILE.gguf       writes the model
//   tiny_model tokens NAME                its golden tokens, on one line
//   tiny_model compare NAME LOGITS.npy    0 where these are near-tie-same, as F32 kernels must be
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/golden_case.h"
#include "tests/support/npy.h"
#include "tests/support/tiny_model.h"

namespace motley::test {
namespace {

Status Write(const std::string& name, const std::string& path) {
  const TinyModelSpec* spec = FindTinyModel(name);
  return spec ? WriteTinyModel(*spec, path) : NotFoundError("no tiny model \"" + name + "\"");
}

Status PrintTokens(const std::string& name) {
  MOTLEY_ASSIGN_OR_RETURN(const GoldenCase golden, LoadGoldenCase(name));
  for (const int32_t token : golden.tokens) std::printf("%d ", token);
  std::printf("\n");
  return OkStatus();
}

Status Compare(const std::string& name, const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(const GoldenCase golden, LoadGoldenCase(name));
  MOTLEY_ASSIGN_OR_RETURN(const NpyArray got, ReadNpy(path));
  const std::vector<float> values(got.values.begin(), got.values.end());
  const NearTieReport report =
      CompareLogits(golden.logits, values, golden.n_positions(), golden.n_vocab, NearTieTolerance("f32"));
  std::printf("%s\n", report.text.c_str());
  return report.ok ? OkStatus() : DataLossError(path + " are not the logits of " + name);
}

Status Run(const std::vector<std::string>& args) {
  if (args.size() == 3 && args[0] == "write") return Write(args[1], args[2]);
  if (args.size() == 2 && args[0] == "tokens") return PrintTokens(args[1]);
  if (args.size() == 3 && args[0] == "compare") return Compare(args[1], args[2]);
  return InvalidArgumentError("tiny_model write NAME FILE | tokens NAME | compare NAME LOGITS.npy");
}

}  // namespace
}  // namespace motley::test

int main(int argc, char** argv) {
  const motley::Status status = motley::test::Run({argv + 1, argv + argc});
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
