// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/open_types.h"

#include "app/pipeline/prove/contents.h"
#include "core/ops/op_schema.h"
#include "core/ops/op_table.h"

#include <algorithm>

namespace fuselage::app {

namespace {

/// An operand of the operator may have the type.
bool reads(Op op, DType type) {
    constexpr int mostSlots = 3; // those behind are parameters
    const auto slots = static_cast<size_t>(std::min(rowOf(op).maxInputs, mostSlots));
    for (size_t slot = 0; slot < slots; ++slot)
        if (inputTypesOf(op, slot).allows(type))
            return true;
    return false;
}

/// No node of the pattern stands against it; integers only where all of them compute with such.
bool allows(const Rule& rule, DType type) {
    return std::all_of(rule.terms.begin(), rule.terms.end(), [&](const Term& term) {
        return term.ops.empty() || std::any_of(term.ops.begin(), term.ops.end(), [&](Op op) {
                   return reads(op, type) && (!isInteger(type) || takesIntegers(op));
               });
    });
}

/// A value of which the rule says no element type.
bool isOpen(const Term& term) {
    const bool isValue = term.kind == Term::Kind::Value || term.kind == Term::Kind::Any;
    return isValue && (!term.type || term.type->dtypes.empty());
}

} // namespace

std::vector<DType> openTypes(const Rule& rule) {
    if (std::none_of(rule.terms.begin(), rule.terms.end(), isOpen))
        return {};
    std::vector<DType> out{DType::Float32};
    for (DType type : {DType::Int32, DType::Int64, DType::Int8, DType::UInt8, DType::Bool,
                       DType::Float16, DType::Float64, DType::BFloat16})
        if (allows(rule, type))
            out.push_back(type);
    return out;
}

} // namespace fuselage::app
