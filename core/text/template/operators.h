// Python's operators.
#pragma once

#include "core/text/template/value.h"

namespace motley::jinja {

enum class BinaryOp : uint8_t { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };

Result Binary(Interp& interp, BinaryOp op, const Value& left, const Value& right);
Result Negate(const Value& value);
Result Positive(const Value& value);

StatusOr<bool> Equal(Budget& budget, const Value& a, const Value& b);
// a < b; of numbers, strings, lists and tuples.
StatusOr<bool> Less(Budget& budget, const Value& a, const Value& b);

enum class CompareOp : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };
StatusOr<bool> Compare(Interp& interp, CompareOp op, const Value& a, const Value& b);
StatusOr<bool> Contains(Interp& interp, const Value& container, const Value& item);

// value[start:stop:step]; missing parts are open.
Result Slice(Interp& interp, const Value& value, const Value& start, const Value& stop, const Value& step);

// HTML's & < > ' " written as entities: what MarkupSafe adds to a Markup.
Text EscapeHtml(const Text& text);

// The first place of `what` at or after `from`, in time linear in both; npos where it is not.
size_t Find(std::string_view text, std::string_view what, size_t from = 0);
// The last place.
size_t FindLast(std::string_view text, std::string_view what);

}  // namespace motley::jinja
