// SPDX-License-Identifier: Apache-2.0
// What a convolution knows about its output channels: its bias is added to them, and a factor for
// each of them may stand in front of its weights or behind it.
#include "core/algebra/walk.h"
#include "core/ops/op_table.h"

#include <algorithm>

namespace fuselage::algebra {

namespace {

bool isOne(const std::string& dim) {
    return dim == "1";
}

/// [M, 1, 1]: one number for each channel of a result of that rank.
bool liesAlongChannels(const std::vector<std::string>& dims, size_t rank) {
    if (dims.size() + 1 != rank && dims.size() != rank)
        return false;
    const auto channel = dims.end() - static_cast<std::ptrdiff_t>(rank - 1);
    return std::all_of(dims.begin(), channel, isOne) && std::all_of(channel + 1, dims.end(), isOne);
}

} // namespace

/// What a Reshape to [M, 1, 1 ...] of that many items reads.
Walk::Operand Walk::reshapedTo(size_t value, size_t items) const {
    const auto maker = m_values[value].maker;
    if (!maker || m_nodes[*maker].op != Op::Reshape || m_nodes[*maker].operands.empty())
        return {};
    auto shape = m_nodes[*maker].attributes.find("shape");
    const bool fits = shape != m_nodes[*maker].attributes.end() &&
                      shape->second.kind == Known::Kind::List &&
                      shape->second.items.size() == items &&
                      std::all_of(shape->second.items.begin() + 1, shape->second.items.end(),
                                  [](const Known& each) { return isOne(each.text); });
    return fits ? m_nodes[*maker].operands[0] : std::nullopt;
}

/// The number for the channel of an element, of a value with one for each channel.
std::optional<Expr> Walk::perChannel(size_t value, size_t rank) {
    const SymbolicValue& of = m_values[value];
    if (liesAlongChannels(of.dims, rank))
        return of.element;
    if (of.rank == 1U)
        return m_algebra.make("channels", {of.element});
    return std::nullopt;
}

/// Conv(x, w * k, b) = Conv(x, w) * k + b, k and b for each channel.
std::optional<Expr> Walk::convolved(const SymbolicNode& node) {
    if (node.op != Op::Conv || m_algebra.arithmetic() != Arithmetic::Reals ||
        node.operands.size() < 2 || !node.operands[1])
        return std::nullopt;
    SymbolicNode plain = node;
    plain.operands.resize(2);
    Expr factor = m_algebra.whole(1), offset;
    while (m_values[*plain.operands[1]].maker) {
        const SymbolicNode weights = m_nodes[*m_values[*plain.operands[1]].maker];
        if (weights.op != Op::Mul)
            break;
        bool isTaken = false;
        for (size_t i = 0; i < 2 && !isTaken; ++i) {
            const size_t rest = *weights.operands[1 - i], scale = *weights.operands[i];
            const auto rank = m_values[rest].rank;
            const Operand spread = rank ? reshapedTo(scale, *rank) : std::nullopt;
            auto found = spread ? perChannel(*spread, *rank) : std::nullopt;
            if (!found)
                continue;
            factor = m_algebra.multiply(factor, *found);
            plain.operands[1] = rest;
            isTaken = true;
        }
        if (!isTaken)
            break;
    }
    const auto rank = m_values[*plain.operands[1]].rank;
    if (!rank || *rank < 3)
        return std::nullopt;
    if (node.operands.size() > 2 && node.operands[2]) {
        const Operand spread = reshapedTo(*node.operands[2], 1);
        auto found = spread ? perChannel(*spread, *rank) : std::nullopt;
        offset = found ? *found : m_algebra.make("channels", {m_values[*node.operands[2]].element});
    }
    Application application{Op::Conv, {}, plain.attributes, 0, 1};
    for (const Operand& operand : plain.operands)
        application.operands.push_back(operand ? std::optional(m_values[*operand]) : std::nullopt);
    const Expr sum = meaningOf(m_algebra, application);
    Expr out = m_algebra.add(m_algebra.multiply(sum, factor), offset);
    out.shape = sum.shape;
    return out;
}

} // namespace fuselage::algebra
