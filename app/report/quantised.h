// SPDX-License-Identifier: Apache-2.0
// What QuantizeLinear and DequantizeLinear of a graph say of the values that they store: type,
// scale, zero point, range. Drawings show it as badges on edges, the page as a table.
#pragma once

#include "app/pipeline/graph_report.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

/// How one value is stored. Scales that are computed, or several along an axis, have no number.
struct StoredForm {
    std::string dtype; ///< "int8"
    std::optional<double> scale;
    double zeroPoint = 0;
    double low = 0, high = 0; ///< ends of the range; only with a scale
    std::string scales;       ///< "[64]": how many, where there are several
};

/// Of a QuantizeLinear or a DequantizeLinear; none for any other node, and where the type is not
/// known.
std::optional<StoredForm> storedFormOf(const GraphReport& graph, const GraphNodeReport& node);

/// "int8 ±1.5 ×0.0118", "uint8 0 … 6 ×0.0235 z43", "int8 [64] scales".
std::string storedText(const StoredForm& form);

/// A value of the graph that is stored in few bits on its way to its readers.
struct QuantisedValue {
    std::string value; ///< in float; of a constant: the stored one
    StoredForm form;
    bool constant = false;
    std::vector<std::string> readers; ///< nodes that read it in float again
    std::string load;                 ///< the DequantizeLinear
};

/// Sorted as the nodes of the graph are.
std::vector<QuantisedValue> quantisedValues(const GraphReport& graph);

} // namespace fuselage::app
