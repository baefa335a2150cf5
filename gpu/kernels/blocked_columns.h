// SPDX-License-Identifier: Apache-2.0
// B of a product as weights of 4 or 8 bits with a scale, and perhaps a zero point, for each block
// of k: how a thread fetches some of a column, and makes rows of a tile's stage of them. The
// products behind it see 16-bit elements, as of any other operand.
#pragma once

#include "core/ops/blocked_weights.h"
#include "gpu/kernels/tensor_tile.h"

#include <string>

namespace fuselage::gpu {

/// What B is stored as; its own pointer is the operand's.
struct BlockedStorage {
    BlockedWeights geometry;
    std::string scales, zeros; ///< pointers; no zero points: empty
    DType scaleType = DType::Float16;
    DType zeroType = DType::UInt8; ///< a float type: one for each scale, else packed as weights are
};

/// Statements that declare `to` and fill it with 8 elements of 16 bits. `words`: what is stored of
/// them, a word of nibbles or a pointer to two of bytes; `scale` and `zero`: of their block, as
/// they are stored; `k`: the first one's.
std::string blockedElements(const BlockedStorage& storage, DType element, const std::string& words,
                            const std::string& scale, const std::string& zero,
                            const std::string& k);

/// Indices of a block's scale, and of what holds its zero point, from `n` and `k`.
std::string scaleIndex(const BlockedStorage& storage);
std::string zeroIndex(const BlockedStorage& storage);

class BlockedColumns {
public:
    /// `element`: what the tile multiplies, 16 bits wide. `pointer`: of the packed weights.
    BlockedColumns(const BlockedStorage& storage, const TensorTile& tile, std::string pointer,
                   DType element);

    /// Registers of a thread: its columns of one tile as they are stored.
    std::string setup() const;
    /// Statements that begin to load tile `kTile` into them. Columns and k beyond the last ones
    /// become zeros; of a block that goes on beyond K they are what is stored.
    std::string fetch() const;
    /// Statements that make tile `kTile` of them, at `stage`.
    std::string expand() const;

private:
    int chunks() const { return m_tile.kBytes / 16; } ///< of a row
    /// Chunks of 8 elements beside each other that a thread makes of one block.
    int run() const;
    int lanes() const { return chunks() / run(); }          ///< threads of a row
    int step() const { return m_tile.threads() / lanes(); } ///< rows at a time
    int passes() const { return m_tile.n / step(); }
    int runBytes() const { return static_cast<int>(run() * m_geometry.bits); } ///< as stored
    std::string firstOfRun() const;

    const BlockedStorage& m_storage;
    const BlockedWeights& m_geometry;
    const TensorTile& m_tile;
    std::string m_pointer;
    DType m_element;
};

} // namespace fuselage::gpu
