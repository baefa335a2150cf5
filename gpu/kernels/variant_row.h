// SPDX-License-Identifier: Apache-2.0
// One way of ours to compute one kind of program: what the table of variants is made of.
#pragma once

#include "gpu/emit/emit.h"

#include <functional>
#include <string>

namespace fuselage::gpu {

/// One way to compute one kind of program.
struct VariantRow {
    std::string name; ///< "pointwise_vector", "row_warp", "tensor_128x64"
    ProgramKind program = ProgramKind::Pointwise; ///< the programs that it may accept
    std::function<EmitResult(const KernelRequest&)> emit;
    std::string summary; ///< one line for reports
    bool plain = false;  ///< the always-correct one: others are compared with it
};

} // namespace fuselage::gpu
