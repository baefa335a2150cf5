// SPDX-License-Identifier: Apache-2.0
// A model of as many nodes as are asked for: residual blocks of two convolutions, named as
// exporters name the nodes of scopes.
#pragma once

#include <string>

namespace fuselage::bench {

/// Writes it as an ONNX file; false: it could not.
bool writeLargeModel(const std::string& path, int nodes);

} // namespace fuselage::bench
