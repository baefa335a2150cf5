// SPDX-License-Identifier: Apache-2.0
// Row programs on the tile interpreter.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

std::unique_ptr<Kernel> prepareRow(const Row& program, const PrepareContext& context);

/// Why the tile interpreter cannot run the program.
std::optional<Reason> unsupportedRow(const Row& program);

} // namespace fuselage::cpu
