// SPDX-License-Identifier: Apache-2.0
// Borders of zeros in front of convolutions and averages: the window's own border, where it is one
// in the dimensions that the window slides over.
#include "core/algebra/walk.h"
#include "core/ops/op_table.h"

#include <algorithm>

namespace fuselage::algebra {

namespace {

bool slides(Op op) {
    return op == Op::Conv || hasTrait(op, Pooling);
}

} // namespace

/// Of a known rank, lists of the window are lists of symbols; borders and windows do not cut.
void Walk::listParameters(SymbolicNode& node) {
    if (!slides(node.op) || node.operands.empty() || !node.operands[0])
        return;
    const auto rank = m_values[*node.operands[0]].rank;
    if (!rank)
        return;
    m_isImpossible = m_isImpossible || *rank < 3;
    if (*rank < 3)
        return;
    for (auto& [name, value] : node.attributes) {
        const bool isBorder = name == "pads";
        const bool isList =
            isBorder || name == "strides" || name == "dilations" || name == "kernel_shape";
        if (!isList || value.kind != Known::Kind::Word)
            continue;
        std::vector<Known> items;
        for (size_t i = 0; i < (*rank - 2) * (isBorder ? 2 : 1); ++i) {
            items.push_back(integer(value.text + "[" + std::to_string(i) + "]"));
            if (m_algebra.arithmetic() != Arithmetic::Bits)
                m_facts.push_back({items.back().number,
                                   isBorder ? Fact::Kind::AtLeastZero : Fact::Kind::AboveZero});
        }
        value = Known::list(std::move(items));
    }
}

bool Walk::isZero(const Known& number) const {
    return number.literal && *number.literal == 0;
}

/// Conv(Pad(x)) = Conv(x) with a larger border; AveragePool too, where its border counts or there
/// is none.
bool Walk::takeBorder(SymbolicNode& node) {
    if ((node.op != Op::Conv && node.op != Op::AveragePool) || node.operands.empty() ||
        !node.operands[0] || m_algebra.arithmetic() == Arithmetic::Bits)
        return false;
    const auto maker = m_values[*node.operands[0]].maker;
    if (!maker || m_nodes[*maker].op != Op::Pad)
        return false;
    const SymbolicNode pad = m_nodes[*maker];
    auto given = [&](size_t i) { return i < pad.operands.size() && pad.operands[i]; };
    const Known borders = given(1) ? contents(Known::ofValue(*pad.operands[1])) : Known{};
    const bool isOfZeros = !given(2) || isZero(contents(Known::ofValue(*pad.operands[2])));
    Known& own = node.attributes["pads"];
    const size_t rank = borders.items.size() / 2;
    const bool isPlain = pad.attributes.contains("mode") &&
                         pad.attributes.at("mode").text == "constant" && !given(3) &&
                         node.attributes["auto_pad"].text == "NOTSET";
    if (!isPlain || !isOfZeros || rank < 3 || own.items.size() != 2 * (rank - 2))
        return false;
    for (size_t i : {size_t(0), size_t(1), rank, rank + 1})
        if (!isZero(borders.items[i]))
            return false;
    if (node.op == Op::AveragePool) {
        const Known& counts = node.attributes["count_include_pad"];
        const bool isCounted = counts.literal && *counts.literal == 1;
        const bool hasNone = std::all_of(own.items.begin(), own.items.end(),
                                         [&](const Known& each) { return isZero(each); });
        if (!isZero(node.attributes["ceil_mode"]) || (!isCounted && !hasNone))
            return false;
        node.attributes["count_include_pad"] = Known::ofNumber(m_algebra.number(1), "1", 1);
    }
    std::vector<Known> sums;
    for (size_t side : {size_t(0), rank})
        for (size_t i = 2; i < rank; ++i) {
            const Known& border = borders.items[side + i];
            m_borders.push_back(border.number);
            sums.push_back(arithmetic("+", own.items[sums.size()], border));
        }
    own = Known::list(std::move(sums));
    node.operands[0] = pad.operands[0];
    return true;
}

/// Symbols whose bounds leave one number are that number.
void Walk::settleBounds() {
    if (m_algebra.arithmetic() == Arithmetic::Bits)
        return;
    for (const auto& [name, symbol] : m_integers) {
        std::vector<Fact> above = m_facts, below = m_facts;
        above.push_back({symbol.number, Fact::Kind::AboveZero});
        below.push_back({m_algebra.make("neg", {symbol.number}), Fact::Kind::AboveZero});
        if (areContradictory(m_algebra, above) && areContradictory(m_algebra, below))
            m_found.values[name] = 0;
    }
    for (const Expr& border : m_borders) {
        std::vector<Fact> cuts = m_facts;
        cuts.push_back({m_algebra.make("neg", {border}), Fact::Kind::AboveZero});
        if (!areContradictory(m_algebra, cuts))
            obstruct("a border that may cut");
    }
}

} // namespace fuselage::algebra
