// SPDX-License-Identifier: Apache-2.0
// Normalisations over the last dimensions: LayerNormalization, RMSNormalization and the contrib
// forms with a skip connection or embeddings before them.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> layerNormRows();

} // namespace fuselage
