// SPDX-License-Identifier: Apache-2.0
// Training losses: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> lossesRows();

} // namespace fuselage
