// SPDX-License-Identifier: Apache-2.0
// Where rules ask for pairs, as reads of the model that a person gave: the points of a Trace, taken
// back through what rewrites made of the model before.
#pragma once

#include "core/graph/graph.h"
#include "core/rewrite/trace.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::quantize {

/// A read that a rule wants to be of a quantised value.
struct Place {
    Use read;         ///< node and operand of the model
    ValueId value;    ///< that is read there
    size_t fused = 0; ///< number of the match, in the order of the trace
    std::string point, rule, file;
    uint32_t line = 0;
    std::optional<int64_t> axis;  ///< of a constant: one scale for each index along it; none: one
                                  ///< scale for all, or for each output channel (channelAxis)
    const Graph* graph = nullptr; ///< that has the read: the model, or a body inside it
    std::string body = {};        ///< path of that body; empty: of none

    const Node& reader() const { return graph->node(read.node); }

    /// As a line of a plan calls the node.
    std::string nodePath() const { return body + reader().name; }

    std::string valuePath() const { return body + graph->value(value).name; }
};

/// Operators that change no element: a pair means the same in front of them and behind.
bool movesOnly(Op op);

/// How the reason begins of a value that is no float32.
inline constexpr const char* notFloat = "its type is ";

/// A point without a pair, and why.
struct LeftOut {
    std::string rule, point, value, why;
};

struct Placement {
    std::vector<Place> places; ///< no read twice
    std::vector<LeftOut> leftOut;
};

/// `model`: the graph that was fused; it outlives the places. What its bodies capture and is
/// constant must be theirs (takeCapturedConstants). A value that a rewrite made is looked for in
/// the nodes that its reader stands for: a view is looked through, merged weights are taken apart.
Placement placesOf(const Graph& model, const Trace& trace);

/// The axis of a constant operand along which each index is an output channel of the node: where a
/// product's result can be scaled afterwards. None for other operands and operators.
std::optional<int64_t> channelAxis(const Graph& graph, const Use& read);

/// The axis of a constant factor along which its products are summed; none for other operands and
/// operators, and where several are.
std::optional<int64_t> summedAxis(const Graph& graph, const Use& read);

} // namespace fuselage::quantize
