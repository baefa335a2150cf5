// SPDX-License-Identifier: Apache-2.0
// What generated tensors hold: mostly small multiples of a quarter, on which sums and products are
// exact, so that a difference is a difference of meaning; edge values; magnitudes from 1e-4 to 1e4,
// where exponentials overflow and where the type ends; NaN and infinities. Integers of both signs,
// and the ends of types that conversions pass.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <cstdint>
#include <vector>

namespace fuselage::app {

enum class Contents : uint8_t {
    Distinct, ///< 0.25, -0.5, 0.75 ...: in no symmetric order
    Quarters, ///< random multiples of 1/4 in [-2, 2]
    Edges,    ///< 0, 1 and -1
    Normal,   ///< any number around 0
    Wide,     ///< magnitudes from 1e-4 to 1e4, and from 88 to 100; integers: the ends of types
    Ends,     ///< the largest numbers of the type, and those below its smallest normal one
    Specials, ///< quarters with NaN and infinities among them
    Nans,     ///< quarters with NaN among them
    Count_,
};

struct ValueRange {
    double least = 0, most = 0;
};

/// Every element brought between the ends; NaN too.
void bringInto(Tensor& tensor, const ValueRange& range);

/// Positive: powers of two.
Tensor sampleTensor(DType dtype, const Extents& extents, Contents kind, uint64_t seed,
                    bool positive = false);

/// Integers that are computed with: their products may leave the type where the kind is Wide.
Tensor sampleIntegers(DType dtype, const Extents& extents, Contents kind, uint64_t seed);

/// By 1: no integer is divided by them.
void replaceZeros(Tensor& integers);

/// False: a constant of the graph is none that ONNX allows where it stands, as a scale of 0.
bool hasLegalConstants(const Graph& graph);

/// Numbers packed into bytes: any bits.
Tensor sampleBytes(DType dtype, const Extents& extents, uint64_t seed);

/// Whether integers may be computed with: not those that only index, shape or select.
bool takesIntegers(Op op);

/// One tensor per graph input; indices stay inside of their tables.
Result<std::vector<Tensor>> sampleInputs(const Graph& graph, Contents kind, uint64_t seed);

} // namespace fuselage::app
