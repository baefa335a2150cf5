// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/regroup.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace fuselage::app {

namespace {

/// All ways to share `items` neighbours among `groups`, one each at least.
void share(size_t items, size_t groups, std::vector<size_t>& sizes,
           std::vector<std::vector<size_t>>& out) {
    if (groups == 1) {
        sizes.push_back(items);
        out.push_back(sizes);
        sizes.pop_back();
        return;
    }
    for (size_t first = 1; first + groups <= items + 1; ++first) {
        sizes.push_back(first);
        share(items - first, groups - 1, sizes, out);
        sizes.pop_back();
    }
}

/// Ascending; of numbers beyond 2^32 those that are small, and what they leave.
Extents divisorsOf(int64_t whole) {
    constexpr int64_t mostTried = 1 << 16;
    Extents out, large;
    for (int64_t divisor = 1; divisor <= std::min(whole / divisor, mostTried); ++divisor) {
        if (whole % divisor != 0)
            continue;
        out.push_back(divisor);
        if (whole / divisor != divisor)
            large.push_back(whole / divisor);
    }
    out.insert(out.end(), large.rbegin(), large.rend());
    return out;
}

/// One dimension as that many, some of them known; appended to `out`.
void takeApart(int64_t whole, const KnownDimensions& known, const Partings& partings,
               Choices& choices, Extents& out) {
    int64_t left = whole;
    std::vector<size_t> open;
    Extents parts(known.size(), 1);
    for (size_t i = 0; i < known.size(); ++i) {
        const bool fits = known[i] && *known[i] > 0 && left % *known[i] == 0;
        if (fits)
            left /= parts[i] = *known[i];
        else
            open.push_back(i);
    }
    if (open.size() == 2)
        if (const auto earlier = partings.of(left)) {
            parts[open[0]] = earlier->first;
            parts[open[1]] = earlier->second;
            open.clear();
        }
    for (; open.size() > 1; open.pop_back()) {
        const Extents divisors = divisorsOf(left);
        if (divisors.empty())
            break; // of 0 elements
        left /= parts[open.back()] = divisors[choices.pick(static_cast<uint32_t>(divisors.size()))];
    }
    if (!open.empty())
        parts[open[0]] = left;
    else if (!parts.empty() && productOf(parts) != whole)
        parts.back() *= left; // more is known than fits
    out.insert(out.end(), parts.begin(), parts.end());
}

size_t agreeing(const Extents& extents, const KnownDimensions& known) {
    size_t out = 0;
    for (size_t i = 0; i < known.size(); ++i)
        out += known[i] == extents[i] ? 1 : 0;
    return out;
}

} // namespace

int64_t productOf(const Extents& extents) {
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

void Partings::note(const Extents& from, const Extents& to) {
    const Extents& few = from.size() < to.size() ? from : to;
    const Extents& many = from.size() < to.size() ? to : from;
    if (few.empty() || many.size() != few.size() + 1)
        return;
    size_t at = 0;
    while (at < few.size() && few[at] == many[at])
        ++at;
    const bool isOne = at < few.size() && few[at] == many[at] * many[at + 1] &&
                       std::equal(few.begin() + static_cast<std::ptrdiff_t>(at) + 1, few.end(),
                                  many.begin() + static_cast<std::ptrdiff_t>(at) + 2);
    if (isOne)
        m_pairs.emplace_back(many[at], many[at + 1]);
}

std::optional<std::pair<int64_t, int64_t>> Partings::of(int64_t whole) const {
    for (const auto& pair : m_pairs)
        if (pair.first * pair.second == whole)
            return pair;
    return std::nullopt;
}

std::optional<Extents> Partings::again(const Extents& extents, Choices& choices) const {
    std::vector<Extents> out;
    for (const auto& [outer, inner] : m_pairs)
        for (size_t i = 0; i < extents.size(); ++i) {
            const auto at = static_cast<std::ptrdiff_t>(i);
            if (extents[i] == outer * inner) {
                Extents& apart = out.emplace_back(extents);
                apart[i] = inner;
                apart.insert(apart.begin() + at, outer);
            }
            if (i + 1 < extents.size() && extents[i] == outer && extents[i + 1] == inner) {
                Extents& one = out.emplace_back(extents);
                one[i] = outer * inner;
                one.erase(one.begin() + at + 1);
            }
        }
    if (out.empty())
        return std::nullopt;
    return out[choices.pick(static_cast<uint32_t>(out.size()))];
}

std::optional<Extents> inGroups(const Extents& extents, const KnownDimensions& known,
                                const Partings& partings, Choices& choices) {
    const size_t from = extents.size(), to = known.size();
    if (from == to)
        return extents;
    if (to == 0)
        return productOf(extents) == 1 ? std::optional(Extents{}) : std::nullopt;
    if (from == 0)
        return Extents(to, 1);
    std::vector<std::vector<size_t>> ways;
    std::vector<size_t> sizes;
    share(std::max(from, to), std::min(from, to), sizes, ways);
    std::vector<Extents> best;
    size_t most = 0;
    for (const std::vector<size_t>& way : ways) {
        Extents made;
        size_t at = 0;
        for (size_t group = 0; group < way.size(); ++group) {
            const auto begin = static_cast<std::ptrdiff_t>(at);
            at += way[group];
            const auto end = static_cast<std::ptrdiff_t>(at);
            if (from > to)
                made.push_back(productOf({extents.begin() + begin, extents.begin() + end}));
            else
                takeApart(extents[group], {known.begin() + begin, known.begin() + end}, partings,
                          choices, made);
        }
        // What was taken apart before is more likely than what happens to fit.
        size_t fits = 2 * agreeing(made, known);
        for (size_t group = 0, i = 0; group < way.size() && from < to; i += way[group++])
            if (way[group] == 2 && partings.of(extents[group]))
                ++fits;
        if (best.empty() || fits > most) {
            best.clear();
            most = fits;
        }
        if (fits == most)
            best.push_back(std::move(made));
    }
    return best[choices.pick(static_cast<uint32_t>(best.size()))];
}

} // namespace fuselage::app
