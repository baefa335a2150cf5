// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/custom_operator.h"

#include <algorithm>

namespace fuselage {

bool CustomOperator::is(const Node& node) const {
    const bool mayBe =
        node.op == Op::Unknown || (node.op == Op::Fused && !node.customDomain.empty());
    // A fused node without a domain is named after a rule.
    const bool isOnnx = node.op == Op::Fused && node.customDomain == "ai.onnx";
    return mayBe && node.customOp == name &&
           (isOnnx ? domain.empty() : node.customDomain == domain);
}

const AttributeSchema* CustomOperator::attribute(std::string_view wanted) const {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const AttributeSchema& it) { return it.name == wanted; });
    return found == attributes.end() ? nullptr : &*found;
}

std::optional<size_t> CustomOperator::input(std::string_view wanted) const {
    const auto found = std::find(inputs.begin(), inputs.end(), wanted);
    return found == inputs.end() ? std::nullopt
                                 : std::optional(static_cast<size_t>(found - inputs.begin()));
}

} // namespace fuselage
