#include "tests/support/golden_case.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/support/counter_random.h"
#include "tests/support/npy.h"
#include "tests/support/random_blocks.h"

namespace motley::test {
namespace {

constexpr uint64_t kDequantSeed = 3, kRawDequantSeed = 4;  // SEED and RAW_SEED of tests/golden/dequant.py

StatusOr<std::string> ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return NotFoundError(path.string() + ": cannot be opened");
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

// The lines "KEY REST" of a golden text file; '#' begins a comment line.
struct Line {
  std::string key, rest;
};
StatusOr<std::vector<Line>> ReadLines(const std::filesystem::path& path) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  std::vector<Line> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = std::min(line.find(' '), line.size());
    lines.push_back({line.substr(0, space), line.substr(std::min(space + 1, line.size()))});
  }
  return lines;
}

template <typename T>
std::vector<T> Numbers(const std::string& text) {
  std::vector<T> out;
  std::istringstream in(text);
  for (T value; in >> value;) out.push_back(value);
  return out;
}

uint64_t Hex(const std::string& text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

Status Malformed(const std::filesystem::path& path, std::string_view what) {
  return DataLossError(path.filename().string() + ": " + std::string(what) + "; make it anew with tests/golden/make.py");
}

std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      out += text[i] == 'n' ? '\n' : text[i];
    } else {
      out += text[i];
    }
  }
  return out;
}

// Fills the prompts' rows from the arrays of all prompts' positions, one behind the other.
Status SliceSmolArrays(const std::filesystem::path& folder, SmolGolden* golden) {
  MOTLEY_ASSIGN_OR_RETURN(const NpyArray stats, ReadNpy(folder / "greedy_stats.npy"));
  MOTLEY_ASSIGN_OR_RETURN(const NpyArray sample, ReadNpy(folder / "greedy_sample.npy"));
  int64_t total = 0;
  for (const SmolPrompt& prompt : golden->prompts) total += static_cast<int64_t>(prompt.tokens.size());
  const int64_t n_sample = static_cast<int64_t>(golden->sample_ids.size());
  if (stats.shape != std::vector<int64_t>{total, 4} || sample.shape != std::vector<int64_t>{total, n_sample}) {
    return Malformed(folder / "greedy_stats.npy", "its rows are not the positions of greedy.txt");
  }
  int64_t row = 0;
  for (SmolPrompt& prompt : golden->prompts) {
    for (size_t i = 0; i < prompt.tokens.size(); ++i, ++row) {
      const double* stat = &stats.values[row * 4];
      prompt.gap.push_back(static_cast<float>(stat[0]));
      prompt.argmax.push_back(static_cast<int32_t>(stat[1]));
      prompt.mean.push_back(static_cast<float>(stat[2]));
      prompt.variance.push_back(static_cast<float>(stat[3]));
      const auto from = sample.values.begin() + row * n_sample;
      prompt.sample.insert(prompt.sample.end(), from, from + n_sample);
    }
  }
  return OkStatus();
}

// The line of `format` in dequant/FILE, and its blocks made here and held against their checksum.
template <typename MakeBlocks>
StatusOr<GoldenDequant> ReadSums(Format format, const char* file, MakeBlocks make_blocks) {
  const std::string name(FormatName(format));
  const std::filesystem::path path = GoldenFolder() / "dequant" / file;
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Line> lines, ReadLines(path));
  const auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& l) { return l.key == name; });
  if (line == lines.end()) return NotFoundError(std::string("dequant/") + file + " has no line for " + name);
  const auto fields = Numbers<std::string>(line->rest);
  if (fields.size() != 3) return Malformed(path, "the line of " + name + " is not N SUM SUM");

  GoldenDequant golden;
  golden.format = format;
  const int64_t n_blocks = std::stoll(fields[0]);
  MOTLEY_ASSIGN_OR_RETURN(golden.blocks, make_blocks(n_blocks));
  if (Checksum(golden.blocks) != Hex(fields[1])) {
    return Malformed(path, "the block bytes of " + name + " made here differ from the package's input");
  }
  golden.n_elems = n_blocks * FindFormat(format)->block_elems;
  golden.values_checksum = Hex(fields[2]);
  return golden;
}

}  // namespace

