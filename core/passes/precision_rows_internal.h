// SPDX-License-Identifier: Apache-2.0
// What core/passes/precision.cpp must know about operators, as data: which stay in float32 and why,
// and which operands keep their type when the others are narrowed.
#pragma once

#include "core/graph/dtype.h"
#include "core/graph/op.h"

#include <cstdint>

namespace fuselage {

/// Why an operator computes in float32 although its values are stored as `storage`; null when it
/// may compute on 16-bit values.
const char* whyKept(Op op, DType storage);

/// True for an operand that is float32 in every form of the operator.
bool keepsInput(Op op, uint32_t slot);

/// True for a result whose type does not follow the first operand's.
bool keepsOutput(Op op, uint32_t slot);

/// True for operators of which a tiny scalar operand may be raised to the smallest number of the
/// type: the result differs by less than one rounding of the other operand.
bool toleratesRaisedScalar(Op op);

} // namespace fuselage
