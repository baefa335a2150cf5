// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/activation_match.h"

#include "core/ops/tape_interpreter.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace fuselage {

namespace {

/// The instructions that `result` needs, with `argument` as the only input; nothing when another
/// input is needed.
std::optional<Tape> functionBetween(const Tape& tape, uint16_t argument, uint16_t result) {
    std::vector<bool> needed(tape.code.size(), false);
    needed[result] = true;
    for (size_t i = tape.code.size(); i-- > 0;) {
        if (!needed[i] || i == argument)
            continue;
        if (tape.code[i].op == TapeOp::Input)
            return std::nullopt;
        for (int k = 0; k < operandCount(tape.code[i].op); ++k)
            needed[tape.code[i].operand[k]] = true;
    }
    if (!needed[argument] || !isFloat(tape.type(argument)) || !isFloat(tape.type(result)))
        return std::nullopt;
    Tape out;
    out.inputs = {tape.type(argument)};
    std::vector<uint16_t> renamed(tape.code.size(), 0);
    for (size_t i = 0; i < tape.code.size(); ++i) {
        if (!needed[i])
            continue;
        TapeInstruction x = tape.code[i];
        if (i == argument)
            x = {TapeOp::Input, tape.type(argument)};
        else
            for (int k = 0; k < operandCount(x.op); ++k)
                x.operand[k] = renamed[x.operand[k]];
        renamed[i] = static_cast<uint16_t>(out.code.size());
        out.code.push_back(x);
    }
    out.outputs = {renamed[result]};
    return out;
}

/// Where to compare: ordinary values, very large ones, and both sides of every constant.
std::vector<double> probePoints(const Tape& function) {
    std::vector<double> points = {0, 1e4, -1e4, 1e9, -1e9, 30, -30, 80, -80};
    for (double x : {0.001, 0.03, 0.2, 0.5, 0.9, 1.3, 1.9, 2.4, 3.1, 3.7, 4.4, 5.2, 5.9, 6.3, 9.0})
        points.insert(points.end(), {x, -x});
    for (const TapeInstruction& x : function.code) {
        if (x.op != TapeOp::Constant || !std::isfinite(x.number) || points.size() > 200)
            continue;
        double step = 1e-3 * std::max(1.0, std::abs(x.number));
        for (double at : {x.number - step, x.number, x.number + step})
            points.insert(points.end(), {at, -at});
    }
    return points;
}

std::vector<double> evaluateAt(const Tape& function, const std::vector<double>& points) {
    TapeBlock block(function);
    for (size_t reg = 0; reg < function.code.size(); ++reg)
        if (function.code[reg].op == TapeOp::Input)
            std::copy(points.begin(), points.end(), block.floats(static_cast<uint16_t>(reg)));
    block.run(points.size());
    const double* result = block.floats(function.outputs[0]);
    return {result, result + points.size()};
}

double logistic(double x) {
    return 1 / (1 + std::exp(-x));
}

double softplus(double x) {
    return x > 30 ? x : std::log1p(std::exp(x));
}

double apply(const MatchedActivation& f, double x) {
    switch (f.kind) {
    case Activation::Relu:
        return x > 0 ? x : f.alpha * x;
    case Activation::Clip:
        return std::clamp(x, f.alpha, f.beta);
    case Activation::Elu:
        return x > 0 ? x : f.alpha * std::expm1(x);
    case Activation::Tanh:
        return std::tanh(x);
    case Activation::Logistic:
        return logistic(x);
    case Activation::GeluErf:
        return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
    case Activation::GeluTanh:
        return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case Activation::Swish:
        return x * logistic(f.alpha * x);
    case Activation::Hardswish:
        return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case Activation::Softplus:
        return softplus(x);
    case Activation::Mish:
        return x * std::tanh(softplus(x));
    case Activation::Abs:
        return std::abs(x);
    case Activation::Square:
        return x * x;
    case Activation::Sqrt:
        return std::sqrt(x);
    case Activation::Exp:
        return std::exp(x);
    case Activation::Linear:
        return f.alpha * x + f.beta;
    case Activation::ClipLinear:
        return std::clamp(f.alpha * x + f.beta, 0.0, 1.0);
    }
    return std::nan("");
}

bool agrees(const MatchedActivation& f, const std::vector<double>& points,
            const std::vector<double>& values, double tolerance) {
    for (size_t i = 0; i < points.size(); ++i) {
        double expected = apply(f, points[i]);
        if (std::isnan(expected) || std::isnan(values[i])) {
            if (std::isnan(expected) != std::isnan(values[i]))
                return false;
            continue;
        }
        if (expected == values[i])
            continue;
        // In 16 bits large values are infinite, and near an infinity anything would be.
        if (!std::isfinite(expected) || !std::isfinite(values[i]))
            return false;
        if (!(std::abs(expected - values[i]) <= 1e-6 + tolerance * std::abs(expected)))
            return false;
    }
    return true;
}

/// Candidates with their parameters read off a few values of the function.
std::vector<MatchedActivation> candidates(const std::function<double(double)>& f) {
    double low = f(-1e30), high = f(1e30);
    double slope = (f(0.25) - f(-0.25)) * 2;
    double share = f(1); // of a swish: logistic(alpha)
    std::vector<MatchedActivation> out = {
        {Activation::Relu, 0, 0},
        {Activation::Relu, -f(-1), 0},
        {Activation::Clip, low, high},
        {Activation::Elu, -f(-100), 0},
        {Activation::Tanh},
        {Activation::Logistic},
        {Activation::GeluErf},
        {Activation::GeluTanh},
        {Activation::Hardswish},
        {Activation::Softplus},
        {Activation::Mish},
        {Activation::Abs},
        {Activation::Square},
        {Activation::Sqrt},
        {Activation::Exp},
        {Activation::Linear, f(1) - f(0), f(0)},
        {Activation::ClipLinear, slope, f(0)},
    };
    if (share > 0 && share < 1)
        out.push_back({Activation::Swish, std::log(share / (1 - share)), 0});
    return out;
}

} // namespace