std::filesystem::path GoldenFolder() { return MOTLEY_GOLDEN_FOLDER; }

StatusOr<GoldenCase> LoadGoldenCase(std::string_view name) {
  GoldenCase golden;
  golden.spec = FindTinyModel(name);
  if (golden.spec == nullptr) return NotFoundError("no tiny model is named " + std::string(name));
  const std::filesystem::path path = GoldenFolder() / "tiny" / (std::string(name) + ".txt");
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Line> lines, ReadLines(path));
  for (const Line& line : lines) {
    if (line.key == "tokens") golden.tokens = Numbers<int32_t>(line.rest);
    if (line.key == "prompt") golden.n_prompt = std::stoll(line.rest);
    if (line.key == "min_gap") golden.min_gap = std::stod(line.rest);
    if (line.key == "min_gap_generated") golden.min_gap_generated = std::stod(line.rest);
    if (line.key == "tensor") {
      const size_t space = line.rest.find(' ');
      golden.tensors.push_back({line.rest.substr(0, space), Hex(line.rest.substr(space + 1))});
    }
  }
  MOTLEY_ASSIGN_OR_RETURN(NpyArray logits, ReadNpy(std::filesystem::path(path).replace_extension(".npy")));
  golden.n_vocab = kTinyVocab;
  if (golden.tokens.empty() || logits.shape != std::vector<int64_t>{golden.n_positions(), golden.n_vocab}) {
    return Malformed(path, "its logits are not [tokens, vocab]");
  }
  golden.logits = std::move(logits.values);
  return golden;
}

StatusOr<std::vector<Format>> GoldenDequantFormats() {
  const std::filesystem::path path = GoldenFolder() / "dequant" / "sums.txt";
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Line> lines, ReadLines(path));
  std::vector<Format> formats;
  for (const Line& line : lines) {
    const auto format = FormatFromName(line.key);
    if (!format) return Malformed(path, line.key + " is no known format");
    formats.push_back(*format);
  }
  return formats;
}

StatusOr<GoldenDequant> LoadGoldenDequant(Format format) {
  const std::string name(FormatName(format));
  MOTLEY_ASSIGN_OR_RETURN(GoldenDequant golden, ReadSums(format, "sums.txt", [&](int64_t n_blocks) {
    return RandomBlocks(format, n_blocks, CounterRandom(kDequantSeed, name));
  }));
  MOTLEY_ASSIGN_OR_RETURN(const NpyArray first, ReadNpy(GoldenFolder() / "dequant" / (name + ".npy")));
  golden.first.assign(first.values.begin(), first.values.end());
  return golden;
}

StatusOr<GoldenDequant> LoadRawGoldenDequant(Format format) {
  return ReadSums(format, "raw_sums.txt", [&](int64_t n_blocks) {
    return RawBlocks(format, n_blocks, CounterRandom(kRawDequantSeed, std::string(FormatName(format))));
  });
}

Status CheckDequant(const GoldenDequant& golden, std::span<const float> values) {
  const std::string name(FormatName(golden.format));
  if (static_cast<int64_t>(values.size()) != golden.n_elems) {
    return InvalidArgumentError(name + ": " + std::to_string(values.size()) + " values, must be " +
                                std::to_string(golden.n_elems));
  }
  for (size_t i = 0; i < golden.first.size(); ++i) {
    const uint32_t want = std::bit_cast<uint32_t>(golden.first[i]), got = std::bit_cast<uint32_t>(values[i]);
    if (want == got) continue;
    char text[160];
    std::snprintf(text, sizeof text, "element %zu is %.9g (%08x), must be %.9g (%08x)", i, values[i], got,
                  golden.first[i], want);
    return InternalError(name + ": " + text);
  }
  std::vector<float> canonical(values.begin(), values.end());
  for (float& value : canonical) value = std::isnan(value) ? std::bit_cast<float>(0x7fc00000u) : value;
  const std::span bytes(reinterpret_cast<const uint8_t*>(canonical.data()), values.size_bytes());
  if (Checksum(bytes) != golden.values_checksum) {
    return InternalError(name + ": the checksum of all " + std::to_string(golden.n_elems) +
                         " values is wrong, though the first " + std::to_string(golden.first.size()) + " are right");
  }
  return OkStatus();
}

