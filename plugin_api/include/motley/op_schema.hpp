// The op table as data, and its shape language: what the host's graph builder, its printer and plugin authors share.
//
// C++20, header-only, standard library alone. Everything here is immutable after first use; any thread.
#pragma once

#include <motley/plugin.h>

#include <array>
#include <cctype>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace motley {

enum class Op : uint32_t {
#define MOTLEY_OP(NAME, id, version, text, doc) k##NAME = id,
#define MOTLEY_OP_IN(name, shape, kind)
#define MOTLEY_OP_IN_OPT(name, shape, kind)
#define MOTLEY_OP_OUT(name, shape, kind)
#define MOTLEY_OP_ATTR(name, type)
#define MOTLEY_OP_END()
#include <motley/op_table.inc>
};

enum class OperandKind { kF32, kI32, kWEIGHT, kVECTOR, kSTATE };

struct OperandSchema {
  std::string_view name, shape;  // shape: "T, n_heads*head_dim"
  OperandKind kind;
  bool optional;
};

struct AttrSchema {
  std::string_view name;
  uint32_t type;  // MOTLEY_TYPE_I64 or MOTLEY_TYPE_F64
};

struct OpSchema {
  Op op;
  uint32_t version;
  std::string_view name, doc;
  std::vector<OperandSchema> inputs, outputs;
  std::vector<AttrSchema> attrs;
};

inline std::span<const OpSchema> OpTable() {
  static const std::vector<OpSchema> table = [] {
    std::vector<OpSchema> rows;
#define MOTLEY_OP(NAME, id, version, text, doc) rows.push_back({Op::k##NAME, version, text, doc, {}, {}, {}});
#define MOTLEY_OP_IN(name, shape, kind) rows.back().inputs.push_back({#name, shape, OperandKind::k##kind, false});
#define MOTLEY_OP_IN_OPT(name, shape, kind) \
  rows.back().inputs.push_back({#name, shape, OperandKind::k##kind, true});
#define MOTLEY_OP_OUT(name, shape, kind) rows.back().outputs.push_back({#name, shape, OperandKind::k##kind, false});
#define MOTLEY_OP_ATTR(name, type) rows.back().attrs.push_back({#name, MOTLEY_TYPE_##type});
#define MOTLEY_OP_END()
#include <motley/op_table.inc>
    return rows;
  }();
  return table;
}

// nullptr where `op` is no known id.
inline const OpSchema* FindOp(uint32_t op) {
  for (const OpSchema& row : OpTable()) {
    if (static_cast<uint32_t>(row.op) == op) return &row;
  }
  return nullptr;
}

// The extents of one node: names of its row's shapes, bound one operand after the other.
// Dims are as in motley_tensor: >= 0 an extent, < 0 the symbol ~dim; two symbols are equal only to themselves.
class ShapeBinding {
 public:
  // "" or what is wrong: "n_heads = 8, here 16".
  std::string BindName(std::string_view name, int64_t dim) {
    for (const auto& [known, value] : bound_) {
      if (known == name) return value == dim ? "" : Mismatch(name, value, dim);
    }
    bound_.push_back({name, dim});
    return "";
  }

  // Holds `dims` against `shape`; a lone name that is not bound yet takes the dim.
  std::string Bind(std::string_view shape, std::span<const int64_t> dims) {
    size_t i = 0;
    for (std::string_view rest = shape; !rest.empty(); ++i) {
      const std::string_view term = NextTerm(&rest, ',');
      if (i >= dims.size()) return "rank " + std::to_string(dims.size()) + ", needs [" + std::string(shape) + "]";
      int64_t value = 0;
      if (Evaluate(term, &value)) {
        if (value != dims[i]) return Mismatch(term, value, dims[i]);
      } else if (IsName(term)) {
        bound_.push_back({term, dims[i]});
      } else {
        return "the extent " + std::string(term) + " has a name that nothing binds";
      }
    }
    if (i != dims.size()) return "rank " + std::to_string(dims.size()) + ", needs [" + std::string(shape) + "]";
    return "";
  }

  // The dims of `shape`; false where a name is not bound or a product has a symbol or overflows.
  bool Infer(std::string_view shape, std::vector<int64_t>* dims) const {
    dims->clear();
    for (std::string_view rest = shape; !rest.empty();) {
      int64_t value = 0;
      if (!Evaluate(NextTerm(&rest, ','), &value)) return false;
      dims->push_back(value);
    }
    return true;
  }

 private:
  struct Bound {
    std::string_view name;
    int64_t value;
  };

  static std::string_view NextTerm(std::string_view* rest, char separator) {
    const size_t end = rest->find(separator);
    std::string_view term = rest->substr(0, end);
    *rest = end == std::string_view::npos ? std::string_view() : rest->substr(end + 1);
    while (!term.empty() && term.front() == ' ') term.remove_prefix(1);
    while (!term.empty() && term.back() == ' ') term.remove_suffix(1);
    return term;
  }

  static bool IsName(std::string_view term) {
    return !term.empty() && !std::isdigit(static_cast<unsigned char>(term[0])) &&
           term.find('*') == std::string_view::npos;
  }

  static std::string Mismatch(std::string_view what, int64_t expected, int64_t got) {
    return std::string(what) + " = " + DimText(expected) + ", here " + DimText(got);
  }

  static std::string DimText(int64_t dim) {
    return dim >= 0 ? std::to_string(dim) : "symbol " + std::to_string(~dim);
  }

  bool Evaluate(std::string_view term, int64_t* out) const {
    int64_t product = 1;
    bool single = term.find('*') == std::string_view::npos;
    for (std::string_view rest = term; !rest.empty();) {
      const std::string_view factor = NextTerm(&rest, '*');
      int64_t value = 0;
      if (IsName(factor)) {
        if (!Lookup(factor, &value)) return false;
      } else {
        for (char c : factor) value = value * 10 + (c - '0');
      }
      if (single) {
        *out = value;
        return true;
      }
      if (value < 0 || __builtin_mul_overflow(product, value, &product)) return false;
    }
    *out = product;
    return true;
  }

  bool Lookup(std::string_view name, int64_t* value) const {
    for (const Bound& b : bound_) {
      if (b.name == name) {
        *value = b.value;
        return true;
      }
    }
    return false;
  }

  std::vector<Bound> bound_;
};

}  // namespace motley
