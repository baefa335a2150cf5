// SPDX-License-Identifier: Apache-2.0
// Writes a placement into a graph: QuantizeLinear and DequantizeLinear in front of reads, constants
// as integers. Needs no data: every range is in the plan or in the constants.
#pragma once

#include "app/quantize/pair_plan.h"
#include "core/graph/graph.h"

namespace fuselage::quantize {

/// How the bias of a quantised Conv, ConvTranspose or Gemm is written.
enum class BiasForm : uint8_t {
    Float,   ///< as it is: what TensorRT documents; runtimes fold it into their integer kernel
    Integer, ///< int32 in steps of input scale times weight scale, with its DequantizeLinear
};

const char* nameOf(BiasForm form); ///< "float", "int32"
std::optional<BiasForm> biasFormFromName(std::string_view name);

struct InsertCounts {
    size_t pairs = 0;     ///< Quantize and Dequantize
    size_t constants = 0; ///< stored as integers, each with its Dequantize
    size_t biases = 0;    ///< stored as int32
};

/// The reads of the plan, those in bodies too, go through pairs; reads of one value with one type
/// and scale share theirs, and constants likewise. Other readers, and the graph's outputs, keep the
/// float value. Errors, each with the line of the plan where it has one: "plan.node" and
/// "plan.point" when a node or its operand is not there or not float32, "plan.axis" when an axis
/// does not fit, "plan.type" when a type is of constants only, "quantize.range" when a value has no
/// range or one of zeros, "quantize.number" when a constant holds NaN or infinity.
Result<InsertCounts> insertPairs(Graph& graph, const PairPlan& plan, BiasForm bias);

/// A read of a graph, or of a body inside it.
struct ReadPlace {
    const Graph* graph = nullptr;
    Use use;
    std::string body; ///< its path; empty: of none

    ValueId value() const { return graph->node(use.node).inputs[use.slot]; }
};

/// The read that a line of a plan means. Errors "plan.node", "plan.point".
Result<ReadPlace> readOf(const Graph& graph, const Pair& pair);

} // namespace fuselage::quantize
