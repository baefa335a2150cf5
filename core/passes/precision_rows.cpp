// SPDX-License-Identifier: Apache-2.0
#include "core/ops/op_table.h"
#include "core/passes/precision_rows_internal.h"

#include <algorithm>

namespace fuselage {

namespace {

constexpr const char* runningSum = "a sum that goes on from element to element loses its digits";
constexpr const char* counts = "16 bits do not hold consecutive numbers beyond 2048 or 256";
constexpr const char* ties = "scores that differ in float32 would become ties";
constexpr const char* coordinates = "coordinates need more digits than 16 bits have";
constexpr const char* state = "the state is rounded at every step, and no routine takes 16 bits";
constexpr const char* scales = "its scales are float32 in ONNX";
constexpr const char* cancels = "large terms cancel";
constexpr const char* range = "squares and products leave the range of float16";

struct KeptRow {
    Op op;
    const char* why;
    bool float16Only = false;
};

constexpr KeptRow keptRows[] = {
    {Op::CumSum, runningSum},
    {Op::CumProd, runningSum},
    {Op::Range, counts},
    {Op::TopK, ties},
    {Op::NonMaxSuppression, ties},
    {Op::Unique, ties},
    {Op::Hardmax, ties},
    {Op::RoiAlign, coordinates},
    {Op::MaxRoiPool, coordinates},
    {Op::GridSample, coordinates},
    {Op::AffineGrid, coordinates},
    {Op::DeformConv, coordinates},
    {Op::LSTM, state},
    {Op::GRU, state},
    {Op::RNN, state},
    {Op::DynamicQuantizeLSTM, state},
    {Op::QuantizeLinear, scales},
    {Op::DequantizeLinear, scales},
    {Op::DynamicQuantizeLinear, scales},
    {Op::QLinearConv, scales},
    {Op::QLinearMatMul, scales},
    {Op::Det, cancels},
    {Op::DFT, cancels},
    {Op::STFT, cancels},
    {Op::ReduceProd, range, true},
    {Op::ReduceSumSquare, range, true},
};

/// Families whose operators take and make 16-bit floats.
constexpr uint32_t narrowTraits =
    Elementwise | Reduction | View | DataMovement | ContractionOp | WindowOp | Normalization;

struct SlotRow {
    Op op;
    uint32_t first, last; ///< inclusive
};

constexpr SlotRow keptInputs[] = {
    {Op::BatchNormalization, 1, 4}, // scale and bias, mean and variance have types of their own
    {Op::Resize, 1, 2},             // roi, scales
    {Op::Upsample, 1, 1},
    {Op::GatherMatMul, 3, 4},     // scales and what codes are counted from
    {Op::LinearRecurrence, 0, 0}, // what every token changes,
    {Op::LinearRecurrence, 4, 4}, // and how much of it is kept
};

constexpr SlotRow keptOutputs[] = {
    {Op::BatchNormalization, 1, 4},
    {Op::LinearRecurrence, 0, 0},
    {Op::LayerNormalization, 1, 2}, // mean and inverse deviation have the stash type
    {Op::SimplifiedLayerNormalization, 1, 1},
    {Op::SkipLayerNormalization, 1, 2},
    {Op::SkipSimplifiedLayerNormalization, 1, 2},
};

template <size_t N> bool holds(const SlotRow (&rows)[N], Op op, uint32_t slot) {
    return std::any_of(std::begin(rows), std::end(rows), [&](const SlotRow& row) {
        return row.op == op && row.first <= slot && slot <= row.last;
    });
}

} // namespace

const char* whyKept(Op op, DType storage) {
    for (const KeptRow& row : keptRows)
        if (row.op == op && (!row.float16Only || storage == DType::Float16))
            return row.why;
    const bool random = hasTrait(op, Nondeterministic);
    // Products whose operands have a form of their own, which is no trait.
    const bool isProduct =
        op == Op::GatherMatMul || op == Op::LinearRecurrence || op == Op::MatMulNBits;
    return isProduct || (hasTrait(op, narrowTraits) && !random) ? nullptr
                                                                : "it has no 16-bit form here";
}

bool keepsInput(Op op, uint32_t slot) {
    return holds(keptInputs, op, slot);
}

bool keepsOutput(Op op, uint32_t slot) {
    return holds(keptOutputs, op, slot);
}

bool toleratesRaisedScalar(Op op) {
    switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Sum:
    case Op::Max:
    case Op::Min:
    case Op::Clip:
    case Op::Where:
        return true;
    default:
        return false;
    }
}

} // namespace fuselage
