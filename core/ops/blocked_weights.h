// SPDX-License-Identifier: Apache-2.0
// MatMulNBits: a product whose weights are stored in a few bits, with a scale, and perhaps a zero
// point, for every block of neighbours along what is summed.
#pragma once

#include "core/ops/quantize.h"

namespace fuselage {

std::span<const OpRow> blockedWeightRows();

/// How the weights of a MatMulNBits are stored: by column, block after block, the lowest bits of a
/// byte first.
struct BlockedWeights {
    int64_t k = 0, n = 0, bits = 4, block = 0;
    int64_t blocks = 0;    ///< of a column; the last one may be longer than what is left of k
    int64_t blobBytes = 0; ///< of a block
    int64_t zeroBytes = 0; ///< of a column's zero points, where these are packed as well

    /// An error where the attributes make no sense.
    static Result<BlockedWeights> of(const Node& node);

    /// What of B, scales and zero points (none: null) does not have this form. Shapes that are not
    /// known are not judged.
    std::optional<Misfit> misfit(const Type& packed, const Type& scale, const Type* zero) const;

    /// The place of an element in what is packed `bits` bits each from `bytes[0]` on.
    int64_t unpacked(const uint8_t* bytes, int64_t index) const {
        const int64_t perByte = 8 / bits;
        return bytes[index / perByte] >> (index % perByte * bits) & ((1 << bits) - 1);
    }

    /// What is subtracted where no zero points are given.
    int64_t middle() const { return int64_t{1} << (bits - 1); }
};

/// The weights as [K, N] of A's element type. Of A (inputs[0]) only the type is read; B, scales and
/// zero points are those of the node.
Result<ReferenceValue> weightsAsFloats(const Node& node, const BlockedWeights& geometry,
                                       ReferenceInputs inputs);

} // namespace fuselage
