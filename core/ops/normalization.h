// SPDX-License-Identifier: Apache-2.0
// Normalisations by mean and variance over channels, groups, images or windows of channels.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> normalizationRows();

} // namespace fuselage
