// SPDX-License-Identifier: Apache-2.0
// Copy programs: elements moved as bytes, whatever their type.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

std::unique_ptr<Kernel> prepareCopy(const Copy& program, const PrepareContext& context);

} // namespace fuselage::cpu
