// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/few_columns.h"

#include <algorithm>

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

} // namespace

bool wastesLanes(const Contraction& program, const MatchedEpilogue& epilogue) {
    constexpr int64_t fewColumns = 4;
    return columnsOf(program) < fewColumns &&
           std::any_of(epilogue.postOps.begin(), epilogue.postOps.end(), [](const PostOp& op) {
               return op.kind == PostOp::Kind::Activate && takesLong(op.activation.kind);
           });
}

} // namespace fuselage::cpu
