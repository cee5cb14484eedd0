#include "core/text/template/tests.h"

#include "core/text/template/filters.h"
#include "core/text/template/methods.h"
#include "core/text/template/operators.h"

namespace motley::jinja {
namespace {

using Answer = StatusOr<bool>;

template <Type... kTypes>
Answer IsOf(Interp&, const Value& v, const Value&) { return ((v.type() == kTypes) || ...); }

template <CompareOp kOp>
Answer Compares(Interp& interp, const Value& v, const Value& other) { return Compare(interp, kOp, v, other); }

Answer ModuloIs(Interp& interp, const Value& v, const Value& divisor, int64_t wanted) {
  MOTLEY_ASSIGN_OR_RETURN(const Value rest, Binary(interp, BinaryOp::kMod, v, divisor));
  return Equal(interp.budget(), rest, Value::Int(wanted));
}
Answer IsOdd(Interp& interp, const Value& v, const Value&) { return ModuloIs(interp, v, Value::Int(2), 1); }
Answer IsEven(Interp& interp, const Value& v, const Value&) { return ModuloIs(interp, v, Value::Int(2), 0); }
Answer IsDivisible(Interp& interp, const Value& v, const Value& by) { return ModuloIs(interp, v, by, 0); }

Answer IsDefined(Interp&, const Value& v, const Value&) { return !v.is_undefined(); }
Answer IsTrue(Interp&, const Value& v, const Value&) { return v.Is(Type::kBool) && v.boolean(); }
Answer IsFalse(Interp&, const Value& v, const Value&) { return v.Is(Type::kBool) && !v.boolean(); }
Answer IsNumber(Interp&, const Value& v, const Value&) { return v.is_number(); }
Answer IsSame(Interp&, const Value& v, const Value& other) { return v.SameAs(other); }
Answer IsEscaped(Interp&, const Value& v, const Value&) { return v.is_str() && v.str().markup; }
Answer IsIn(Interp& interp, const Value& v, const Value& container) { return Contains(interp, container, v); }

Answer IsIterable(Interp&, const Value& v, const Value&) {
  return LengthOf(v) >= 0 || v.Is(Type::kIterator) || v.Is(Type::kLoop);
}
// With a length and [].
Answer IsSequence(Interp&, const Value& v, const Value&) { return LengthOf(v) >= 0 && !v.Is(Type::kView); }
Answer IsCallable(Interp&, const Value& v, const Value&) {
  return v.Is(Type::kFunction) || v.Is(Type::kLoop) || v.Is(Type::kJoiner) || v.is_undefined();
}

Answer IsLowerCase(Interp& interp, const Value& v, const Value&) {
  MOTLEY_ASSIGN_OR_RETURN(const Value text, interp.ToStr(v));
  return IsLowerText(text.view());
}
Answer IsUpperCase(Interp& interp, const Value& v, const Value&) {
  MOTLEY_ASSIGN_OR_RETURN(const Value text, interp.ToStr(v));
  return IsUpperText(text.view());
}
Answer IsFilterName(Interp&, const Value& v, const Value&) { return v.is_str() && FindFilter(v.view()) != nullptr; }
Answer IsTestName(Interp&, const Value& v, const Value&) { return v.is_str() && FindTest(v.view()) != nullptr; }

constexpr Test kRows[] = {
    {"!=", 1, Compares<CompareOp::kNe>},
    {"<", 1, Compares<CompareOp::kLt>},
    {"<=", 1, Compares<CompareOp::kLe>},
    {"==", 1, Compares<CompareOp::kEq>},
    {">", 1, Compares<CompareOp::kGt>},
    {">=", 1, Compares<CompareOp::kGe>},
    {"boolean", 0, IsOf<Type::kBool>},
    {"callable", 0, IsCallable},
    {"defined", 0, IsDefined},
    {"divisibleby", 1, IsDivisible},
    {"eq", 1, Compares<CompareOp::kEq>},
    {"equalto", 1, Compares<CompareOp::kEq>},
    {"escaped", 0, IsEscaped},
    {"even", 0, IsEven},
    {"false", 0, IsFalse},
    {"filter", 0, IsFilterName},
    {"float", 0, IsOf<Type::kFloat>},
    {"ge", 1, Compares<CompareOp::kGe>},
    {"greaterthan", 1, Compares<CompareOp::kGt>},
    {"gt", 1, Compares<CompareOp::kGt>},
    {"in", 1, IsIn},
    {"integer", 0, IsOf<Type::kInt, Type::kBigInt>},
    {"iterable", 0, IsIterable},
    {"le", 1, Compares<CompareOp::kLe>},
    {"lessthan", 1, Compares<CompareOp::kLt>},
    {"lower", 0, IsLowerCase},
    {"lt", 1, Compares<CompareOp::kLt>},
    {"mapping", 0, IsOf<Type::kDict>},
    {"ne", 1, Compares<CompareOp::kNe>},
    {"none", 0, IsOf<Type::kNone>},
    {"number", 0, IsNumber},
    {"odd", 0, IsOdd},
    {"sameas", 1, IsSame},
    {"sequence", 0, IsSequence},
    {"string", 0, IsOf<Type::kStr>},
    {"test", 0, IsTestName},
    {"true", 0, IsTrue},
    {"undefined", 0, IsOf<Type::kUndefined>},
    {"upper", 0, IsUpperCase},
};

}  // namespace

const Test* FindTest(std::string_view name) {
  for (const Test& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

StatusOr<bool> ApplyTest(Interp& interp, const Test& test, const Value& subject, Arguments args) {
  MOTLEY_RETURN_IF_ERROR(interp.budget().Step());
  // Jinja's tests with an argument name it in different ways.
  for (const char* name : {"num", "other", "seq"}) {
    Value named = args.Take(name);
    if (!named.is_missing()) args.positional.push_back(std::move(named));
  }
  if (!args.named.empty() || static_cast<int>(args.positional.size()) != test.arguments) {
    return InvalidArgumentError("the test '" + std::string(test.name) + "' takes " + std::to_string(test.arguments) +
                                " argument(s), not " + std::to_string(args.positional.size() + args.named.size()));
  }
  return test.holds(interp, subject, test.arguments == 0 ? Value() : args.positional[0]);
}

}  // namespace motley::jinja
