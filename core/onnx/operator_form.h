// SPDX-License-Identifier: Apache-2.0
// What an operator stands for apart from any call of it: the bodies of resources/operators that
// need no rank, size or element type of an operand.
#pragma once

#include "core/graph/graph.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fuselage::model_io {

struct OperatorForm {
    /// What the graph is made for: the attributes that were given, and the defaults of others that
    /// decide what it is.
    std::map<std::string, AttributeValue> attributes;
    /// Nodes in the form that loading gives them, inputs in the operator's order, without shapes;
    /// the first result only.
    Graph graph;
};

/// True for an operator that resources/operators has a body of; "" is ai.onnx.
bool hasOperatorBody(std::string_view domain, std::string_view name);

/// Of a call with the first `operands` operands and these attributes, by the newest body. None
/// where the operator has no body, or none that is simple enough or that covers such a call.
std::optional<OperatorForm> operatorForm(std::string_view domain, std::string_view name,
                                         size_t operands,
                                         const std::map<std::string, AttributeValue>& attributes);

} // namespace fuselage::model_io
