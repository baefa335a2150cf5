// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/sides.h"

#include "app/pipeline/compiled.h"
#include "core/graph/text.h"
#include "core/ops/op_table.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace fuselage::app {

namespace {

/// What float32 (or 16 bits) makes of numbers that are too large or too small for it.
class Range {
public:
    Range(const Graph& graph, const std::vector<ReferenceValue>& inner,
          const std::unordered_map<ValueId, size_t>& places)
        : m_graph(graph), m_inner(inner), m_places(places) {}

    /// Exact numbers have no end: one that is finite and not as its type stores it has overflowed,
    /// as has one that is infinite without a pole, or none of numbers whose squares have no double.
    bool overflows(NodeId id) const {
        const Node& node = m_graph.node(id);
        const bool hasPole = node.op == Op::Div || node.op == Op::Reciprocal ||
                             node.op == Op::Log || node.op == Op::Pow || node.op == Op::Atanh ||
                             hasTrait(node.op, Normalization);
        constexpr double largestSquared = 1e150;
        const bool isAtEnd = any(node.inputs, [](const ReferenceValue&, double number) {
            return std::fabs(number) > largestSquared;
        });
        return any(node.outputs, [&](const ReferenceValue& value, double number) {
            if (std::isfinite(number))
                return std::isinf(roundTo(value.dtype, number));
            const bool isLost = std::isinf(number) ? !hasPole || isAtEnd : isAtEnd;
            return isLost && readsNumbersOnly(node);
        });
    }

    /// A power or a share that is never 0 became 0.
    bool underflows(NodeId id) const {
        const Node& node = m_graph.node(id);
        const bool positive = node.op == Op::Exp || node.op == Op::Softmax ||
                              node.op == Op::Sigmoid || node.op == Op::Softplus;
        return positive && readsNumbersOnly(node) &&
               any(node.outputs, [&](const ReferenceValue& value, double number) {
                   return roundTo(value.dtype, number) == 0;
               });
    }

    /// An integer is made of what is no number, which no document defines.
    bool convertsNone(NodeId id) const {
        const Node& node = m_graph.node(id);
        return (node.op == Op::QuantizeLinear || node.op == Op::Cast) && !readsNumbersOnly(node) &&
               !isFloat(m_graph.value(node.outputs[0]).type.dtype);
    }

private:
    template <typename Is> bool any(const std::vector<ValueId>& values, Is is) const {
        for (ValueId value : values) {
            const auto place = m_places.find(value);
            if (place == m_places.end())
                continue;
            const ReferenceValue& known = m_inner[place->second];
            if (known.kind == TypeKind::Tensor && isFloat(known.dtype) &&
                std::any_of(known.floats.begin(), known.floats.end(),
                            [&](double number) { return is(known, number); }))
                return true;
        }
        return false;
    }

    bool readsNumbersOnly(const Node& node) const {
        return !any(node.inputs,
                    [](const ReferenceValue&, double number) { return !std::isfinite(number); });
    }

    const Graph& m_graph;
    const std::vector<ReferenceValue>& m_inner;
    const std::unordered_map<ValueId, size_t>& m_places;
};

} // namespace

Result<Side> interpreted(const Graph& graph, const std::vector<Tensor>& inputs, Progress& progress,
                         std::optional<uint64_t> roundingSeed) {
    std::vector<ReferenceValue> values;
    for (const Tensor& input : inputs)
        values.push_back(ReferenceValue::from(input));
    std::vector<ValueId> kept = graph.inputs();
    for (NodeId id : graph.nodes())
        for (ValueId output : graph.node(id).outputs)
            if (output.valid())
                kept.push_back(output);
    ThreadPool threads(1);
    auto made = interpret(graph, std::move(values), threads, progress, kept, roundingSeed);
    if (!made)
        return failure(made.error());
    const size_t outputs = made->size() - kept.size();
    std::unordered_map<ValueId, size_t> places;
    for (size_t i = 0; i < kept.size(); ++i)
        places[kept[i]] = outputs + i;
    Side out;
    for (size_t i = 0; i < outputs; ++i)
        out.outputs.push_back((*made)[i].toTensor());
    for (const ReferenceValue& value : *made)
        if (value.kind == TypeKind::Tensor && isFloat(value.dtype))
            for (double number : value.floats)
                if (std::isfinite(number))
                    out.largest = std::max(out.largest, std::fabs(number));
    for (ValueId id : graph.values())
        if (const TensorPtr& tensor = graph.value(id).constant; tensor && isFloat(tensor->dtype()))
            for (int64_t i = 0; i < tensor->elementCount(); ++i)
                if (std::isfinite(tensor->at(i)))
                    out.largest = std::max(out.largest, std::fabs(tensor->at(i)));
    const Range range(graph, *made, places);
    for (NodeId id : graph.nodes()) {
        const std::string node = text(graph, id);
        if (out.overflow.empty() && range.overflows(id))
            out.overflow = node;
        if (out.unsettled.empty() && (range.underflows(id) || range.convertsNone(id)))
            out.unsettled = node;
    }
    return out;
}

Result<Side> lowered(const Rule& rule, const Graph& graph, const std::vector<Tensor>& inputs,
                     Kernels how) {
    CompileOptions options;
    options.threads = 1;
    options.strict = how == Kernels::Strict;
    options.oneKernelPerNode = how == Kernels::OnePerNode;
    options.allowed = {{rule.name, rule.numeric}};
    auto compiled = CompiledGraph::compile(graph.clone(), options);
    if (!compiled)
        return failure(compiled.error());
    auto outputs = compiled->run(inputs);
    if (!outputs)
        return failure(outputs.error());
    return Side{std::move(*outputs), {}, {}, 0};
}

std::vector<double> spreadOf(const Graph& graph, const std::vector<Tensor>& inputs,
                             const Side& exact, size_t output, Progress& progress) {
    constexpr uint64_t tries = 6;
    const Tensor& middle = exact.outputs[output];
    std::vector<double> out(static_cast<size_t>(middle.elementCount()), 0);
    for (uint64_t seed = 1; seed <= tries; ++seed)
        if (auto moved = interpreted(graph, inputs, progress, seed))
            for (int64_t i = 0; i < middle.elementCount(); ++i) {
                const double gap = std::fabs(moved->outputs[output].at(i) - middle.at(i));
                if (gap > out[static_cast<size_t>(i)])
                    out[static_cast<size_t>(i)] = gap;
            }
    return out;
}

} // namespace fuselage::app
