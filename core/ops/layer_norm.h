// SPDX-License-Identifier: Apache-2.0
// Normalisations over the last dimensions: LayerNormalization, RMSNormalization and the contrib
// forms with a skip connection or embeddings before them.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> layerNormRows();

/// What is added to a mean square or a variance: as the node says, else as its operator does. Those
/// with something before the norm take less.
double layerNormEpsilon(const Node& node);

} // namespace fuselage
