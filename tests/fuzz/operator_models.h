// SPDX-License-Identifier: Apache-2.0
// A model of one node for every row of core/ops and each of a few choices of operands, and what may
// be wrong with a node whose row is known: arity, kinds of attributes, axes, shapes. Nothing here
// says which choice an operator takes, and nothing runs a model.
#pragma once

#include "core/ops/op_table.h"
#include "tests/fuzz/malformation.h"

namespace fuselage::fuzz {

/// The node's name, which an error about it says.
constexpr const char* operatorNode = "the_node";

/// How many choices of operands there are.
size_t operandChoices();

/// Operators that a file may hold: those with a shape function, a reference function or a tape.
std::vector<Op> modelledOperators();

/// The node with the operands of a choice and the attributes that it must have.
::onnx::ModelProto operatorModel(Op op, size_t choice);

/// Too few and too many operands and results, attributes of another kind, axes that are not there,
/// operands without elements, without dimensions, and of shapes that do not fit.
std::vector<Malformation> rowMalformations(Op op, const ::onnx::ModelProto& model);

} // namespace fuselage::fuzz
