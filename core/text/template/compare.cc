// Python's comparisons.
#include <optional>
#include <string>

#include "core/text/template/interp.h"
#include "core/text/template/numbers.h"
#include "core/text/template/operators.h"

namespace motley::jinja {
namespace {

StatusOr<bool> ItemsEqual(Budget& budget, const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    MOTLEY_ASSIGN_OR_RETURN(const bool same, Equal(budget, a[i], b[i]));
    if (!same) return false;
  }
  return true;
}

StatusOr<bool> DictsEqual(Budget& budget, const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.Find(key);
    if (other == nullptr) return false;
    MOTLEY_ASSIGN_OR_RETURN(const bool same, Equal(budget, value, *other));
    if (!same) return false;
  }
  return true;
}

bool RangesEqual(const Range& a, const Range& b) {
  const int64_t length = a.length();
  if (length != b.length()) return false;
  return length == 0 || (a.start == b.start && (length == 1 || a.step == b.step));
}

}  // namespace

StatusOr<bool> Equal(Budget& budget, const Value& a, const Value& b) {
  MOTLEY_RETURN_IF_ERROR(budget.Step());
  if (a.is_number() && b.is_number()) return NumbersEqual(a, b);
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Type::kUndefined:
    case Type::kNone: return true;
    case Type::kStr: return a.view() == b.view();
    case Type::kList:
    case Type::kTuple: return ItemsEqual(budget, a.items(), b.items());
    case Type::kDict: return DictsEqual(budget, a.dict(), b.dict());
    case Type::kRange: return RangesEqual(a.As<Range>(), b.As<Range>());
    case Type::kView:
      if (a.As<View>().kind == View::kValues || a.As<View>().kind != b.As<View>().kind) return a.SameAs(b);
      return DictsEqual(budget, a.As<View>().dict.dict(), b.As<View>().dict.dict());
    default: return a.SameAs(b);
  }
}

namespace {

// Python's order of sequences: by the first items that differ.
StatusOr<bool> ItemsLess(Budget& budget, const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    MOTLEY_ASSIGN_OR_RETURN(const bool same, Equal(budget, a[i], b[i]));
    if (!same) return Less(budget, a[i], b[i]);
  }
  return a.size() < b.size();
}

constexpr const char* kCompareSymbols[] = {"==", "!=", "<", "<=", ">", ">="};

Status NotOrdered(CompareOp op, const Value& a, const Value& b) {
  if (a.is_undefined()) return InvalidArgumentError(UndefinedMessage(a));
  if (b.is_undefined()) return InvalidArgumentError(UndefinedMessage(b));
  return InvalidArgumentError(std::string("'") + kCompareSymbols[static_cast<int>(op)] +
                              "' not supported between instances of '" + TypeName(a) + "' and '" + TypeName(b) + "'");
}

StatusOr<bool> Ordered(Budget& budget, CompareOp op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    const std::optional<int> order = CompareNumbers(a, b);
    if (!order.has_value()) return false;
    switch (op) {
      case CompareOp::kLt: return *order < 0;
      case CompareOp::kLe: return *order <= 0;
      case CompareOp::kGt: return *order > 0;
      default: return *order >= 0;
    }
  }
  if (a.type() != b.type() || !(a.is_str() || a.is_sequence())) return NotOrdered(op, a, b);
  const bool swapped = op == CompareOp::kGt || op == CompareOp::kLe;  // a > b is b < a; a <= b is not b < a
  MOTLEY_ASSIGN_OR_RETURN(const bool less, swapped ? Less(budget, b, a) : Less(budget, a, b));
  return op == CompareOp::kLe || op == CompareOp::kGe ? !less : less;
}

}  // namespace

StatusOr<bool> Less(Budget& budget, const Value& a, const Value& b) {
  MOTLEY_RETURN_IF_ERROR(budget.Step());
  if (a.is_str() && b.is_str()) return a.view() < b.view();  // UTF-8 keeps the order of characters
  if (a.is_sequence() && a.type() == b.type()) return ItemsLess(budget, a.items(), b.items());
  if (a.is_number() && b.is_number()) return CompareNumbers(a, b).value_or(1) < 0;
  return NotOrdered(CompareOp::kLt, a, b);
}

StatusOr<bool> Compare(Interp& interp, CompareOp op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOp::kEq: return Equal(interp.budget(), a, b);
    case CompareOp::kNe: {
      MOTLEY_ASSIGN_OR_RETURN(const bool same, Equal(interp.budget(), a, b));
      return !same;
    }
    case CompareOp::kIn: return Contains(interp, b, a);
    case CompareOp::kNotIn: {
      MOTLEY_ASSIGN_OR_RETURN(const bool there, Contains(interp, b, a));
      return !there;
    }
    default: return Ordered(interp.budget(), op, a, b);
  }
}

StatusOr<bool> Contains(Interp& interp, const Value& container, const Value& item) {
  switch (container.type()) {
    case Type::kStr:
      if (!item.is_str()) {
        return InvalidArgumentError(std::string("'in <string>' requires string as left operand, not ") + TypeName(item));
      }
      MOTLEY_RETURN_IF_ERROR(interp.budget().Step(container.view().size() / 64));
      return Find(container.view(), item.view()) != std::string_view::npos;
    case Type::kDict:
      if (!IsHashable(item)) return InvalidArgumentError(std::string("unhashable type: '") + TypeName(item) + "'");
      return container.dict().Find(item) != nullptr;
    default: break;
  }
  auto it = interp.Iterate(container);
  if (!it.ok()) {
    return InvalidArgumentError(std::string("argument of type '") + TypeName(container) + "' is not iterable");
  }
  for (Value other;;) {
    MOTLEY_ASSIGN_OR_RETURN(const bool more, (*it)->Next(interp, &other));
    if (!more) return false;
    MOTLEY_ASSIGN_OR_RETURN(const bool same, Equal(interp.budget(), item, other));
    if (same) return true;
  }
}

}  // namespace motley::jinja
