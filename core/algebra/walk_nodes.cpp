// SPDX-License-Identifier: Apache-2.0
// Values and nodes of both sides, and which element types they may have.
#include "core/algebra/walk.h"
#include "core/ops/op_schema.h"
#include "core/ops/op_table.h"

#include <algorithm>

namespace fuselage::algebra {

namespace {

constexpr uint32_t typeCount = static_cast<uint32_t>(DType::Complex128) + 1; // the last one

} // namespace

Walk::Operand Walk::obstruct(std::string why) {
    if (m_obstacle.empty())
        m_obstacle = std::move(why);
    return {};
}

size_t Walk::addValue(SymbolicValue value) {
    value.kind = m_types.size();
    m_kinds.push_back(value.kind);
    m_types.push_back((1U << typeCount) - 1);
    m_values.push_back(std::move(value));
    return m_values.size() - 1;
}

void Walk::keepTypes(size_t value, const std::function<bool(DType)>& allows) {
    uint32_t& types = m_types[kindOf(m_values[value].kind)];
    for (uint32_t type = 0; type < typeCount; ++type)
        if (!allows(static_cast<DType>(type)))
            types &= ~(1U << type);
}

size_t Walk::kindOf(size_t kind) const {
    while (m_kinds[kind] != kind)
        kind = m_kinds[kind];
    return kind;
}

/// Operands and results for which the schema has one name of a type are of one type.
void Walk::unite(const SymbolicNode& node, size_t result) {
    const OpSchema* schema = publishedSchema(node.op);
    std::map<std::string_view, size_t> named;
    auto join = [&](std::string_view type, size_t value) {
        const size_t kind = kindOf(m_values[value].kind);
        auto [entry, isNew] = named.emplace(type, kind);
        const size_t first = kindOf(entry->second);
        if (isNew || first == kind)
            return;
        m_kinds[kind] = first;
        m_types[first] &= m_types[kind];
    };
    for (size_t i = 0; i < node.operands.size(); ++i) {
        if (!node.operands[i])
            continue;
        const size_t slot =
            schema && !schema->inputs.empty() ? std::min(i, schema->inputs.size() - 1) : i;
        const bool isKnown = schema && slot < schema->inputs.size();
        join(isKnown ? schema->inputs[slot].type : "T", *node.operands[i]);
        const ElementTypes types = inputTypesOf(node.op, i);
        keepTypes(*node.operands[i], [&](DType type) { return types.allows(type); });
    }
    join(schema && !schema->outputs.empty() ? schema->outputs[0].type : "T", result);
}

size_t Walk::applied(const SymbolicNode& given, size_t output, size_t outputs) {
    SymbolicNode node = given;
    while (takeBorder(node))
        ;
    Application application{node.op, {}, node.attributes, output, outputs};
    for (const auto& operand : node.operands)
        application.operands.push_back(operand ? std::optional(m_values[*operand]) : std::nullopt);
    while (!application.operands.empty() && !application.operands.back())
        application.operands.pop_back();
    SymbolicValue made;
    auto known = convolved(node);
    made.element = known ? *known : meaningOf(m_algebra, application);
    made.name = node.name;
    made.output = output;
    made.isUniform = !application.operands.empty() && hasTrait(node.op, Elementwise) &&
                     std::all_of(application.operands.begin(), application.operands.end(),
                                 [](const auto& each) { return !each || each->isUniform; });
    made.isComputed = hasTrait(node.op, Elementwise | Reduction | ContractionOp | Pooling) ||
                      node.op == Op::GlobalAveragePool;
    const bool keepsRank = node.op == Op::Transpose || node.op == Op::Pad || node.op == Op::Relu ||
                           node.op == Op::QuantizeLinear || node.op == Op::DequantizeLinear ||
                           node.op == Op::BatchNormalization || hasTrait(node.op, Pooling);
    auto isRanked = [](const auto& each) { return !each || each->rank; };
    if (hasTrait(node.op, Elementwise) && !application.operands.empty() &&
        std::all_of(application.operands.begin(), application.operands.end(), isRanked))
        for (const auto& operand : application.operands)
            made.rank = std::max(made.rank.value_or(0), operand ? *operand->rank : 0);
    if (node.op == Op::Conv && node.operands.size() > 1 && node.operands[1])
        made.rank = m_values[*node.operands[1]].rank;
    if (keepsRank && !application.operands.empty() && application.operands[0])
        made.rank = application.operands[0]->rank;
    if (node.op == Op::Cast)
        if (auto to = node.attributes.find("to"); to != node.attributes.end() && to->second.literal)
            made.type = dtypeFromOnnx(static_cast<int64_t>(*to->second.literal));
    const size_t result = addValue(std::move(made));
    if (output == 0)
        unite(given, result);
    return result;
}

bool Walk::mayCompute(bool (*isOfType)(DType)) const {
    for (size_t i = 0; i < m_matched; ++i) {
        const SymbolicValue& value = m_values[i];
        if (!value.isComputed)
            continue;
        for (uint32_t type = 0; type < typeCount; ++type)
            if ((m_types[kindOf(value.kind)] >> type & 1U) != 0 &&
                isOfType(static_cast<DType>(type)))
                return true;
    }
    return false;
}

} // namespace fuselage::algebra
