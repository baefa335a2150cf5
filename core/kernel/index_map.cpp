// SPDX-License-Identifier: Apache-2.0
// Composition of affine index maps. Reshape is the hard one: the linear index is formed and taken
// apart again along the strides of the other shape.
#include "core/kernel/index_map_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fuselage {

namespace {

/// Sum of all dims of a map, weighted with strides: the row-major linear index.
struct LinearIndex {
    int64_t offset = 0;
    std::map<uint32_t, int64_t> scales; ///< by iteration dim
};

LinearIndex linearise(const IndexMap& map, const Extents& extents) {
    LinearIndex out;
    const Extents strides = rowMajorStrides(extents);
    for (size_t d = 0; d < map.size(); ++d) {
        out.offset += map[d].offset * strides[d];
        for (const IndexTerm& term : map[d].terms)
            out.scales[term.dim] += term.scale * strides[d];
    }
    return out;
}

/// The dim of a shape that an index step of `scale` moves along: largest stride not above it.
std::optional<size_t> dimOfStride(const Extents& extents, const Extents& strides, int64_t scale) {
    for (size_t d = 0; d < extents.size(); ++d)
        if (extents[d] > 1 && strides[d] <= scale)
            return d;
    return std::nullopt;
}

void addTerm(DimIndex& index, IndexTerm term) {
    auto at = std::lower_bound(index.terms.begin(), index.terms.end(), term,
                               [](IndexTerm a, IndexTerm b) { return a.dim < b.dim; });
    index.terms.insert(at, term);
}

} // namespace

int64_t largestIndex(const DimIndex& index, const Extents& space) {
    int64_t out = index.offset;
    for (const IndexTerm& term : index.terms)
        if (term.scale > 0)
            out += term.scale * (space[term.dim] - 1);
    return out;
}

int64_t smallestIndex(const DimIndex& index, const Extents& space) {
    int64_t out = index.offset;
    for (const IndexTerm& term : index.terms)
        if (term.scale < 0)
            out += term.scale * (space[term.dim] - 1);
    return out;
}

IndexMap identityMap(const Extents& extents, uint32_t first) {
    IndexMap out(extents.size());
    for (size_t d = 0; d < extents.size(); ++d)
        if (extents[d] != 1)
            out[d].terms.push_back({first + static_cast<uint32_t>(d), 1});
    return out;
}

MapResult reshapeMap(const IndexMap& map, const Extents& from, const Extents& to,
                     const Extents& space) {
    if (from == to)
        return map;
    const MapFailure failed{text(from), text(to)};
    const auto count = elementCount(to);
    if (!count || count != elementCount(from))
        return failed; // declared shapes may lie
    if (*count == 0)
        return IndexMap(to.size()); // nothing is read; strides are 0 here
    LinearIndex linear = linearise(map, from);
    const Extents strides = rowMajorStrides(to);
    IndexMap out(to.size());
    int64_t rest = linear.offset;
    for (size_t d = 0; d < to.size(); ++d) {
        out[d].offset = strides[d] > 0 ? rest / strides[d] : 0;
        rest -= out[d].offset * strides[d];
    }
    for (auto [dim, scale] : linear.scales) {
        if (scale == 0)
            continue;
        std::optional<size_t> target = scale > 0 ? dimOfStride(to, strides, scale) : std::nullopt;
        if (!target || scale % strides[*target] != 0)
            return failed;
        const int64_t step = scale / strides[*target];
        const int64_t extent = to[*target];
        if (step * (space[dim] - 1) >= extent) {
            const int64_t inner = extent / step;
            if (extent % step != 0 || inner < 2 || space[dim] % inner != 0)
                return failed;
            return DimSplit{dim, inner};
        }
        addTerm(out[*target], {dim, step});
    }
    for (size_t d = 0; d < to.size(); ++d)
        if (largestIndex(out[d], space) >= to[d])
            return failed;
    return out;
}

