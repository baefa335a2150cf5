// SPDX-License-Identifier: Apache-2.0
// Attention programs: scores of a block of query rows at a time, never all of them.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

KernelResult prepareAttention(const Attention& program, const PrepareContext& context);

std::optional<Reason> unsupportedAttention(const KernelProgram& program);

} // namespace fuselage::cpu
