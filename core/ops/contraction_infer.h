// SPDX-License-Identifier: Apache-2.0
// Types and symbolic shapes of matrix products and convolutions, their quantised forms included.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

void inferMatMul(InferContext& context);
void inferMatMulInteger(InferContext& context);
void inferQLinearMatMul(InferContext& context);
void inferFusedMatMul(InferContext& context);
void inferGemm(InferContext& context);
void inferDet(InferContext& context);
void inferConv(InferContext& context);
void inferConvInteger(InferContext& context);
void inferQLinearConv(InferContext& context);
void inferConvTranspose(InferContext& context);

} // namespace fuselage
