// SPDX-License-Identifier: Apache-2.0
// Window programs: pools by pool.h, elementwise work before and after on the tile interpreter. The
// largest of stored integers is found before they are dequantised.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

KernelResult prepareWindow(const Window& program, const PrepareContext& context);

std::optional<Reason> unsupportedWindow(const Window& program);

} // namespace fuselage::cpu
