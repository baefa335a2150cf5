// SPDX-License-Identifier: Apache-2.0
// Shapes of a rule in words, and the smallest change of one after which it fits a value of another
// rank: dimensions are left out or added, those that fit stay.
#include "core/rewrite/matcher_internal.h"

#include <algorithm>
#include <limits>

namespace fuselage {

namespace {

constexpr int never = std::numeric_limits<int>::min() / 2;
constexpr size_t mostDims = 16; ///< of shapes that are compared

std::optional<int64_t> literalOf(const DimPattern& pattern) {
    if (pattern.kind != DimPattern::Kind::Value || pattern.value.kind != Expression::Kind::Number ||
        !pattern.value.isInteger)
        return std::nullopt;
    return static_cast<int64_t>(pattern.value.number);
}

/// What is lost with a dimension of the rule: a name may be wanted elsewhere.
int dropCost(const DimPattern& pattern) {
    if (pattern.kind == DimPattern::Kind::Rest)
        return 0;
    if (pattern.kind == DimPattern::Kind::Any)
        return -2;
    return literalOf(pattern) == 1 ? -1 : pattern.kind == DimPattern::Kind::Value ? -3 : -4;
}

int addCost(const Dim& dim) {
    return dim.number() == 1 ? -1 : -2;
}

} // namespace

/// As the rule writes it; the value of an expression.
std::string Search::dimText(const DimPattern& pattern) const {
    switch (pattern.kind) {
    case DimPattern::Kind::Any:
        return "_";
    case DimPattern::Kind::Rest:
        return "...";
    case DimPattern::Kind::Variable:
        return m_rule.dims[pattern.variable];
    case DimPattern::Kind::Value:
        break;
    }
    return evaluate(context(), pattern.value).text();
}

std::string Search::dimsText(const std::vector<DimPattern>& patterns) const {
    std::string out;
    for (const DimPattern& pattern : patterns)
        out += (out.empty() ? "" : ", ") + dimText(pattern);
    return "[" + out + "]";
}

/// The dimensions between the brackets; none where nothing of the rule would stay, or where a
/// dimension is written as more than a name or a number.
std::optional<std::string> Search::fittingDims(const std::vector<DimPattern>& patterns,
                                               const Shape& shape) const {
    const size_t rows = patterns.size(), columns = shape.size();
    if (rows > mostDims || columns > mostDims)
        return std::nullopt;
    for (const DimPattern& pattern : patterns)
        if (pattern.kind == DimPattern::Kind::Value && !literalOf(pattern))
            return std::nullopt;
    auto pairGain = [&](const DimPattern& pattern, const Dim& dim) {
        if (pattern.kind == DimPattern::Kind::Rest)
            return never;
        if (auto literal = literalOf(pattern))
            return dim.number() == literal ? 4 : never;
        if (pattern.kind == DimPattern::Kind::Variable && m_dims[pattern.variable].bound)
            return m_dims[pattern.variable].dim == dim ? 4 : never;
        return dim.number() == 1 ? 1 : 2;
    };
    // best[i][j]: of the rule's dimensions from i on against the value's from j on.
    std::vector<std::vector<int>> best(rows + 1, std::vector<int>(columns + 1, 0));
    auto pairs = [&](size_t i, size_t j) {
        return i < rows && j < columns ? pairGain(patterns[i], shape[j]) + best[i + 1][j + 1]
                                       : never;
    };
    auto drops = [&](size_t i, size_t j) {
        return i < rows ? dropCost(patterns[i]) + best[i + 1][j] : never;
    };
    auto adds = [&](size_t i, size_t j) {
        return j < columns ? addCost(shape[j]) + best[i][j + 1] : never;
    };
    for (size_t i = rows + 1; i-- > 0;)
        for (size_t j = columns + 1; j-- > 0;)
            if (i < rows || j < columns)
                best[i][j] = std::max({pairs(i, j), drops(i, j), adds(i, j)});
    std::string out;
    bool keepsAny = false;
    auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
    for (size_t i = 0, j = 0; i < rows || j < columns;) {
        if (best[i][j] == pairs(i, j)) {
            add(dimText(patterns[i++]));
            ++j;
            keepsAny = true;
        } else if (best[i][j] == drops(i, j)) {
            if (patterns[i].kind == DimPattern::Kind::Rest)
                add("...");
            ++i;
        } else {
            add(shape[j++].number() == 1 ? "1" : "_");
        }
    }
    return keepsAny ? std::optional(out) : std::nullopt;
}

void Search::suggestDims(const TypePattern& type, const Shape& shape) {
    if (!m_noted)
        return;
    const std::vector<DimPattern>& patterns = *type.dims;
    if (auto fitting = fittingDims(patterns, shape)) {
        const Span first = patterns.front().span, last = patterns.back().span;
        suggest(
            "write `[" + *fitting + "]`, or `[...]` if any rank will do",
            RuleEdit{RuleEdit::Kind::Replace, {first.source, first.begin, last.end}, {}, *fitting});
        return;
    }
    const bool isPlain = type.dtypes.empty() && !type.isScalar && !type.isInput;
    suggest("write `[...]`, if any rank will do", RuleEdit{RuleEdit::Kind::Replace,
                                                           isPlain ? type.span : Span{},
                                                           {},
                                                           type.isConst ? "const [...]" : "[...]"});
}

} // namespace fuselage
