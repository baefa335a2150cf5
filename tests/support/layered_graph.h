// SPDX-License-Identifier: Apache-2.0
// Models of any size in the forms that exporters write.
#pragma once

#include "core/graph/graph.h"

namespace fuselage::testing_support {

struct LayerSizes {
    int64_t tokens = 4, width = 4;  ///< of the transformer
    int64_t channels = 2, side = 3; ///< of the images
};

/// A layer of a transformer and a residual block of convolutions, 18 nodes, again and again until
/// there are as many as asked for; as it would be written to a file.
Graph layeredGraph(size_t nodes, const LayerSizes& sizes);

} // namespace fuselage::testing_support
