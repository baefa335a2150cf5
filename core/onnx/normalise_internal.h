// SPDX-License-Identifier: Apache-2.0
// Rewrites a node of any opset into the one form that the rest of Fuselage knows (opset 17 where
// it has the operator): attributes that became inputs, old broadcasting, renamed operators. One
// function for each family of changes; the table in normalise.cpp says which applies when.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace fuselage::model_io {

/// Changes `spec`, a node of opset `version` of `domain` that is about to be added to `graph` and
/// whose attributes are of their kinds; may add constants and nodes before it. What cannot be
/// brought into today's form becomes Op::Unknown, which is kept and named but not understood.
Result<void> normalise(Graph& graph, NodeSpec& spec, const std::string& domain, int64_t version,
                       const std::string& where);

/// Writes a node of com.microsoft's operator `name`, which has no row, as float operators between
/// DequantizeLinear and QuantizeLinear, where that is what it means; else `spec` stays.
void writeOutQuantized(Graph& graph, NodeSpec& spec, const std::string& name,
                       const std::string& where);

/// One node that is being normalised, and what its function needs to do it.
struct Draft {
    Graph& graph;
    NodeSpec& spec;
    const std::string& where;

    bool hasInput(size_t slot) const {
        return slot < spec.inputs.size() && spec.inputs[slot].valid();
    }

    /// Puts a value at a slot; slots between are omitted inputs.
    void setInput(size_t slot, ValueId value);
    /// New constants, named after the node's first output.
    ValueId constant(Tensor tensor, const char* suffix);
    ValueId ints(const std::vector<int64_t>& values, const char* suffix);
    ValueId intScalar(int64_t value, const char* suffix);
    /// A number in the element type of `like`.
    ValueId scalarLike(double value, ValueId like, const char* suffix);
    /// A node before this one; returns its only output.
    ValueId before(Op op, std::vector<ValueId> inputs, Attributes attributes, const char* suffix);
    /// Moves an integer list from an attribute to an input.
    void intsToInput(const char* attribute, size_t slot);
    /// The contents of a constant integer input, through Constant nodes too.
    std::optional<std::vector<int64_t>> constantInts(size_t slot) const;
};

using Normaliser = Result<void> (*)(Draft&);

// What can be known about a value before shape inference: declared types and the way to it.
std::optional<size_t> rankOf(const Graph& graph, ValueId id);
DType dtypeOf(const Graph& graph, ValueId id); ///< Undefined when unknown
TensorPtr constantOf(const Graph& graph, ValueId id);

// normalise_elementwise.cpp
Result<void> normaliseOldBroadcast(Draft& draft);
Result<void> normalisePRelu(Draft& draft);
Result<void> normaliseClip(Draft& draft);
Result<void> normaliseCastName(Draft& draft);
Result<void> normaliseDropout(Draft& draft);
Result<void> normaliseOldSelu(Draft& draft);
Result<void> normaliseConstant(Draft& draft);

// normalise_shape.cpp
Result<void> normaliseReshape(Draft& draft);
Result<void> normaliseAxesToInput(Draft& draft);
Result<void> normaliseAxesToAttribute(Draft& draft);
Result<void> normaliseSlice(Draft& draft);
Result<void> normaliseSplit(Draft& draft);
Result<void> normalisePad(Draft& draft);
Result<void> normalisePadAxes(Draft& draft);
Result<void> normaliseTopK(Draft& draft);
Result<void> normaliseOldConcat(Draft& draft);
Result<void> normaliseScatter(Draft& draft);

// normalise_network.cpp
Result<void> normaliseFlatSoftmax(Draft& draft);
Result<void> normaliseBatchNormalization(Draft& draft);
Result<void> normaliseRoiAlign(Draft& draft);
Result<void> normaliseOldGemm(Draft& draft);
Result<void> normaliseUpsample(Draft& draft);
Result<void> normaliseResize10(Draft& draft);
Result<void> normaliseResizeInputs(Draft& draft);
Result<void> normaliseOldPower(Draft& draft);
Result<void> normaliseOldRecurrent(Draft& draft);
Result<void> normaliseRoiAlign10(Draft& draft);
Result<void> normaliseDft20(Draft& draft);
Result<void> normaliseGridSample20(Draft& draft);
Result<void> normaliseGroupNormalization18(Draft& draft);
Result<void> keepUnknown(Draft& draft);

} // namespace fuselage::model_io
