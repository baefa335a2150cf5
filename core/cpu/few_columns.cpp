// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/few_columns.h"

#include <algorithm>
#include <cmath>

namespace fuselage::cpu {

namespace {

bool takesLong(Activation function) {
    switch (function) {
    case Activation::Elu:
    case Activation::Tanh:
    case Activation::Logistic:
    case Activation::GeluErf:
    case Activation::GeluTanh:
    case Activation::Swish:
    case Activation::Softplus:
    case Activation::Mish:
    case Activation::Exp:
        return true;
    default:
        return false;
    }
}

int64_t columnsOf(const Contraction& program) {
    if (program.kind != Contraction::Kind::MatMul)
        return program.space[1];
    int64_t out = 1;
    for (size_t d = program.batchDims + program.mDims; d < program.space.size(); ++d)
        out *= program.space[d];
    return out;
}

/// Lane instructions of a post-op, about.
double priceOf(const PostOp& op) {
    constexpr double function = 20, hard = 5, other = 2;
    if (op.kind != PostOp::Kind::Activate)
        return other;
    if (takesLong(op.activation.kind))
        return function;
    return op.activation.kind == Activation::Hardswish ? hard : 1;
}

} // namespace

bool wastesLanes(const Contraction& program, const MatchedEpilogue& epilogue) {
    // A pass loads and stores, and is one call more.
    constexpr double lanes = 16, ofPass = 16, ofCall = 400;
    double ops = 0;
    for (const PostOp& op : epilogue.postOps)
        ops += priceOf(op);
    const auto columns = static_cast<double>(columnsOf(program));
    const auto results = static_cast<double>(elementCount(program.space).value_or(0));
    return columns > 0 && results / lanes * (ops + ofPass) + ofCall <
                              results / columns * std::ceil(columns / lanes) * ops;
}

} // namespace fuselage::cpu