StatusOr<SmolGolden> LoadSmolGolden() {
  const std::filesystem::path folder = GoldenFolder() / "smollm2";
  SmolGolden golden;
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Line> lines, ReadLines(folder / "greedy.txt"));
  for (const Line& line : lines) {
    if (line.key == "vocab") golden.n_vocab = std::stoll(line.rest);
    if (line.key == "sample_ids") golden.sample_ids = Numbers<int32_t>(line.rest);
    if (line.key == "text") golden.prompts.push_back({Unescape(line.rest)});
    if (line.key == "prompt" && !golden.prompts.empty()) golden.prompts.back().n_prompt = std::stoll(line.rest);
    if (line.key == "tokens" && !golden.prompts.empty()) golden.prompts.back().tokens = Numbers<int32_t>(line.rest);
  }
  MOTLEY_RETURN_IF_ERROR(SliceSmolArrays(folder, &golden));
  MOTLEY_ASSIGN_OR_RETURN(golden.text, ReadText(folder / "prose.txt"));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Line> perplexity, ReadLines(folder / "perplexity.txt"));
  for (const Line& line : perplexity) {
    if (line.key == "tokens") golden.text_tokens = Numbers<int32_t>(line.rest);
    if (line.key == "context") {
      const auto fields = Numbers<double>(line.rest);
      if (fields.size() != 3) return Malformed(folder / "perplexity.txt", "a context line is not N SCORED VALUE");
      golden.perplexity.push_back({static_cast<int64_t>(fields[0]), static_cast<int64_t>(fields[1]), fields[2]});
    }
  }
  return golden;
}

NearTieReport CompareSmol(const SmolGolden& golden, const SmolPrompt& prompt, std::span<const float> got,
                          Tolerance tolerance) {
  NearTieReport report;
  const int64_t n_positions = static_cast<int64_t>(prompt.tokens.size());
  const size_t n_sample = golden.sample_ids.size();
  if (n_positions == 0 || got.size() != static_cast<size_t>(n_positions * golden.n_vocab)) {
    report.text = "NOT COMPARED: " + std::to_string(got.size()) + " values for " + std::to_string(n_positions) +
                  " positions of " + std::to_string(golden.n_vocab) + " logits";
    return report;
  }
  report.worst_nmse = -1;
  for (int64_t position = 0; position < n_positions; ++position) {
    const auto row = got.subspan(position * golden.n_vocab, golden.n_vocab);
    const std::vector<double> values(row.begin(), row.end());
    double mean = 0;
    for (double value : values) mean += value / static_cast<double>(values.size());
    double error = 0;
    for (size_t i = 0; i < n_sample; ++i) {
      const double want = prompt.sample[position * n_sample + i] - prompt.mean[position];
      const double difference = values[golden.sample_ids[i]] - mean - want;
      error += difference * difference / static_cast<double>(n_sample);
    }
    double nmse = error / prompt.variance[position];
    if (!std::isfinite(nmse)) nmse = INFINITY;
    if (nmse > report.worst_nmse) {
      report.worst_nmse = nmse;
      report.worst_position = position;
    }
    if (FindTopTwo(values).argmax == prompt.argmax[position]) continue;
    ++report.argmax_changes;
    if (report.widest_changed_position < 0 || prompt.gap[position] > report.widest_changed_gap) {
      report.widest_changed_gap = prompt.gap[position];
      report.widest_changed_position = position;
    }
  }
  Judge(tolerance, n_positions, &report);
  return report;
}

}  // namespace motley::test
