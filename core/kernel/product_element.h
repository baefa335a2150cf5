// SPDX-License-Identifier: Apache-2.0
// Which type the elements have that a program multiplies as matrices, once prologues ran: what
// tensor cores are chosen by and rated for. Epilogue operands do not count: a channel's float32
// bias leaves a float16 convolution what it is.
#pragma once

#include "core/kernel/program.h"

namespace fuselage {

/// Of side A or B. A prologue's float32 result is rounded where the other side is 16 bits wide.
DType productElement(const Contraction& code, const std::vector<OperandType>& inputs, bool isA);

/// Of the wider side, for a group of its first such member; Undefined without a product.
DType productElement(const KernelProgram& program);

} // namespace fuselage
