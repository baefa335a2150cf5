// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/pair_lint_internal.h"
#include "core/ops/blocked_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::quantize {

namespace {

const Tensor* constantAt(const Graph& graph, const Node& node, size_t slot) {
    const bool given = slot < node.inputs.size() && node.inputs[slot].valid();
    return given ? graph.value(node.inputs[slot]).constant.get() : nullptr;
}

bool isGiven(const Node& node, size_t slot) {
    return slot < node.inputs.size() && node.inputs[slot].valid();
}

/// Element `i`, of one that counts for all where there is one only; 0 where there is none.
double numberAt(const Tensor* tensor, int64_t i) {
    return tensor ? tensor->at(tensor->elementCount() == 1 ? 0 : i) : 0;
}

/// The first index where the two differ; none where they agree.
std::optional<int64_t> firstDifference(const Tensor* a, const Tensor* b) {
    const int64_t sizes[] = {a ? a->elementCount() : 1, b ? b->elementCount() : 1};
    if (sizes[0] != sizes[1] && sizes[0] != 1 && sizes[1] != 1)
        return 0;
    for (int64_t i = 0; i < std::max(sizes[0], sizes[1]); ++i) {
        const double x = numberAt(a, i), y = numberAt(b, i);
        if (x != y && !(std::isnan(x) && std::isnan(y)))
            return i;
    }
    return std::nullopt;
}

} // namespace

std::optional<PairFinding> scaleFinding(const Graph& graph, const Node& node) {
    const Tensor* scale = constantAt(graph, node, 1);
    if (!scale || scale->dtype() == DType::String)
        return std::nullopt;
    for (int64_t i = 0; i < scale->elementCount(); ++i) {
        const double step = scale->at(i);
        if (std::isfinite(step) && step > 0)
            continue;
        const std::string at = scale->elementCount() == 1 ? "" : fmt::format(" at index {}", i);
        return PairFinding{PairLint::Scale, node.name,
                           fmt::format("the scale is {}{}, and only a positive number stores others"
                                       " in steps of it",
                                       step, at),
                           "calibrate again; of what is always 0 any positive scale will do"};
    }
    return std::nullopt;
}

std::optional<PairFinding> misfitFinding(const Graph& graph, const Node& node) {
    const auto typeAt = [&](size_t slot) {
        return isGiven(node, slot) ? &graph.value(node.inputs[slot]).type : nullptr;
    };
    const bool isPair = node.op == Op::QuantizeLinear || node.op == Op::DequantizeLinear;
    if ((!isPair && node.op != Op::MatMulNBits) || !typeAt(0) || !typeAt(1))
        return std::nullopt;
    std::optional<Misfit> misfit;
    if (isPair)
        misfit = scaleMisfit(node, *typeAt(0), *typeAt(1), typeAt(2));
    else if (const auto geometry = BlockedWeights::of(node); geometry && typeAt(2))
        misfit = geometry->misfit(*typeAt(1), *typeAt(2), typeAt(3));
    if (!misfit)
        return std::nullopt;
    return PairFinding{PairLint::Misfit, node.name, std::move(misfit->message),
                       std::move(misfit->fix)};
}

std::optional<PairFinding> unequalFinding(const Graph& graph, const Node& node, const Node& store) {
    constexpr const char* words[] = {"scale", "zero point"};
    for (size_t slot : {1, 2}) {
        const Tensor* here = constantAt(graph, node, slot);
        const Tensor* there = constantAt(graph, store, slot);
        if ((isGiven(node, slot) && !here) || (isGiven(store, slot) && !there))
            return std::nullopt; // computed: nobody knows
        const auto at = firstDifference(here, there);
        if (!at)
            continue;
        const char* word = words[slot - 1];
        return PairFinding{PairLint::Unequal, node.name,
                           fmt::format("its {} is {}, `{}` in front of it stores with {}", word,
                                       numberAt(here, *at), store.name, numberAt(there, *at)),
                           fmt::format("give both nodes one {}: what lies between them is no "
                                       "rounding any more but a change of values",
                                       word)};
    }
    return std::nullopt;
}

bool hasZeroPoint(const Graph& graph, const Node& node) {
    const Tensor* zero = constantAt(graph, node, 2);
    for (int64_t i = 0; zero && i < zero->elementCount(); ++i)
        if (zero->intAt(i) != 0)
            return true;
    return false;
}

} // namespace fuselage::quantize
