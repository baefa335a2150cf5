// SPDX-License-Identifier: Apache-2.0
// The functions of gates by their names in ONNX, which no case matters in.
#include "core/ops/recurrent_activation.h"

#include "core/ops/recurrent.h"
#include "core/ops/recurrent_internal.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>

namespace fuselage {

namespace {

struct ActivationRow {
    const char* name;
    RecurrentFunctionName function;
    int parameters; ///< alpha, or alpha and beta
    double alpha;
    double beta;
};

constexpr ActivationRow activations[] = {
    {"sigmoid", RecurrentFunctionName::Sigmoid, 0, 0, 0},
    {"tanh", RecurrentFunctionName::Tanh, 0, 0, 0},
    {"relu", RecurrentFunctionName::Relu, 0, 0, 0},
    {"softsign", RecurrentFunctionName::Softsign, 0, 0, 0},
    {"softplus", RecurrentFunctionName::Softplus, 0, 0, 0},
    {"leakyrelu", RecurrentFunctionName::LeakyRelu, 1, 0.01, 0},
    {"thresholdedrelu", RecurrentFunctionName::ThresholdedRelu, 1, 1, 0},
    {"elu", RecurrentFunctionName::Elu, 1, 1, 0},
    {"affine", RecurrentFunctionName::Affine, 2, 1, 0},
    {"scaledtanh", RecurrentFunctionName::ScaledTanh, 2, 1, 1},
    {"hardsigmoid", RecurrentFunctionName::HardSigmoid, 2, 0.2, 0.5},
};

std::string lowered(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

} // namespace

double valueOf(const RecurrentActivation& function, double x) {
    const double a = function.alpha, b = function.beta;
    using Name = RecurrentFunctionName;
    switch (function.name) {
    case Name::Sigmoid:
        return 1 / (1 + std::exp(-x));
    case Name::Tanh:
        return std::tanh(x);
    case Name::Relu:
        return std::max(x, 0.0);
    case Name::Softsign:
        return x / (1 + std::abs(x));
    case Name::Softplus:
        return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case Name::LeakyRelu:
        return x >= 0 ? x : a * x;
    case Name::ThresholdedRelu:
        return x > a ? x : 0.0;
    case Name::Elu:
        return x >= 0 ? x : a * std::expm1(x);
    case Name::Affine:
        return a * x + b;
    case Name::ScaledTanh:
        return a * std::tanh(b * x);
    case Name::HardSigmoid:
        return std::clamp(a * x + b, 0.0, 1.0);
    }
    return x;
}

std::optional<std::vector<RecurrentActivation>> recurrentActivations(const Node& node) {
    const std::vector<std::string> usual =
        node.op == Op::RNN   ? std::vector<std::string>{"tanh"}
        : node.op == Op::GRU ? std::vector<std::string>{"sigmoid", "tanh"}
                             : std::vector<std::string>{"sigmoid", "tanh", "tanh"};
    const size_t directions =
        node.attributes.string("direction", "forward") == "bidirectional" ? 2 : 1;
    std::vector<std::string> names = node.attributes.strings("activations");
    if (names.empty())
        for (size_t i = 0; i < directions; ++i)
            names.insert(names.end(), usual.begin(), usual.end());
    if (names.size() != usual.size() * directions)
        return std::nullopt;
    const std::vector<double> alphas = node.attributes.numbers("activation_alpha");
    const std::vector<double> betas = node.attributes.numbers("activation_beta");
    size_t alphaAt = 0; // parameters are listed only for the functions that take them
    size_t betaAt = 0;
    std::vector<RecurrentActivation> out;
    for (const std::string& name : names) {
        const auto row = std::find_if(
            std::begin(activations), std::end(activations),
            [&](const ActivationRow& candidate) { return lowered(name) == candidate.name; });
        if (row == std::end(activations))
            return std::nullopt;
        RecurrentActivation function{row->function, row->alpha, row->beta};
        if (row->parameters >= 1 && alphaAt < alphas.size())
            function.alpha = alphas[alphaAt++];
        if (row->parameters >= 2 && betaAt < betas.size())
            function.beta = betas[betaAt++];
        out.push_back(function);
    }
    return out;
}

} // namespace fuselage