MapResult broadcastMap(const IndexMap& map, const Extents& from, const Extents& to) {
    if (to.size() > from.size())
        return MapFailure{text(from), text(to)};
    IndexMap out(to.size());
    const size_t shift = from.size() - to.size();
    for (size_t d = 0; d < to.size(); ++d) {
        if (to[d] == from[d + shift])
            out[d] = map[d + shift];
        else if (to[d] != 1)
            return MapFailure{text(from), text(to)};
    }
    return out;
}

void refine(Extents& space, DimSplit split) {
    space[split.dim] /= split.inner;
    space.insert(space.begin() + split.dim + 1, split.inner);
}

void refine(IndexMap& map, DimSplit split) {
    for (DimIndex& index : map) {
        std::vector<IndexTerm> terms;
        for (IndexTerm term : index.terms) {
            if (term.dim == split.dim) {
                terms.push_back({term.dim, term.scale * split.inner});
                terms.push_back({term.dim + 1, term.scale});
            } else {
                terms.push_back({term.dim + (term.dim > split.dim ? 1U : 0U), term.scale});
            }
        }
        index.terms = std::move(terms);
    }
}

void renumber(IndexMap& map, const std::vector<uint32_t>& newDim) {
    for (DimIndex& index : map) {
        for (IndexTerm& term : index.terms)
            term.dim = newDim[term.dim];
        std::sort(index.terms.begin(), index.terms.end(),
                  [](IndexTerm a, IndexTerm b) { return a.dim < b.dim; });
    }
}

std::vector<uint32_t> dimsOf(const DimIndex& index) {
    std::vector<uint32_t> out;
    for (const IndexTerm& term : index.terms)
        out.push_back(term.dim);
    return out;
}

std::vector<uint32_t> dimsOf(const IndexMap& map) {
    std::vector<uint32_t> out;
    for (const DimIndex& index : map)
        for (const IndexTerm& term : index.terms)
            out.push_back(term.dim);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

std::vector<uint32_t> dimsInOrder(const IndexMap& map) {
    std::vector<uint32_t> out;
    for (const DimIndex& index : map) {
        std::vector<IndexTerm> terms = index.terms;
        std::stable_sort(terms.begin(), terms.end(),
                         [](IndexTerm a, IndexTerm b) { return a.scale > b.scale; });
        for (const IndexTerm& term : terms)
            if (std::find(out.begin(), out.end(), term.dim) == out.end())
                out.push_back(term.dim);
    }
    return out;
}

bool coversOnce(const IndexMap& map, const Extents& extents, const Extents& space) {
    std::vector<bool> seen(space.size(), false);
    for (size_t d = 0; d < map.size(); ++d) {
        std::vector<IndexTerm> terms = map[d].terms;
        std::sort(terms.begin(), terms.end(),
                  [](IndexTerm a, IndexTerm b) { return a.scale < b.scale; });
        int64_t reach = 1; // terms must form a mixed radix number below the extent
        for (const IndexTerm& term : terms) {
            if (term.scale != reach || seen[term.dim])
                return false;
            seen[term.dim] = true;
            reach *= space[term.dim];
        }
        if (map[d].offset != 0 || reach != extents[d])
            return false;
    }
    for (size_t d = 0; d < space.size(); ++d)
        if (!seen[d] && space[d] != 1)
            return false;
    return true;
}

std::string text(const IndexMap& map) {
    std::string out = "[";
    for (size_t d = 0; d < map.size(); ++d) {
        if (d > 0)
            out += ", ";
        std::string sum;
        for (const IndexTerm& term : map[d].terms) {
            if (!sum.empty())
                sum += " + ";
            sum += term.scale == 1 ? fmt::format("d{}", term.dim)
                                   : fmt::format("{}*d{}", term.scale, term.dim);
        }
        if (sum.empty())
            sum = fmt::format("{}", map[d].offset);
        else if (map[d].offset != 0)
            sum += fmt::format(" + {}", map[d].offset);
        out += sum;
    }
    return out + "]";
}

} // namespace fuselage
