// SPDX-License-Identifier: Apache-2.0
#include "core/ops/activation.h"

#include "core/ops/elementwise.h"

#include <cmath>
#include <numbers>

namespace fuselage {

namespace {

using In = std::span<const Scalar>;

Scalar exp(Scalar x) {
    return unary(TapeOp::Exp, x);
}

Scalar zeroLike(Scalar x) {
    return x.tape().constant(x.type(), 0);
}

Scalar oneLike(Scalar x) {
    return x.tape().constant(x.type(), 1);
}

Scalar sigmoid(Scalar x) {
    return 1.0 / (1.0 + exp(-x));
}

// log(1 + exp(x)) without overflow.
Scalar softplus(Scalar x) {
    return max(x, zeroLike(x)) + unary(TapeOp::Log1p, exp(-unary(TapeOp::Abs, x)));
}

Scalar geluByErf(Scalar x) {
    return 0.5 * x * (1.0 + unary(TapeOp::Erf, x * (1.0 / std::numbers::sqrt2)));
}

Scalar geluByTanh(Scalar x) {
    const double scale = std::sqrt(2.0 / std::numbers::pi);
    return 0.5 * x * (1.0 + unary(TapeOp::Tanh, scale * (x + 0.044715 * (x * x * x))));
}

Scalar reluTape(TapeBuilder&, const Node&, In in) {
    return max(in[0], zeroLike(in[0]));
}

Scalar leakyTape(TapeBuilder&, const Node& node, In in) {
    return select(in[0] < zeroLike(in[0]), node.attributes.number("alpha", 0.01) * in[0], in[0]);
}

Scalar preluTape(TapeBuilder&, const Node&, In in) {
    return select(in[0] < zeroLike(in[0]), in[1] * in[0], in[0]);
}

Scalar eluTape(TapeBuilder&, const Node& node, In in) {
    Scalar negative = node.attributes.number("alpha", 1.0) * (exp(in[0]) - 1.0);
    return select(in[0] < zeroLike(in[0]), negative, in[0]);
}

Scalar celuTape(TapeBuilder&, const Node& node, In in) {
    double alpha = node.attributes.number("alpha", 1.0);
    Scalar negative = alpha * (exp(in[0] / alpha) - 1.0);
    return max(in[0], zeroLike(in[0])) + min(negative, zeroLike(in[0]));
}

Scalar seluTape(TapeBuilder&, const Node& node, In in) {
    double alpha = node.attributes.number("alpha", 1.6732632);
    Scalar negative = alpha * exp(in[0]) - alpha;
    Scalar bent = select(in[0] <= zeroLike(in[0]), negative, in[0]);
    return node.attributes.number("gamma", 1.0507009) * bent;
}

Scalar unitClip(Scalar x) {
    return max(zeroLike(x), min(oneLike(x), x));
}

Scalar hardSigmoidTape(TapeBuilder&, const Node& node, In in) {
    return unitClip(node.attributes.number("alpha", 0.2) * in[0] +
                    node.attributes.number("beta", 0.5));
}

Scalar hardSwishTape(TapeBuilder&, const Node&, In in) {
    return in[0] * unitClip((1.0 / 6.0) * in[0] + 0.5);
}

Scalar thresholdedTape(TapeBuilder& tape, const Node& node, In in) {
    Scalar alpha = tape.constant(in[0].type(), node.attributes.number("alpha", 1.0));
    return select(alpha < in[0], in[0], zeroLike(in[0]));
}

// Integers go through double, since lambd and bias are floats.
Scalar shrinkTape(TapeBuilder& tape, const Node& node, In in) {
    DType wide = isFloat(in[0].type()) ? in[0].type() : DType::Float64;
    Scalar x = cast(in[0], wide);
    Scalar lambd = tape.constant(wide, node.attributes.number("lambd", 0.5));
    double bias = node.attributes.number("bias", 0.0);
    Scalar high = select(lambd < x, x - bias, zeroLike(x));
    return cast(select(x < -lambd, x + bias, high), in[0].type());
}

Scalar geluTape(TapeBuilder&, const Node& node, In in) {
    return node.attributes.string("approximate") == "tanh" ? geluByTanh(in[0]) : geluByErf(in[0]);
}

Scalar fastGeluTape(TapeBuilder&, const Node&, In in) {
    return geluByTanh(in.size() > 1 ? in[0] + in[1] : in[0]);
}

Scalar swishTape(TapeBuilder&, const Node& node, In in) {
    return in[0] * sigmoid(node.attributes.number("alpha", 1.0) * in[0]);
}

OpRow microsoft(OpRow row, int minInputs) {
    row.domain = "com.microsoft";
    row.minInputs = minInputs;
    return row;
}

} // namespace

std::span<const OpRow> activationRows() {
    static const OpRow rows[] = {
        elementwiseRow(Op::Relu, "Relu", 1, "X", 1, reluTape),
        elementwiseRow(Op::LeakyRelu, "LeakyRelu", 1, "X", 1, leakyTape, 0, "alpha:float=0.01"),
        elementwiseRow(Op::PRelu, "PRelu", 1, "X slope", 2, preluTape),
        elementwiseRow(Op::Elu, "Elu", 1, "X", 1, eluTape, 0, "alpha:float=1.0"),
        elementwiseRow(Op::Celu, "Celu", 12, "X", 1, celuTape, 0, "alpha:float=1.0"),
        elementwiseRow(Op::Selu, "Selu", 1, "X", 1, seluTape, 0,
                       "alpha:float=1.67326319217681884765625 "
                       "gamma:float=1.05070102214813232421875"),
        elementwiseRow(Op::Sigmoid, "Sigmoid", 1, "X", 1,
                       [](TapeBuilder&, const Node&, In in) { return sigmoid(in[0]); }),
        elementwiseRow(Op::HardSigmoid, "HardSigmoid", 1, "X", 1, hardSigmoidTape, 0,
                       "alpha:float=0.2 beta:float=0.5"),
        elementwiseRow(Op::HardSwish, "HardSwish", 14, "X", 1, hardSwishTape),
        elementwiseRow(Op::Softplus, "Softplus", 1, "X", 1,
                       [](TapeBuilder&, const Node&, In in) { return softplus(in[0]); }),
        elementwiseRow(Op::Softsign, "Softsign", 1, "input", 1,
                       [](TapeBuilder&, const Node&, In in) {
                           return in[0] / (1.0 + unary(TapeOp::Abs, in[0]));
                       }),
        elementwiseRow(Op::Mish, "Mish", 18, "X", 1,
                       [](TapeBuilder&, const Node&, In in) {
                           return in[0] * unary(TapeOp::Tanh, softplus(in[0]));
                       }),
        elementwiseRow(Op::Swish, "Swish", 24, "X", 1, swishTape, 0, "alpha:float=1.0"),
        elementwiseRow(Op::ThresholdedRelu, "ThresholdedRelu", 10, "X", 1, thresholdedTape,
                       Discontinuous, "alpha:float=1.0"),
        elementwiseRow(Op::Shrink, "Shrink", 9, "input", 1, shrinkTape, Discontinuous,
                       "bias:float=0.0 lambd:float=0.5"),
        elementwiseRow(Op::Gelu, "Gelu", 20, "X", 1, geluTape, 0, "approximate:string='none'"),
        microsoft(elementwiseRow(
                      Op::BiasGelu, "BiasGelu", 1, "A B", 2,
                      [](TapeBuilder&, const Node&, In in) { return geluByErf(in[0] + in[1]); },
                      Commutative),
                  2),
        microsoft(elementwiseRow(Op::FastGelu, "FastGelu", 1, "X bias", 2, fastGeluTape), 1),
        microsoft(elementwiseRow(
                      Op::QuickGelu, "QuickGelu", 1, "X", 1,
                      [](TapeBuilder&, const Node& node, In in) {
                          double alpha = node.attributes.number("alpha", 1.702);
                          return in[0] * sigmoid(alpha * in[0]);
                      },
                      0, "alpha:float=1.702"),
                  1),
    };
    return rows;
}

} // namespace fuselage
