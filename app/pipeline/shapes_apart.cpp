// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/shapes_apart.h"

#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace fuselage::app {

namespace {

constexpr int64_t shownElements = 8;

const Tensor* contentsIn(const RunShapes& run, const std::string& name) {
    const auto found = run.contents.find(name);
    return found == run.contents.end() ? nullptr : found->second.get();
}

/// None: equal, or of other extents.
std::optional<int64_t> firstDifference(const Tensor& a, const Tensor& b) {
    if (a.dtype() == DType::String || a.extents() != b.extents())
        return std::nullopt;
    for (int64_t i = 0; i < a.elementCount(); ++i)
        if (a.at(i) != b.at(i))
            return i;
    return std::nullopt;
}

std::string numberText(double x) {
    return std::trunc(x) == x ? fmt::format("{}", x) : fmt::format("{:.9g}", x);
}

std::string elementsText(const Tensor& tensor) {
    if (tensor.elementCount() == 1)
        return numberText(tensor.at(0));
    std::string out;
    for (int64_t i = 0; i < std::min(tensor.elementCount(), shownElements); ++i)
        out += (i > 0 ? ", " : "") + numberText(tensor.at(i));
    return "[" + out + (tensor.elementCount() > shownElements ? ", ...]" : "]");
}

bool jumps(const Graph& graph, const Node& node) {
    return hasTrait(node.op, Discontinuous) ||
           (node.op == Op::Cast && !isFloat(graph.value(node.outputs[0]).type.dtype));
}

/// The way back from a value that differs to the step that made whole numbers of what differed in
/// its last digits.
class WayBack {
public:
    WayBack(const Graph& graph, const RunShapes& unfused, const RunShapes& fused)
        : m_graph(graph), m_unfused(unfused), m_fused(fused) {}

    /// "`m` is 3 and 4 there, since Round gets 3.4999998 and 3.5000002 of `sum`"; empty: it cannot
    /// be seen.
    std::string from(const ValueId start) const {
        std::set<ValueId> seen;
        ValueId value = start, told = start;
        int64_t element = 0;
        while (value.valid() && seen.insert(value).second) {
            const NodeId made = m_graph.producer(value);
            if (!made.valid())
                return {};
            const Node& node = m_graph.node(made);
            if (const auto at = difference(value)) {
                element = *at;
                told = value;
            }
            if (jumps(m_graph, node))
                if (std::string said = decided(node, element); !said.empty())
                    return (told == start ? "" : wholeNumbers(told, element)) + said;
            value = nextOf(node);
        }
        return {};
    }

private:
    const Tensor* unfused(ValueId id) const {
        return contentsIn(m_unfused, m_graph.value(id).name);
    }

    const Tensor* fused(ValueId id) const { return contentsIn(m_fused, m_graph.value(id).name); }

    std::optional<int64_t> difference(ValueId id) const {
        return unfused(id) && fused(id) ? firstDifference(*unfused(id), *fused(id)) : std::nullopt;
    }

    /// The operand that goes on: one that is seen to differ, else the first that is computed, whose
    /// element in the fused run a kernel keeps to itself.
    ValueId nextOf(const Node& node) const {
        ValueId computed;
        for (uint32_t i = 0; i < node.explicitInputs; ++i) {
            const ValueId input = node.inputs[i];
            if (!input.valid() || !m_graph.producer(input).valid())
                continue;
            if (difference(input))
                return input;
            const bool known = unfused(input) && fused(input); // and equal
            if (!computed.valid() && !known && unfused(input))
                computed = input;
        }
        return computed;
    }

    /// The whole numbers nearest to where they arose.
    std::string wholeNumbers(ValueId id, int64_t element) const {
        return fmt::format("{}`{}` is {} and {}, ", placeOf(*unfused(id), element),
                           m_graph.value(id).name, numberText(unfused(id)->at(element)),
                           numberText(fused(id)->at(element)));
    }

    static std::string placeOf(const Tensor& tensor, int64_t element) {
        return tensor.elementCount() > 1 ? fmt::format("element {} of ", element) : "";
    }

    /// What a step reads is a whole number where an earlier one rounded.
    std::string decided(const Node& node, int64_t element) const {
        for (uint32_t i = 0; i < node.explicitInputs; ++i) {
            const ValueId input = node.inputs[i];
            const Tensor* before = input.valid() ? unfused(input) : nullptr;
            if (!before || !isFloat(before->dtype()) || element >= before->elementCount() ||
                std::trunc(before->at(element)) == before->at(element))
                continue;
            const Tensor* after = fused(input);
            const std::string have = numberText(before->at(element)),
                              place =
                                  placeOf(*before, element) + "`" + m_graph.value(input).name + "`";
            if (after && after->extents() == before->extents())
                return fmt::format("since {} gets {} and {} as {}", nameOf(node.op), have,
                                   numberText(after->at(element)), place);
            return fmt::format("since {} gets {} unfused as {}, and fused what a kernel keeps to "
                               "itself",
                               nameOf(node.op), have, place);
        }
        return {};
    }

    const Graph& m_graph;
    const RunShapes& m_unfused;
    const RunShapes& m_fused;
};

/// How one value differs between the runs; empty: it does not.
std::string differenceText(const std::string& name, const RunShapes& unfused,
                           const RunShapes& fused) {
    const auto before = unfused.extents.find(name), after = fused.extents.find(name);
    const Tensor *a = contentsIn(unfused, name), *b = contentsIn(fused, name);
    if (a && b && firstDifference(*a, *b))
        return fmt::format("`{}` is {} unfused and {} fused", name, elementsText(*a),
                           elementsText(*b));
    if (before != unfused.extents.end() && after != fused.extents.end() &&
        before->second != after->second)
        return fmt::format("`{}` has the shape {} unfused and {} fused", name, text(before->second),
                           text(after->second));
    return {};
}

} // namespace

std::string shapesApart(const Graph& unfusedGraph, const AssumedShapes& taken,
                        const RunShapes& unfused, const RunShapes& fused) {
    std::set<std::string> giving(taken.values.begin(), taken.values.end());
    for (const AssumedShapes::Contents& contents : taken.contents)
        giving.insert(contents.value);
    for (NodeId id : topologicalOrder(unfusedGraph))
        for (ValueId output : unfusedGraph.node(id).outputs) {
            if (!output.valid() || !giving.contains(unfusedGraph.value(output).name))
                continue;
            std::string out = differenceText(unfusedGraph.value(output).name, unfused, fused);
            if (out.empty())
                continue;
            const std::string why = WayBack(unfusedGraph, unfused, fused).from(output);
            return out + (why.empty() ? "" : ": " + why);
        }
    return {};
}

} // namespace fuselage::app
