// SPDX-License-Identifier: Apache-2.0
// Small models that benchmarks write out.
#pragma once

#include "core/graph/graph.h"

#include <string>

namespace fuselage::testing_support {

/// A graph text without its header, with shapes; inputs whose names begin with w become weights.
Graph smallGraph(const std::string& text);

} // namespace fuselage::testing_support
