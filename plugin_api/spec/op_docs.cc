// Prints plugin_api/spec/ops.md from the op table. To refresh it: build motley_op_docs, run it into the file.
#include <motley/op_schema.hpp>

#include <cstdio>
#include <string>

namespace {

const char* KindText(motley::OperandKind kind) {
  switch (kind) {
    case motley::OperandKind::kF32: return "F32";
    case motley::OperandKind::kI32: return "I32";
    case motley::OperandKind::kWEIGHT: return "weight, any format";
    case motley::OperandKind::kVECTOR: return "weight, loaded as F32";
    case motley::OperandKind::kSTATE: return "KV pages, opaque bytes";
  }
  return "?";
}

// A `|` in a cell would end it.
std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

void PrintOperands(const std::vector<motley::OperandSchema>& rows, const char* direction) {
  for (const motley::OperandSchema& row : rows) {
    std::printf("| %s | `%s` | [%s] | %s |\n", row.optional ? "in, may be absent" : direction,
                Cell(row.name).c_str(), Cell(row.shape).c_str(), KindText(row.kind));
  }
}

}  // namespace

int main() {
  std::printf(
      "# Ops\n\n"
      "Made from `include/motley/op_table.inc` by `spec/op_docs.cc`; a test compares the two. What each op "
      "does with\n"
      "its operands, number by number, is said there; `example/ref` computes it.\n\n"
      "Shapes are outermost first. A name stands for the same extent wherever it occurs in an op; `T` is the "
      "number\n"
      "of tokens of the step.\n");
  for (const motley::OpSchema& op : motley::OpTable()) {
    std::printf("\n## %s\n\nid %u, version %u: %s\n\n", std::string(op.name).c_str(),
                static_cast<uint32_t>(op.op), op.version, std::string(op.doc).c_str());
    std::printf("| | operand | shape | kind |\n|---|---|---|---|\n");
    PrintOperands(op.inputs, "in");
    PrintOperands(op.outputs, "out");
    if (op.attrs.empty()) continue;
    std::printf("\nAttributes:");
    const char* separator = " ";
    for (const motley::AttrSchema& attr : op.attrs) {
      std::printf("%s`%s` (%s)", separator, std::string(attr.name).c_str(),
                  attr.type == MOTLEY_TYPE_I64 ? "I64" : "F64");
      separator = ", ";
    }
    std::printf(".\n");
  }
  return 0;
}
