// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/match_errors.h"

#include "app/pipeline/verify.h"

#include <algorithm>
#include <map>

namespace fuselage::app {

namespace {

constexpr int64_t mostElements = int64_t{1} << 25; ///< kept as doubles

/// Outputs of the fused nodes, in the order of the graph.
std::vector<ValueId> outputsOfFused(const Graph& graph) {
    std::vector<ValueId> out;
    for (NodeId id : graph.nodes())
        if (graph.node(id).body)
            for (ValueId value : graph.node(id).outputs)
                if (value.valid())
                    out.push_back(value);
    return out;
}

/// What is stored in 16 bits, as numbers of the model's own type.
Tensor widened(const Tensor& stored, DType wanted) {
    if (!isFloat(stored.dtype()) || !isFloat(wanted) || stored.dtype() == wanted)
        return stored;
    Tensor out(wanted, stored.extents());
    for (int64_t i = 0; i < stored.elementCount(); ++i)
        out.set(i, stored.at(i));
    return out;
}

/// The error of every value of `kept` by its name.
Result<std::map<std::string, double>> errorsOf(const Graph& model, const std::vector<ValueId>& kept,
                                               std::span<const ReferenceValue> expected,
                                               Graph fused, const CompileOptions& options,
                                               const std::vector<Tensor>& inputs) {
    std::map<std::string, size_t> outputs;
    for (size_t i = 0; i < fused.outputs().size(); ++i)
        outputs.emplace(fused.value(fused.outputs()[i]).name, i);
    for (ValueId id : kept) {
        const std::string& name = model.value(id).name;
        ValueId made = fused.findValue(name);
        if (made.valid() && outputs.emplace(name, fused.outputs().size()).second)
            fused.addOutput(made);
    }
    auto compiled = CompiledGraph::compile(std::move(fused), options);
    if (!compiled)
        return failure(compiled.error());
    auto values = compiled->run(inputs);
    if (!values)
        return failure(values.error());
    std::map<std::string, double> out;
    for (size_t i = 0; i < kept.size() && i < expected.size(); ++i) {
        const std::string& name = model.value(kept[i]).name;
        auto at = outputs.find(name);
        if (at == outputs.end())
            continue;
        Tensor actual = widened((*values)[at->second], expected[i].dtype);
        out[name] = compareOutput(name, "fused", expected[i], actual).maxRelative;
    }
    return out;
}

} // namespace

std::vector<ValueId> valuesOfMatches(const Graph& model, const Graph& fused) {
    std::vector<ValueId> out;
    int64_t elements = 0;
    for (ValueId made : outputsOfFused(fused)) {
        ValueId value = model.findValue(fused.value(made).name);
        if (!value.valid() || std::find(out.begin(), out.end(), value) != out.end())
            continue;
        elements += fused.value(made).type.elementCount().value_or(0);
        if (elements > mostElements)
            break;
        out.push_back(value);
    }
    return out;
}

Result<void> addMatchErrors(const Graph& model, const std::vector<ValueId>& kept,
                            std::span<const ReferenceValue> expected, const Graph& fused,
                            const CompileOptions& options, const std::vector<Tensor>& inputs,
                            Report& report) {
    auto errors = errorsOf(model, kept, expected, fused.clone(), options, inputs);
    if (!errors)
        return failure(errors.error());
    for (MatchReport& match : report.matches) {
        NodeId node = fused.findNode(match.fusedNode);
        if (!node.valid())
            continue;
        for (ValueId value : fused.node(node).outputs)
            if (auto at = value.valid() ? errors->find(fused.value(value).name) : errors->end();
                at != errors->end())
                match.error = std::max(match.error.value_or(0), at->second);
    }
    return {};
}

} // namespace fuselage::app
