// SPDX-License-Identifier: Apache-2.0
// The same elements under other extents: neighbours become one dimension, or one is taken apart.
// A model that cuts a dimension once cuts others alike and puts them together again, so what was
// done in a sample is remembered.
#pragma once

#include "app/pipeline/prove/choices.h"
#include "core/graph/type.h"

#include <optional>
#include <utility>
#include <vector>

namespace fuselage::app {

/// Pairs of neighbours that are one dimension elsewhere in the sample.
class Partings {
public:
    /// A Reshape between these extents, in either direction.
    void note(const Extents& from, const Extents& to);

    /// None where no parting has that product.
    std::optional<std::pair<int64_t, int64_t>> of(int64_t whole) const;

    /// One more step like an earlier one, or back; none where nothing fits.
    std::optional<Extents> again(const Extents& extents, Choices& choices) const;

private:
    std::vector<std::pair<int64_t, int64_t>> m_pairs;
};

/// The number of elements of small extents.
int64_t productOf(const Extents& extents);

/// What is known of each dimension.
using KnownDimensions = std::vector<std::optional<int64_t>>;

/// In as many dimensions as `known` has, of all ways the one that has most of what is known; none
/// where there is none, as for two elements and no dimension.
std::optional<Extents> inGroups(const Extents& extents, const KnownDimensions& known,
                                const Partings& partings, Choices& choices);

} // namespace fuselage::app
