// SPDX-License-Identifier: Apache-2.0
// Running one node on reference values: by its reference function, or by interpreting its tape.
// The interpreter and constant folding both come here. Knows no graph: fused nodes and control flow
// belong to the interpreter.
#pragma once

#include "core/ops/op_table.h"

#include <vector>

namespace fuselage {

/// True when evaluateNode can run the operator.
bool canEvaluate(Op op);

/// Runs the node's reference function, or its tape over numpy-broadcast inputs. Inputs are null
/// where omitted. Errors: "reference.op" for an operator without either, "reference.type" and
/// "reference.shape" for operands that do not go together.
Result<std::vector<ReferenceValue>> evaluateNode(const Node& node, ReferenceInputs inputs,
                                                 ReferenceContext& context);

/// The tape's part of evaluateNode, for reference functions that add to it.
Result<std::vector<ReferenceValue>> evaluateByTape(const Node& node, ReferenceInputs inputs,
                                                   ReferenceContext& context);

/// "`float`, `int64`" for messages; long lists by their number and beginning.
std::string operandTypesText(const std::vector<DType>& types);

/// The node's tape for operands of these types; none when the operator has no tape, does not take
/// such types, or has so many operands that the tape would be too long.
std::optional<Tape> tapeOf(const Node& node, const std::vector<DType>& types);

/// Runs a tape over inputs that broadcast against each other; one value for each tape output.
Result<std::vector<ReferenceValue>> evaluateTape(const Tape& tape,
                                                 const std::vector<const ReferenceValue*>& inputs,
                                                 ThreadPool& threads);
/// The same for tensors as they are stored: only those that are smaller than the result are widened
/// as a whole.
Result<std::vector<Tensor>> evaluateTape(const Tape& tape, const std::vector<const Tensor*>& inputs,
                                         ThreadPool& threads);

} // namespace fuselage
