// SPDX-License-Identifier: Apache-2.0
// The part of laidWorkOf() that is not in work.cpp.
#pragma once

#include "core/kernel/layout_work.h"

namespace fuselage {

/// What programs other than copies do because of the order of their operands.
void addLayoutWork(const KernelProgram& program, const OperandStrides& order, LaidWork& to);

} // namespace fuselage
