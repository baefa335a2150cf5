// SPDX-License-Identifier: Apache-2.0
// Puts a graph into a precision, before rules see it: float32 values and weights become float16 or
// bfloat16, the graph's inputs and outputs keep their types. Knows nothing about kernels; what
// arithmetic is done in is the business of lower() and the backends.
#pragma once

#include "core/graph/graph.h"
#include "core/passes/precision_choice.h"
#include "core/support/reason.h"
#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage {

/// A node that computes in float32 all the same.
struct KeptNode {
    std::string node;
    Reason reason; ///< codes: precision-op, precision-weight, precision-range, precision-asked,
                   ///< precision-control-flow, precision-pair
};

struct PrecisionRecord {
    Precision precision = Precision::Fp32;
    size_t narrowed = 0; ///< nodes with 16-bit operands or results
    size_t casts = 0;    ///< Cast nodes added
    int64_t weightBytesBefore = 0, weightBytesAfter = 0;
    std::vector<KeptNode> kept; ///< in topological order
    /// Exceptions that say nothing here: they name no node, or ask for 16 bits of one that cannot.
    std::vector<Error> refused;
};

/// Converts in place; Fp32 and Tf32 change nothing. What is neither float32 nor a tensor stays, and
/// so does every Cast of the model. Nodes that a person asks it of, that are unsafe in 16 bits,
/// that have no 16-bit form, a weight outside of the type's range, or an operand that such a weight
/// took out of it compute in float32 between Casts, and so do those between pairs of QuantizeLinear
/// and DequantizeLinear, which kernels of integers compute with. A scalar that is added and would
/// round to zero becomes the smallest number of its sign. Casts that were added have provenance of
/// rule "precision". Error "precision.types": the result contradicts an operator.
Result<PrecisionRecord> setPrecision(Graph& graph, const PrecisionChoice& choice);

/// False: setPrecision() leaves every graph as it is.
inline bool changesGraphs(Precision precision) {
    return storageOf(precision) != DType::Float32;
}

/// What setPrecision() says of a graph that it does not change.
PrecisionRecord unchanged(const Graph& graph, Precision precision);

inline Result<PrecisionRecord> setPrecision(Graph& graph, Precision precision) {
    return setPrecision(graph, PrecisionChoice{precision});
}

} // namespace fuselage
