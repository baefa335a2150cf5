// SPDX-License-Identifier: Apache-2.0
// Pointwise programs, and the elementwise passes of other programs, on the tile interpreter.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

/// `program`'s operand numbers refer to context.inputs and context.outputs.
std::unique_ptr<Kernel> preparePointwise(const Pointwise& program, const PrepareContext& context);

} // namespace fuselage::cpu