bool isExact(const MatchedActivation& activation) {
    switch (activation.kind) {
    case Activation::Relu:
    case Activation::Clip:
    case Activation::Abs:
    case Activation::Square:
    case Activation::Sqrt:
        return true;
    case Activation::Linear:
        return activation.beta == 0 || activation.alpha == 1;
    default:
        return false;
    }
}

std::optional<MatchedActivation> matchActivation(const Tape& tape, uint16_t argument,
                                                 uint16_t result, double tolerance) {
    std::optional<Tape> function = functionBetween(tape, argument, result);
    if (!function || !wellTyped(*function))
        return std::nullopt;
    std::vector<double> points = probePoints(*function);
    std::vector<double> values = evaluateAt(*function, points);
    auto at = [&](double x) { return evaluateAt(*function, {x})[0]; };
    auto fits = [&](const MatchedActivation& f, double within) {
        if (f.kind == Activation::Clip && !(f.alpha <= f.beta))
            return false;
        return !std::isnan(f.alpha) && !std::isnan(f.beta) && agrees(f, points, values, within);
    };
    // The exact ones first: a wide tolerance must not take a neighbour of what fits.
    const std::vector<MatchedActivation> known = candidates(at);
    for (double within : {std::min(tolerance, exactActivation), tolerance})
        for (const MatchedActivation& f : known) {
            if (!fits(f, within))
                continue;
            // ReLU6 and friends: libraries want finite bounds, and float's are wide enough.
            constexpr double widest = 3.4028234e38;
            MatchedActivation out = f;
            out.alpha = std::clamp(out.alpha, -widest, widest);
            out.beta = std::clamp(out.beta, -widest, widest);
            return out;
        }
    return std::nullopt;
}

} // namespace fuselage
