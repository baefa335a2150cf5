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
    if (index.terms.empty())
        return 1;
    if (index.terms.size() == 1 && index.terms[0].scale != 0)
        return space[index.terms[0].dim];
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

/// The same terms over the same extents touch the same elements whatever the dims are called.
bool TouchedSet::alike(const Box& a, const Box& b) {
    auto sameTerm = [&](const IndexTerm& one, const IndexTerm& other) {
        return one.scale == other.scale && a.space[one.dim] == b.space[other.dim];
    };
    auto sameIndex = [&](const DimIndex& one, const DimIndex& other) {
        return one.offset == other.offset &&
               std::equal(one.terms.begin(), one.terms.end(), other.terms.begin(),
                          other.terms.end(), sameTerm);
    };
    return std::equal(a.index->begin(), a.index->end(), b.index->begin(), b.index->end(),
                      sameIndex);
}

void TouchedSet::add(const std::vector<DimIndex>& index, const Extents& space) {
    Box box{&index, space};
    if (std::none_of(m_boxes.begin(), m_boxes.end(),
                     [&](const Box& known) { return alike(known, box); }))
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
        for (const DimIndex& along : *m_boxes[0].index)
            out *= countAlong(along, m_boxes[0].space);
        return out;
    }
    std::vector<Product> products;
    int64_t out = 0;
    for (const Box& box : m_boxes) {
        Product product;
        for (const DimIndex& along : *box.index)
            product.push_back(valuesAlong(along, box.space));
        out += countNew(product, products, products.size());
        products.push_back(std::move(product));
    }
    return std::min(out, whole);
}

} // namespace fuselage
