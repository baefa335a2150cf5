// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/routine_work.h"

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

constexpr double perSample = 150;   ///< to find the neighbours of a place, for each axis
constexpr double perUpdate = 30;    ///< of one element at an index, which may be anywhere
constexpr double perCandidate = 14; ///< of an element that may be one of the best
constexpr double perRunningSum = 2;
constexpr double perCubicElement = 8;
constexpr double perTap = 1.5;
constexpr double perPassOfState = 1.5; ///< of an element, which is loaded and stored as well
constexpr double perRegionSample = 12;
constexpr double usualSamples = 4; ///< of a bin of a region, where its size decides

class Operands {
public:
    Operands(const Graph& graph, const Node& node) : m_graph(graph), m_node(node) {}

    Extents input(size_t i) const {
        return i < m_node.inputs.size() && m_node.inputs[i].valid() ? of(m_node.inputs[i])
                                                                    : Extents{};
    }

    double inputCount(size_t i) const {
        return i < m_node.inputs.size() && m_node.inputs[i].valid() ? count(m_node.inputs[i]) : 0;
    }

    double results() const {
        double out = 0;
        for (ValueId output : m_node.outputs)
            out += output.valid() ? count(output) : 0;
        return out;
    }

private:
    Extents of(ValueId value) const {
        return m_graph.value(value).type.extents().value_or(Extents{});
    }

    double count(ValueId value) const {
        return static_cast<double>(m_graph.value(value).type.elementCount().value_or(0));
    }

    const Graph& m_graph;
    const Node& m_node;
};

double extentOf(const Extents& extents, size_t axis) {
    return axis < extents.size() ? static_cast<double>(extents[axis]) : 0;
}

/// Places in an image of `dims` axes; each of the results reads the neighbours of one.
RoutineWork ofGrid(const Node& node, const Operands& operands) {
    const double dims = extentOf(operands.input(1), operands.input(1).size() - 1);
    const std::string mode = node.attributes.string("mode", "bilinear");
    const double along = mode == "nearest" ? 1 : mode == "cubic" || mode == "bicubic" ? 4 : 2;
    return {operands.results() * std::pow(along, dims) * perTap +
                operands.inputCount(1) * perSample,
            0};
}

RoutineWork ofRegions(const Node& node, const Operands& operands) {
    const double ratio = static_cast<double>(node.attributes.integer("sampling_ratio"));
    const double samples = ratio > 0 ? ratio * ratio : usualSamples;
    return {operands.results() * perRegionSample * samples, 0};
}

/// Offsets are two for each place; the samples of all channels meet the weights.
RoutineWork ofDeformed(const Operands& operands) {
    const Extents x = operands.input(0), w = operands.input(1);
    const double kernel = extentOf(w, 2) * extentOf(w, 3);
    const double pixels = operands.results() / std::max(extentOf(x, 0) * extentOf(w, 0), 1.0);
    return {extentOf(x, 0) * extentOf(x, 1) * kernel * pixels * 4 * perTap +
                operands.inputCount(2) / 2 * perSample,
            operands.results() * extentOf(w, 1) * kernel};
}

/// Each step's product with the state waits for the one before.
RoutineWork ofRecurrent(const Operands& operands) {
    const Extents x = operands.input(0), w = operands.input(1), r = operands.input(2);
    const double rows = extentOf(x, 0) * extentOf(x, 1);
    return {operands.results(),
            rows * extentOf(w, 0) * extentOf(w, 1) * (extentOf(w, 2) + extentOf(r, 2))};
}

/// Each of the results is one sum over K.
RoutineWork ofGatherMatMul(const Operands& operands) {
    const Extents x = operands.input(0);
    return {operands.results(), operands.results() * (x.empty() ? 0 : extentOf(x, x.size() - 1))};
}

/// Weights of a few bits: each of the results is one sum over K.
RoutineWork ofBlockedWeights(const Node& node, const Operands& operands) {
    return {operands.results(),
            operands.results() * static_cast<double>(node.attributes.integer("K", 0))};
}

/// Every token changes and reads the whole state.
RoutineWork ofLinearRecurrence(const Operands& operands) {
    const Extents query = operands.input(1);
    const double passes = 1 + extentOf(query, 3) + (operands.inputCount(5) > 0 ? 1 : 0);
    return {operands.results(),
            operands.inputCount(0) * extentOf(query, 1) * passes * perPassOfState};
}

} // namespace

RoutineWork routineWork(const Graph& graph, const Node& node) {
    const Operands operands(graph, node);
    switch (node.op) {
    case Op::TopK:
        return {operands.inputCount(0) * perCandidate, 0};
    case Op::CumProd:
    case Op::CumSum:
        return {operands.results() * perRunningSum, 0};
    case Op::DFT:
    case Op::STFT:
        return {operands.results() * std::log2(2 + operands.results()), 0};
    case Op::GridSample:
        return ofGrid(node, operands);
    case Op::RoiAlign:
        return ofRegions(node, operands);
    case Op::DeformConv:
        return ofDeformed(operands);
    case Op::ScatterElements:
        return {operands.results() + operands.inputCount(2) * perUpdate, 0};
    case Op::GatherMatMul:
        return ofGatherMatMul(operands);
    case Op::MatMulNBits:
        return ofBlockedWeights(node, operands);
    case Op::LinearRecurrence:
        return ofLinearRecurrence(operands);
    case Op::GRU:
    case Op::LSTM:
    case Op::RNN:
        return ofRecurrent(operands);
    case Op::Resize:
    case Op::Upsample:
        return {operands.results() *
                    (node.attributes.string("mode", "nearest") == "cubic" ? perCubicElement : 1),
                0};
    default:
        return {operands.results(), 0};
    }
}

} // namespace fuselage
