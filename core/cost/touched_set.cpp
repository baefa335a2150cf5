// SPDX-License-Identifier: Apache-2.0
#include "core/cost/touched_set.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>

namespace fuselage {

namespace {

using Values = std::vector<int64_t>;
using Product = std::vector<Values>; ///< one set of indices for each dimension

int64_t sizeOfProduct(const Product& product) {
    int64_t out = 1;
    for (const Values& values : product)
        out *= static_cast<int64_t>(values.size());
    return out;
}

/// Empty in one dimension when they share nothing.
Product intersection(const Product& a, const Product& b) {
    Product out(a.size());
    for (size_t d = 0; d < a.size(); ++d) {
        std::set_intersection(a[d].begin(), a[d].end(), b[d].begin(), b[d].end(),
                              std::back_inserter(out[d]));
        if (out[d].empty())
            return {Values{}};
    }
    return out;
}

bool isEmpty(const Product& product) {
    return std::any_of(product.begin(), product.end(),
                       [](const Values& values) { return values.empty(); });
}

Values valuesAlong(const DimIndex& index, const Extents& space) {
    Values out{index.offset};
    for (const IndexTerm& term : index.terms) {
        Values next;
        next.reserve(out.size() * static_cast<size_t>(space[term.dim]));
        for (int64_t i = 0; i < space[term.dim]; ++i)
            for (int64_t value : out)
                next.push_back(value + i * term.scale);
        std::sort(next.begin(), next.end());
        next.erase(std::unique(next.begin(), next.end()), next.end());
        out = std::move(next);
    }
    return out;
}

/// Distinct values of one index; without listing them when no two tuples give the same.
int64_t countAlong(const DimIndex& index, const Extents& space) {
    std::vector<IndexTerm> terms = index.terms;
    std::sort(terms.begin(), terms.end(),
              [](IndexTerm a, IndexTerm b) { return std::abs(a.scale) < std::abs(b.scale); });
    int64_t reach = 0, product = 1;
    for (const IndexTerm& term : terms) {
        if (std::abs(term.scale) <= reach)
            return static_cast<int64_t>(valuesAlong(index, space).size());
        reach += std::abs(term.scale) * (space[term.dim] - 1);
        product *= space[term.dim];
    }
    return product;
}

/// Elements in `box` and in none of boxes[0, end).
int64_t countNew(const Product& box, const std::vector<Product>& boxes, size_t end) {
    int64_t out = sizeOfProduct(box);
    for (size_t i = 0; i < end && out > 0; ++i) {
        Product shared = intersection(box, boxes[i]);
        if (!isEmpty(shared))
            out -= countNew(shared, boxes, i);
    }
    return out;
}

} // namespace

void TouchedSet::add(const std::vector<DimIndex>& index, const Extents& space) {
    Box box{index, {}};
    for (const DimIndex& along : index)
        for (const IndexTerm& term : along.terms)
            box.termExtents.push_back(space[term.dim]);
    // The same terms over the same extents touch the same elements whatever the dims are called.
    for (const Box& known : m_boxes) {
        bool same = known.termExtents == box.termExtents;
        for (size_t d = 0; same && d < index.size(); ++d) {
            same = known.index[d].offset == index[d].offset &&
                   known.index[d].terms.size() == index[d].terms.size();
            for (size_t t = 0; same && t < index[d].terms.size(); ++t)
                same = known.index[d].terms[t].scale == index[d].terms[t].scale;
        }
        if (same)
            return;
    }
    // From here on a box knows its extents by position, so the space is not needed again.
    uint32_t next = 0;
    for (DimIndex& along : box.index)
        for (IndexTerm& term : along.terms)
            term.dim = next++;
    m_boxes.push_back(std::move(box));
}

int64_t TouchedSet::count() const {
    const int64_t whole = elementCount(m_extents).value_or(std::numeric_limits<int64_t>::max());
    if (m_whole)
        return whole;
    if (m_some > 0)
        return std::min(whole, m_some);
    if (m_boxes.size() == 1) {
        int64_t out = 1;
        for (const DimIndex& along : m_boxes[0].index)
            out *= countAlong(along, m_boxes[0].termExtents);
        return out;
    }
    std::vector<Product> products;
    int64_t out = 0;
    for (const Box& box : m_boxes) {
        Product product;
        for (const DimIndex& along : box.index)
            product.push_back(valuesAlong(along, box.termExtents));
        out += countNew(product, products, products.size());
        products.push_back(std::move(product));
    }
    return std::min(out, whole);
}

} // namespace fuselage
