// SPDX-License-Identifier: Apache-2.0
// Group programs: the members' own kernels, one after the other.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

std::optional<Reason> unsupportedGroup(const Group& program);
KernelResult prepareGroup(const Group& program, const PrepareContext& context);

} // namespace fuselage::cpu
