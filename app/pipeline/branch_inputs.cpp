// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/branch_inputs.h"

#include "core/plan/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace fuselage::app {

namespace {

constexpr size_t mostNodes = 64;      ///< between the inputs and the condition
constexpr int64_t smallElements = 16; ///< of an input that may be a flag, a rate, a size
constexpr int64_t mostElements = int64_t(1) << 20; ///< of one that decides otherwise
constexpr size_t mostCandidates = 48;              ///< contents that are tried for one input

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

bool isSmall(std::optional<int64_t> elements) {
    return elements && *elements <= smallElements;
}

/// The nodes that a value depends on, as a graph whose outputs are that value.
struct Cone {
    Graph graph;
    std::vector<size_t> deciding; ///< positions of inputs that it depends on, small ones first
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
    std::ranges::stable_partition(out.deciding, [&](size_t position) {
        return isSmall(out.graph.value(out.graph.inputs()[position]).type.elementCount());
    });
    for (ValueId id : out.graph.values()) {
        const TensorPtr& constant = out.graph.value(id).constant;
        if (!constant || constant->dtype() == DType::String ||
            constant->elementCount() > smallElements)
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

struct Contents {
    std::string words; ///< "x = 3", "x negated"
    Tensor tensor;
};

/// Every element of the input times `factor` plus `shift`.
Tensor moved(const Tensor& from, double factor, double shift) {
    Tensor out(from.dtype(), from.extents());
    for (int64_t i = 0; i < out.elementCount(); ++i)
        out.set(i, from.at(i) * factor + shift);
    return out;
}

/// What floats of any number are turned into: sums and means change their sign or pass what they
/// are compared with, while elements still differ.
std::vector<Contents> movedContents(const std::string& name, const Tensor& input) {
    std::vector<Contents> out;
    if (!isFloat(input.dtype()))
        return out;
    out.push_back({name + " negated", moved(input, -1, 0)});
    for (const double shift : {1.0, -1.0, 10.0, -10.0})
        out.push_back(
            {fmt::format("{} {} {:g}", name, shift < 0 ? "less" : "plus", std::abs(shift)),
             moved(input, 1, shift)});
    for (const double factor : {0.01, 100.0})
        out.push_back({fmt::format("{} times {:g}", name, factor), moved(input, factor, 0)});
    return out;
}

/// One number everywhere.
std::vector<Contents> filledContents(const std::string& name, const Tensor& input,
                                     const std::set<double>& numbers) {
    std::vector<Contents> out;
    const DType type = input.dtype();
    for (const double number : numbers) {
        if (!isFloat(type) && type != DType::Bool &&
            number != static_cast<double>(static_cast<int64_t>(number)))
            continue;
        if (out.size() == mostCandidates)
            break;
        const std::string value =
            type == DType::Bool ? (number != 0 ? "true" : "false") : fmt::format("{:g}", number);
        out.push_back({name + " = " + value, filled(input, number)});
    }
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
        const std::string& name = graph.value(graph.inputs()[position]).name;
        const Tensor& given = inputs[position];
        std::vector<Contents> contents = isSmall(given.elementCount())
                                             ? filledContents(name, given, cone->numbers)
                                             : std::vector<Contents>();
        std::ranges::move(movedContents(name, given), std::back_inserter(contents));
        for (Contents& tried : contents) {
            if (progress.cancelled())
                return std::nullopt;
            BranchInputs out{std::move(tried.words), inputs};
            out.inputs[position] = std::move(tried.tensor);
            const auto decided = resultOf(cone->graph, out.inputs, threads, progress);
            if (decided && enters(*decided))
                return out;
        }
    }
    return std::nullopt;
}

} // namespace fuselage::app
