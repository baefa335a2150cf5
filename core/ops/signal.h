// SPDX-License-Identifier: Apache-2.0
// Signal processing: Fourier transforms, windows, mel filters.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> signalRows();

} // namespace fuselage
