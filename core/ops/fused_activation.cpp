// SPDX-License-Identifier: Apache-2.0
#include "core/ops/fused_activation.h"

#include "core/ops/evaluate.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

namespace fuselage {

Result<ReferenceValue> withActivation(const Node& node, ReferenceValue value,
                                      ReferenceContext& context) {
    std::string name = node.attributes.string("activation");
    if (name.empty())
        return value;
    auto op = opFromName("", name);
    if (!op || !rowOf(*op).tape)
        return badInput(node, fmt::format("activation `{}` is not elementwise", name));
    Node activation;
    activation.op = *op;
    activation.name = node.name;
    activation.inputs = {ValueId(0)};
    std::vector<double> params = node.attributes.numbers("activation_params");
    std::vector<ReferenceValue> bounds;
    const std::vector<AttributeSchema>& schemas = attributesOf(*op);
    for (size_t i = 0; i < schemas.size(); ++i) {
        // FusedGemm spells the parameters out; FusedConv lists them in the schema's order.
        std::string spelled = "activation_" + schemas[i].name;
        if (node.attributes.has(spelled))
            activation.attributes.set(schemas[i].name, node.attributes.number(spelled));
        else if (i < params.size())
            activation.attributes.set(schemas[i].name, params[i]);
    }
    std::vector<const ReferenceValue*> operands{&value};
    if (*op == Op::Clip && params.size() == 2) {
        for (double bound : params) {
            bounds.push_back(ReferenceValue::tensor(value.dtype, {}));
            bounds.back().floats.assign(1, bound);
        }
        for (const ReferenceValue& bound : bounds) {
            operands.push_back(&bound);
            activation.inputs.emplace_back(static_cast<uint32_t>(operands.size()));
        }
    }
    fillDefaults(activation);
    auto out = evaluateByTape(activation, operands, context);
    if (!out)
        return failure(out.error());
    return std::move((*out)[0]);
}

} // namespace fuselage
