// SPDX-License-Identifier: Apache-2.0
#include "core/ops/schema_facts.h"

#include <algorithm>
#include <initializer_list>

namespace fuselage {

namespace {

struct KindRow {
    ElementKind kind;
    std::initializer_list<Op> ops;
};

// clang-format off
/// Of all operands, unless a row of `operands` says otherwise.
const KindRow elementKinds[] = {
    {ElementKind::Float,
     {Op::Acos, Op::Acosh, Op::Asin, Op::Asinh, Op::Atan, Op::Atanh, Op::Cos, Op::Cosh, Op::Sin, Op::Sinh,
      Op::Tan, Op::Tanh, Op::Exp, Op::Log, Op::Sqrt, Op::Erf, Op::Reciprocal, Op::Ceil, Op::Floor, Op::Round,
      Op::Sigmoid, Op::Elu, Op::Celu, Op::Selu, Op::Gelu, Op::LeakyRelu, Op::HardSigmoid, Op::HardSwish,
      Op::Mish, Op::Softplus, Op::Softsign, Op::ThresholdedRelu, Op::Swish, Op::Softmax, Op::LogSoftmax,
      Op::Hardmax, Op::Conv, Op::ConvTranspose, Op::BatchNormalization, Op::InstanceNormalization,
      Op::LayerNormalization, Op::GroupNormalization, Op::RMSNormalization, Op::LRN, Op::LpNormalization,
      Op::AveragePool, Op::GlobalAveragePool, Op::GlobalMaxPool, Op::LpPool, Op::GlobalLpPool}},
    {ElementKind::Truth, {Op::And, Op::Or, Op::Xor, Op::Not}},
    {ElementKind::Integer, {Op::BitwiseAnd, Op::BitwiseOr, Op::BitwiseXor, Op::BitwiseNot, Op::BitShift}},
    {ElementKind::Byte, {Op::MatMulInteger, Op::ConvInteger, Op::QLinearConv, Op::QLinearMatMul}},
    {ElementKind::Number,
     {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Mod, Op::Pow, Op::Min, Op::Max, Op::Sum, Op::Mean, Op::Neg,
      Op::Abs, Op::Sign, Op::Relu, Op::PRelu, Op::Clip, Op::MatMul, Op::Gemm, Op::Less, Op::LessOrEqual,
      Op::Greater, Op::GreaterOrEqual}},
};

struct OperandRow {
    Op op;
    size_t operand;
    ElementKind kind;
};

const OperandRow operands[] = {
    {Op::Where, 0, ElementKind::Truth},
    {Op::If, 0, ElementKind::Truth},
    {Op::Gather, 1, ElementKind::Index},
    {Op::GatherElements, 1, ElementKind::Index},
    {Op::Reshape, 1, ElementKind::Index},
    {Op::Expand, 1, ElementKind::Index},
    // Scales of products of bytes, and what the result is quantised to.
    {Op::QLinearConv, 1, ElementKind::Float},
    {Op::QLinearConv, 4, ElementKind::Float},
    {Op::QLinearConv, 6, ElementKind::Float},
    {Op::QLinearConv, 8, ElementKind::Index},
    {Op::QLinearMatMul, 1, ElementKind::Float},
    {Op::QLinearMatMul, 4, ElementKind::Float},
    {Op::QLinearMatMul, 6, ElementKind::Float},
};

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
// clang-format on

bool contains(std::initializer_list<Op> ops, Op op) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
}

} // namespace

ElementKind elementKindOf(Op op, size_t operand) {
    for (const OperandRow& row : operands)
        if (row.op == op && row.operand == operand)
            return row.kind;
    for (const KindRow& row : elementKinds)
        if (contains(row.ops, op))
            return row.kind;
    return ElementKind::Any;
}

bool isOf(ElementKind kind, DType type) {
    switch (kind) {
    case ElementKind::Any:
        return true;
    case ElementKind::Number:
        return isFloat(type) || isInteger(type);
    case ElementKind::Float:
        return isFloat(type);
    case ElementKind::Integer:
        return isInteger(type);
    case ElementKind::Byte:
        return type == DType::Int8 || type == DType::UInt8;
    case ElementKind::Index:
        return type == DType::Int32 || type == DType::Int64;
    case ElementKind::Truth:
        return type == DType::Bool;
    }
    return true;
}

const char* nameOf(ElementKind kind) {
    constexpr const char* names[] = {
        "any type",      "a number",       "a float type", "an integer type",
        "int8 or uint8", "int32 or int64", "bool"};
    return names[static_cast<size_t>(kind)];
}

std::span<const char* const> valuesOf(Op op, std::string_view attribute) {
    for (const ValueRow& row : values)
        if (row.attribute == attribute && (row.ops.size() == 0 || contains(row.ops, op)))
            return row.values;
    return {};
}

bool isFlag(std::string_view attribute) {
    return std::find(std::begin(flags), std::end(flags), attribute) != std::end(flags);
}

} // namespace fuselage
