// SPDX-License-Identifier: Apache-2.0
#include "core/ops/schema_facts.h"

#include <algorithm>
#include <initializer_list>

namespace fuselage {

namespace {

// clang-format off
constexpr const char* autoPads[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
constexpr const char* padModes[] = {"constant", "reflect", "edge", "wrap"};
constexpr const char* resizeModes[] = {"nearest", "linear", "cubic"};
constexpr const char* gridModes[] = {"linear", "nearest", "cubic", "bilinear", "bicubic"};
constexpr const char* gridPads[] = {"zeros", "border", "reflection"};
constexpr const char* blockModes[] = {"DCR", "CRD"};
constexpr const char* geluModes[] = {"none", "tanh"};
constexpr const char* scatterModes[] = {"none", "add", "mul", "max", "min"};
constexpr const char* shifts[] = {"LEFT", "RIGHT"};
constexpr const char* directions[] = {"forward", "reverse", "bidirectional"};
constexpr const char* nearestModes[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

struct ValueRow {
    std::initializer_list<Op> ops; ///< empty: every operator with such an attribute
    std::string_view attribute;
    std::span<const char* const> values;
};

const ValueRow values[] = {
    {{}, "auto_pad", autoPads},
    {{Op::Pad}, "mode", padModes},
    {{Op::Resize, Op::Upsample}, "mode", resizeModes},
    {{Op::Resize}, "nearest_mode", nearestModes},
    {{Op::GridSample}, "mode", gridModes},
    {{Op::GridSample}, "padding_mode", gridPads},
    {{Op::DepthToSpace}, "mode", blockModes},
    {{Op::Gelu}, "approximate", geluModes},
    {{Op::ScatterElements, Op::ScatterND}, "reduction", scatterModes},
    {{Op::BitShift}, "direction", shifts},
    {{Op::LSTM, Op::GRU, Op::RNN}, "direction", directions},
};

constexpr std::string_view flags[] = {
    "allowzero", "ceil_mode", "count_include_pad", "exclusive", "keepdims", "largest",
    "noop_with_empty_axes", "reverse", "select_last_index", "sorted", "training_mode", "transA", "transB"};

// core/onnx/normalise.cpp and core/passes/fold_constants.cpp replace them.
constexpr Replaced replaced[] = {
    {Op::Constant, "a constant value", "write `c: const` where it is read"},
    {Op::Dropout, "its operand, unless it trains", "leave the step out, or make it optional: `Dropout?`"},
    {Op::Einsum, "Transpose, Reshape, MatMul and ReduceSum, where it is a sum of products of floats", "match those"},
    {Op::Identity, "its operand", "leave the step out"},
    {Op::Scatter, "a ScatterElements", "match ScatterElements"},
    {Op::Upsample, "a Resize", "match Resize"},
};
// clang-format on

bool contains(std::initializer_list<Op> ops, Op op) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
}

} // namespace

std::span<const char* const> valuesOf(Op op, std::string_view attribute) {
    for (const ValueRow& row : values)
        if (row.attribute == attribute && (row.ops.size() == 0 || contains(row.ops, op)))
            return row.values;
    return {};
}

const Replaced* replacementOf(Op op) {
    const auto* found = std::find_if(std::begin(replaced), std::end(replaced),
                                     [&](const Replaced& each) { return each.op == op; });
    return found == std::end(replaced) ? nullptr : found;
}

bool isValueOfSome(std::string_view text) {
    return std::any_of(std::begin(values), std::end(values), [&](const ValueRow& row) {
        return std::find(row.values.begin(), row.values.end(), text) != row.values.end();
    });
}

bool isFlag(std::string_view attribute) {
    return std::find(std::begin(flags), std::end(flags), attribute) != std::end(flags);
}

} // namespace fuselage
