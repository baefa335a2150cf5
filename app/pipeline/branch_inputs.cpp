// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/branch_inputs.h"

#include "core/plan/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fuselage::app {

namespace {

constexpr size_t mostNodes = 64;      ///< between the inputs and the condition
constexpr int64_t mostElements = 16;  ///< of an input that decides
constexpr size_t mostCandidates = 48; ///< numbers that are tried for one input

/// A value of the outermost graph, through the captures of the bodies on the way; invalid: it is
/// made in a body.
ValueId outermost(const std::vector<BodyPlace>& places, const Graph* inner, ValueId id,
                  const Graph& graph) {
    while (inner != &graph) {
        const auto place = std::ranges::find(places, inner, &BodyPlace::graph);
        const auto& captures = inner->captures();
        const auto capture = std::ranges::find(captures, id);
        if (place == places.end() || capture == captures.end())
            return {};
        const auto position = static_cast<size_t>(capture - captures.begin());
        id = place->outer->node(place->node).inputs[place->firstCapture + position];
        inner = place->outer;
    }
    return id;
}

/// The nodes that a value depends on, as a graph whose outputs are that value.
struct Cone {
    Graph graph;
    std::vector<size_t> deciding; ///< positions of small inputs that it depends on
    std::set<double> numbers;     ///< constants in it, and their neighbours
};

std::optional<Cone> coneOf(const Graph& graph, ValueId value) {
    Cone out{graph.clone(), {}, {}};
    for (size_t i = 0; i < out.graph.outputs().size(); ++i)
        out.graph.setOutput(i, value);
    out.graph.removeDead();
    if (out.graph.nodeCount() > mostNodes)
        return std::nullopt;
    for (size_t i = 0; i < out.graph.inputs().size(); ++i) {
        const Value& input = out.graph.value(out.graph.inputs()[i]);
        const bool read = !input.uses.empty() || out.graph.inputs()[i] == value;
        const auto count = input.type.elementCount();
        if (read && count && *count <= mostElements && *count > 0 &&
            input.type.dtype != DType::String)
            out.deciding.push_back(i);
    }
    for (ValueId id : out.graph.values()) {
        const TensorPtr& constant = out.graph.value(id).constant;
        if (!constant || constant->dtype() == DType::String ||
            constant->elementCount() > mostElements)
            continue;
        for (int64_t i = 0; i < constant->elementCount(); ++i)
            for (double off : {-1.0, 0.0, 1.0})
                out.numbers.insert(constant->at(i) + off);
    }
    for (double number : {0, 1, 2, 3, 4, -1, 8, 16, 100, -100, 1000})
        out.numbers.insert(number);
    return out;
}

Tensor filled(const Tensor& like, double number) {
    Tensor out(like.dtype(), like.extents());
    for (int64_t i = 0; i < out.elementCount(); ++i)
        if (isFloat(out.dtype()))
            out.set(i, number);
        else
            out.setInt(i, out.dtype() == DType::Bool ? (number != 0 ? 1 : 0)
                                                     : static_cast<int64_t>(number));
    return out;
}

std::optional<int64_t> resultOf(const Graph& cone, const std::vector<Tensor>& inputs,
                                ThreadPool& threads, Progress& progress) {
    std::vector<ReferenceValue> values;
    for (const Tensor& input : inputs)
        values.push_back(ReferenceValue::from(input));
    auto out = interpret(cone, std::move(values), threads, progress);
    if (!out || (*out)[0].count() != 1)
        return std::nullopt;
    return (*out)[0].intAt(0);
}

} // namespace

std::optional<BranchInputs> inputsEntering(const Graph& graph, const BodyPlace& place,
                                           const std::vector<Tensor>& inputs, ThreadPool& threads,
                                           Progress& progress) {
    const Node& owner = place.outer->node(place.node);
    if ((owner.op != Op::If && owner.op != Op::Loop) || !owner.inputs[0].valid())
        return std::nullopt;
    const auto places = bodiesOf(graph);
    const ValueId value = outermost(places, place.outer, owner.inputs[0], graph);
    auto cone = value.valid() ? coneOf(graph, value) : std::nullopt;
    if (!cone)
        return std::nullopt;
    const auto enters = [&](int64_t decided) {
        if (owner.op == Op::Loop)
            return decided > 1 && decided <= 16; // more than one: something is carried
        return (decided != 0) == (place.attribute == "then_branch");
    };
    for (const size_t position : cone->deciding) {
        size_t tried = 0;
        for (const double number : cone->numbers) {
            if (++tried > mostCandidates || progress.cancelled())
                break;
            const DType type = inputs[position].dtype();
            if (!isFloat(type) && type != DType::Bool &&
                number != static_cast<double>(static_cast<int64_t>(number)))
                continue;
            BranchInputs out{{}, inputs};
            out.inputs[position] = filled(inputs[position], number);
            const auto decided = resultOf(cone->graph, out.inputs, threads, progress);
            if (!decided || !enters(*decided))
                continue;
            out.what = fmt::format("{} = {}", graph.value(graph.inputs()[position]).name,
                                   type == DType::Bool ? (number != 0 ? "true" : "false")
                                                       : fmt::format("{:g}", number));
            return out;
        }
    }
    return std::nullopt;
}

} // namespace fuselage::app
