// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/tape_cost.h"

namespace fuselage {

TapeCost costOf(TapeOp op) {
    switch (op) {
    case TapeOp::Erf:
        return {24, true};
    case TapeOp::Pow:
        return {20, true};
    case TapeOp::Tanh:
    case TapeOp::Sinh:
    case TapeOp::Cosh:
    case TapeOp::Sin:
    case TapeOp::Cos:
    case TapeOp::Tan:
    case TapeOp::Asin:
    case TapeOp::Acos:
    case TapeOp::Atan:
    case TapeOp::Asinh:
    case TapeOp::Acosh:
    case TapeOp::Atanh:
        return {16, true};
    case TapeOp::Mod:
    case TapeOp::Fmod:
        return {16, false};
    case TapeOp::Exp:
    case TapeOp::Log:
    case TapeOp::Log1p:
        return {6, true};
    case TapeOp::Div:
        return {6, false};
    case TapeOp::Sqrt:
        return {4, true};
    default:
        return {};
    }
}

} // namespace fuselage
