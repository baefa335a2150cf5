// SPDX-License-Identifier: Apache-2.0
// Weights of a matrix product that a DequantizeLinear makes of constants of 4 bits: multiplied as
// they are stored (nibble_product.h) in place of floats of eight times their bytes.
#pragma once

#include "core/cpu/contraction_engine.h"
#include "core/graph/graph.h"

#include <optional>

namespace fuselage::cpu {

/// The constants of a DequantizeLinear of int4 or uint4, in float32.
struct StoredWeights {
    TensorPtr codes, scale;
    TensorPtr zero; ///< null: none
    size_t axis = 0;
    int64_t block = 0; ///< along the axis; 0: a scale for each index of it, or one

    /// None where the node is no such one. `constants`: of its inputs.
    static std::optional<StoredWeights> of(const Node& node,
                                           const std::vector<TensorPtr>& constants);

    /// Of codes, scales and zero points, two codes a byte.
    int64_t bytes() const;

    /// Place of an element's scale.
    int64_t scaleAt(int64_t element) const;
    int64_t alongAxis(int64_t element) const;

private:
    int64_t m_extent = 1, m_inner = 1, m_blocks = 1; ///< of the axis, behind it, of scales along it
};

/// `b`: all of the floats that lie as the codes do, maybe with their dims in another order.
/// Reasons: layout, support; an epilogue may shift columns.
EngineResult makeStoredWeightsEngine(const Contraction& program, const OperandLayout& a,
                                     const OperandLayout& b, const EngineTarget& c,
                                     const MatchedEpilogue& epilogue, const StoredWeights& weights,
                                     const PrepareContext& context);

} // namespace fuselage::cpu
