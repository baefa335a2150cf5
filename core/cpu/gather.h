// SPDX-License-Identifier: Apache-2.0
// Library programs that this backend computes itself: Gather. Embedding tables are too large to go
// through the reference functions.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

/// None when this backend has a routine for the node of a Library program.
std::optional<Reason> unsupportedLibrary(const Library& program, const KernelProgram& whole);

KernelResult prepareLibrary(const Library& program, const KernelProgram& whole,
                            const PrepareContext& context);

} // namespace fuselage::cpu
