// SPDX-License-Identifier: Apache-2.0
// Which steps are too small for several threads: handing work over and waiting for the others takes
// microseconds, and on a busy machine far longer, since a thread that sleeps must first get a core.
#pragma once

#include "core/kernel/program.h"

namespace fuselage::cpu {

/// Seconds on one thread, roughly: a function of the program alone, so that it is the same on every
/// machine and in every run.
double secondsAlone(const KernelProgram& program);

bool isTooSmallToShare(const KernelProgram& program);

} // namespace fuselage::cpu
