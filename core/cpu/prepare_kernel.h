// SPDX-License-Identifier: Apache-2.0
// Chooses and prepares the kernel of one program.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

/// Why this backend has no kernel of its own for a program; such programs run node by node through
/// the reference functions.
std::optional<Reason> unsupported(const KernelProgram& program);

/// A failure is a reason like those of unsupported that shows only with the layouts.
KernelResult prepareKernel(const KernelProgram& program, const PrepareContext& context);

} // namespace fuselage::cpu
