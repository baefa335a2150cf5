// SPDX-License-Identifier: Apache-2.0
// Index maps: affine maps from the dims of an iteration space to the logical indices of one value,
// and how each data movement operator composes with them. lower() walks from results to operands
// with these, so that transposes, slices, broadcasts and reshapes cost nothing. No graph in here.
#pragma once

#include "core/kernel/program.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace fuselage {

/// One DimIndex per dimension of a value. Terms are sorted by dim, have no zero scale and never
/// name a dim of extent 1.
using IndexMap = std::vector<DimIndex>;

/// Iteration dim `dim` must become two: [extent / inner, inner].
struct DimSplit {
    uint32_t dim = 0;
    int64_t inner = 1;
};

/// Why a map could not be composed, as numbers on both sides.
struct MapFailure {
    std::string left, right;
};

using MapResult = std::variant<IndexMap, DimSplit, MapFailure>;

/// Dims `first`, `first` + 1 ... of the space, one for each extent.
IndexMap identityMap(const Extents& extents, uint32_t first = 0);

/// The map of X where `map` is the map of Reshape(X); fails when it is not affine, asks for a split
/// where an iteration dim spans several dims of X.
MapResult reshapeMap(const IndexMap& map, const Extents& from, const Extents& to,
                     const Extents& space);

/// The map of X where `map` is of an expression to which X [extents] broadcasts (numpy rules).
MapResult broadcastMap(const IndexMap& map, const Extents& from, const Extents& to);

/// Applies a split to a space and to a map over it.
void refine(Extents& space, DimSplit split);
void refine(IndexMap& map, DimSplit split);

/// Renumbers dims: old dim d becomes newDim[d].
void renumber(IndexMap& map, const std::vector<uint32_t>& newDim);

/// Dims that occur in a map, ascending.
std::vector<uint32_t> dimsOf(const IndexMap& map);
std::vector<uint32_t> dimsOf(const DimIndex& index);

/// The same in the order in which they step through the indices, outermost first.
std::vector<uint32_t> dimsInOrder(const IndexMap& map);

/// True when the map reaches every index of `extents` exactly once over the dims of `space`.
bool coversOnce(const IndexMap& map, const Extents& extents, const Extents& space);

/// "[2*d0 + d1, 3, 0]"
std::string text(const IndexMap& map);

/// Largest and smallest index along one dimension.
int64_t largestIndex(const DimIndex& index, const Extents& space);
int64_t smallestIndex(const DimIndex& index, const Extents& space);

} // namespace fuselage
