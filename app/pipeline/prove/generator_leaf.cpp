// SPDX-License-Identifier: Apache-2.0
// The ends of a pattern: inputs and constants with the type that the rule and the reader ask for.
#include "app/pipeline/prove/generator_internal.h"

#include <algorithm>
#include <cmath>

namespace fuselage::app {

namespace {

constexpr uint32_t percentConstant = 12; ///< of values that may be constant or not
constexpr uint32_t percentShared = 6;    ///< of inputs that are read a second time instead
constexpr uint32_t percentManyAxes = 10;
constexpr uint32_t percentEdge = 10; ///< of literals
constexpr uint32_t percentOtherScalar = 20;
constexpr uint32_t percentOrdered = 80; ///< of bounds
constexpr uint32_t percentFromEnd = 15; ///< of places
constexpr size_t mostAxes = 6;
constexpr uint64_t rankPoint = (uint64_t{1} << 50U) + 1; ///< a structural decision

const Expression* otherSide(const Expression& equation, uint32_t variable) {
    if (equation.kind != Expression::Kind::Binary || equation.text != "==")
        return nullptr;
    for (size_t side = 0; side < 2; ++side)
        if (equation.args[side].kind == Expression::Kind::Dim &&
            equation.args[side].slot == variable)
            return &equation.args[1 - side];
    return nullptr;
}

/// Counted from either end.
Wish somePlaces(int64_t count, const Extents& extents, Choices& choices) {
    Wish out;
    out.extents = extents;
    out.contents.emplace();
    for (int64_t i = elementCount(extents).value_or(0); i > 0; --i)
        out.contents->push_back(int64_t{choices.pick(static_cast<uint32_t>(count))} -
                                (choices.rarely(percentFromEnd) ? count : 0));
    return out;
}

} // namespace

/// "where N == 3 * K" is no accident to wait for.
std::optional<int64_t> Generator::demandedDimension(uint32_t variable) {
    for (const Condition& condition : m_rule.match.conditions)
        if (const Expression* side = otherSide(condition.expression, variable))
            if (auto value = evaluate(context(), *side).integerValue(); value && *value > 0)
                return value;
    if (m_rule.verify)
        for (const auto& [dim, values] : m_rule.verify->dims)
            if (dim == variable && !values.empty())
                return values[m_choices.pick(static_cast<uint32_t>(values.size()))];
    return std::nullopt;
}

int64_t Generator::freeDimension(size_t position, size_t rank) {
    int64_t size = m_sizes[m_choices.pick(static_cast<uint32_t>(m_sizes.size()))];
    if (size > mostSmall && m_largeLeft-- <= 0)
        size = 2; // elements multiply
    return rank >= 4 && position >= 2 ? m_leastSpatial + size : size;
}

int64_t Generator::dimensionFor(const DimPattern& pattern, std::optional<int64_t> wished,
                                size_t position) {
    if (pattern.kind == DimPattern::Kind::Value)
        if (auto value = evaluate(context(), pattern.value).integerValue())
            return *value;
    if (pattern.kind == DimPattern::Kind::Variable) {
        DimBinding& bound = m_dims[pattern.variable];
        if (!bound.bound) {
            std::optional<int64_t> demanded = demandedDimension(pattern.variable);
            int64_t value = demanded ? *demanded : wished ? *wished : freeDimension(position, 4);
            bound = {true, false, Dim(value), {}};
        }
        return bound.dim.number().value_or(1);
    }
    return wished ? *wished : freeDimension(position, 4);
}

std::optional<Extents> Generator::extentsFor(const TypePattern& type, const Wish& asked) {
    if (!type.dims)
        return std::nullopt;
    const std::vector<DimPattern>& dims = *type.dims;
    Wish wish = asked;
    const bool isFixed = std::none_of(dims.begin(), dims.end(), [](const DimPattern& dim) {
        return dim.kind == DimPattern::Kind::Rest;
    });
    if (wish.regroups && wish.extents && isFixed) {
        KnownDimensions known;
        for (const DimPattern& dim : dims)
            known.push_back(dim.kind == DimPattern::Kind::Value
                                ? evaluate(context(), dim.value).integerValue()
                            : dim.kind == DimPattern::Kind::Variable && m_dims[dim.variable].bound
                                ? m_dims[dim.variable].dim.number()
                                : std::nullopt);
        if (auto grouped = inGroups(*wish.extents, known, m_partings, m_choices))
            wish.extents = std::move(grouped);
    }
    auto rest = static_cast<size_t>(
        std::find_if(dims.begin(), dims.end(),
                     [](const DimPattern& dim) { return dim.kind == DimPattern::Kind::Rest; }) -
        dims.begin());
    bool open = rest < dims.size();
    size_t fixed = dims.size() - (open ? 1 : 0);
    size_t rank = fixed;
    if (open)
        rank = wish.extents && wish.extents->size() >= fixed
                   ? wish.extents->size()
                   : fixed + m_choices.pick(4) +
                         (m_choices.rarely(percentManyAxes) ? m_choices.pick(4) : 0);
    rank = std::max(std::min(rank, mostAxes), fixed);
    auto wished = [&](size_t position) -> std::optional<int64_t> {
        if (!wish.extents || wish.extents->size() < rank - position)
            return std::nullopt;
        return (*wish.extents)[wish.extents->size() - rank + position];
    };
    static const DimPattern any;
    Extents out;
    for (size_t i = 0; i < rank; ++i) {
        bool front = i < rest, back = open && i + fixed - rest >= rank;
        const DimPattern& pattern = front ? dims[i] : back ? dims[i + dims.size() - rank] : any;
        out.push_back(dimensionFor(pattern, wished(i), rank >= 3 ? i : 0));
    }
    return out;
}

ValueId Generator::leaf(const TypePattern* type, const std::optional<SlotIndex>& slot, Wish wish) {
    bool constant = wish.constant || (type && type->isConst);
    bool scalar = type && type->isScalar;
    DType dtype = wish.dtype.value_or(m_untyped);
    if (type && !type->dtypes.empty() &&
        std::find(type->dtypes.begin(), type->dtypes.end(), dtype) == type->dtypes.end())
        dtype = type->dtypes[m_choices.pick(static_cast<uint32_t>(type->dtypes.size()))];
    Extents extents;
    if (auto demanded = type ? extentsFor(*type, wish) : std::nullopt) {
        extents = *demanded;
    } else if (scalar) {
        const Extents forms[] = {{}, {1}, wish.extents.value_or(Extents{1, 1})};
        extents = forms[m_choices.rarely(20) ? 1 + m_choices.pick(2) : 0];
    } else if (wish.extents) {
        extents = wish.broadcast ? broadcastOf(*wish.extents, m_choices) : *wish.extents;
    } else {
        const size_t ranks[] = {2, 1, 3, 4, 2, 1, 3, 4, 5, 0, 6};
        const auto count = static_cast<uint32_t>(std::size(ranks));
        const uint32_t drawn =
            m_hasRank ? m_choices.pick(count) : m_choices.structural(rankPoint, count);
        m_hasRank = true;
        size_t rank = ranks[drawn];
        if (m_leastSpatial > 0)
            rank = 4;
        for (size_t i = 0; i < rank; ++i)
            extents.push_back(freeDimension(i, rank));
    }
    if (!constant && !(type && type->isInput) && m_choices.rarely(percentConstant))
        constant = true;
    const VerifySpec::Values* range = rangeOf(slot);
    const bool isPlaces = wish.places && isInteger(dtype);
    if (constant && isPlaces && (!wish.contents || wish.extents != extents))
        wish = somePlaces(*wish.places, extents, m_choices);
    if (constant)
        return constantLeaf(wish, range, scalar, dtype, extents);
    Type wanted = tensorType(dtype, toShape(extents));
    if (!m_graph.inputs().empty() && !range && !isPlaces && m_choices.rarely(percentShared))
        for (ValueId input : m_graph.inputs())
            if (certainlyEqual(typeOf(input), wanted))
                return input;
    std::string name = slot ? m_rule.slots[*slot].name : "in";
    std::replace(name.begin(), name.end(), '.', '_');
    name = m_graph.freshName(name.empty() ? "in" : name);
    if (range)
        m_ranges[name] = {range->least, range->most};
    else if (isPlaces)
        m_ranges[name] = {-static_cast<double>(*wish.places),
                          static_cast<double>(*wish.places - 1)};
    return m_graph.addInput(name, wanted);
}

const VerifySpec::Values* Generator::rangeOf(const std::optional<SlotIndex>& slot) const {
    if (slot && m_rule.verify)
        for (const VerifySpec::Values& range : m_rule.verify->values)
            if (range.slot == *slot)
                return &range;
    return nullptr;
}

ValueId Generator::constantLeaf(const Wish& wish, const VerifySpec::Values* range, bool scalar,
                                DType dtype, Extents extents) {
    std::string name = m_graph.freshName("c");
    if (wish.contents && extents == *wish.extents && isInteger(dtype)) {
        Tensor tensor(dtype, extents);
        for (int64_t i = 0; i < tensor.elementCount(); ++i)
            tensor.setInt(i, (*wish.contents)[static_cast<size_t>(i)]);
        return m_graph.addConstant(name, std::make_shared<Tensor>(std::move(tensor)));
    }
    if (wish.numbers && extents == *wish.extents && dtype == DType::Float32) {
        Tensor tensor(dtype, extents);
        for (int64_t i = 0; i < tensor.elementCount(); ++i)
            tensor.set(i, (*wish.numbers)[static_cast<size_t>(i)]);
        return m_graph.addConstant(name, std::make_shared<Tensor>(std::move(tensor)));
    }
    if (wish.contents && extents.size() == 1 && isInteger(dtype)) {
        // A rule that wants another length gets what is there, then zeros.
        std::vector<int64_t> items = *wish.contents;
        items.resize(static_cast<size_t>(extents[0]), 0);
        return m_graph.addConstant(name, std::make_shared<Tensor>(Tensor::ofInts(items)));
    }
    if (!elementCount(extents) || *elementCount(extents) > 1 << 20)
        return fail();
    auto kind = static_cast<Contents>(m_choices.pick(static_cast<uint32_t>(Contents::Ends)));
    const uint64_t seed = m_choices.pick(1000);
    const bool isData = isInteger(dtype) && (wish.broadcast || wish.stored) && !wish.contents;
    Tensor tensor = wish.packed && isInteger(dtype) ? sampleBytes(dtype, extents, seed)
                    : isData                        ? sampleIntegers(dtype, extents, kind, seed)
                             : sampleTensor(dtype, extents, kind, seed, wish.positive);
    if (scalar && isFloat(dtype)) {
        constexpr double scalars[] = {1, 0.5, 2, 0, -1, 3, 0.125, 1e-3, 1e-6, 60, -0.0};
        double value = scalars[m_choices.pick(std::size(scalars))];
        if (m_choices.rarely(percentOtherScalar))
            value = static_cast<double>(m_choices.pick(256)) / 32 - 3;
        constexpr double above[] = {1, 0.5, 2, 6};
        if (wish.least && value < *wish.least && m_choices.rarely(percentOrdered))
            value = *wish.least + above[m_choices.pick(4)];
        if (wish.positive)
            value = std::ldexp(1.0, static_cast<int>(m_choices.pick(4)) - 2);
        for (int64_t i = 0; i < tensor.elementCount(); ++i)
            tensor.set(i, value);
    }
    if (range)
        bringInto(tensor, {range->least, range->most});
    if (wish.divides && isInteger(dtype))
        replaceZeros(tensor);
    return m_graph.addConstant(name, std::make_shared<Tensor>(std::move(tensor)));
}

ValueId Generator::buildNumber(const Term& term, const Wish& wish) {
    DType dtype = wish.dtype.value_or(m_untyped);
    Extents extents;
    if (m_choices.rarely(15)) {
        const Extents forms[] = {{1}, wish.extents.value_or(Extents{1}), {1, 1, 1}};
        extents = forms[m_choices.pick(3)];
    }
    if (!elementCount(extents))
        return fail();
    double number = term.number;
    // One at a time: what a rule allows of each it need not allow of all together.
    if (isFloat(dtype) && term.tolerance > 0 && !m_isAtEdge && number != 0 &&
        m_choices.rarely(percentEdge)) {
        constexpr double within = 0.98; // of the tolerance: the type rounds, too
        number *= 1 + (m_choices.pick(2) == 0 ? within : -within) * term.tolerance;
        m_isAtEdge = true;
    }
    Tensor tensor(dtype, extents);
    for (int64_t i = 0; i < tensor.elementCount(); ++i)
        isFloat(dtype) ? tensor.set(i, number)
                       : tensor.setInt(i, static_cast<int64_t>(std::llround(term.number)));
    return m_graph.addConstant(m_graph.freshName("k"), std::make_shared<Tensor>(std::move(tensor)));
}

} // namespace fuselage::app
