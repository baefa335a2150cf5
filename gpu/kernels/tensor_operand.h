// SPDX-License-Identifier: Apache-2.0
// How one operand of a contraction gets into shared memory: which thread moves what, with accesses
// of 16 bytes where the strides allow, and which fragments the warps then read.
#pragma once

#include "core/kernel/zero_point.h"
#include "gpu/kernels/contraction_view.h"
#include "gpu/kernels/tensor_tile.h"

#include <string>

namespace fuselage::gpu {

/// What a thread moves at a time.
enum class TileLoad : uint8_t {
    AlongK,    ///< 16 bytes along k, asynchronous
    AlongRows, ///< 16 bytes along m or n, asynchronous; 16-bit elements only
    Staged,    ///< one by one through registers, into rows along k; applies a prologue
    Blocked,   ///< as it is stored in registers one tile ahead, then as elements in rows along k
};

/// Type of an operand's elements as the tensor cores take them. What a prologue makes for a product
/// with a 16-bit operand is rounded to that type, as the edge between them was. Tiles of integers
/// take an operand as it is stored: their prologues are zero points, which the sums make good.
DType tensorElement(const KernelRequest& request, bool isA);
DType storedElement(const KernelRequest& request, bool isA);

class TensorOperand {
public:
    TensorOperand(const KernelRequest& request, const ContractionView& view, const TensorTile& tile,
                  bool isA);

    TileLoad load() const { return m_load; }
    DType element() const { return m_element; } ///< after the prologue
    NumericClass numeric() const { return m_prologue.numeric; }

    std::string functions() const { return m_prologue.text; }
    /// An integer operand's zero point, "aZero" or "bZero" in the text, may be another than 0.
    bool shifted() const { return m_zero && (m_zero->read || m_zero->number != 0); }
    /// Statements before the pipeline: what the thread's rows are. Need `b` and `tileM`, `tileN`.
    std::string setup() const;
    /// Of an operand that is fetched one tile before it is moved: statements that begin to load
    /// tile `kTile`. Else empty.
    std::string fetch() const;
    /// Statements that move tile `kTile` to `stage`, a byte pointer to this operand's part.
    std::string move() const;
    /// Statements before the pipeline: where the warp's fragments lie in a stage.
    std::string fragmentSetup() const;
    /// Statements that read k step `step` from `stageA` or `stageB`: fragments a[i][4], b[j][2], or
    /// without tensor cores 4 elements along k of the lane's rows, a[i][4] and, for row `j`, b[4].
    std::string fragments() const;
    /// Of so many stages in all blocks (contraction_memory.cpp).
    MemoryAsked memory(double stages) const;

private:
    int size() const { return static_cast<int>(sizeOf(m_element)); }
    int lanes() const { return 16 / size(); }
    int kElements() const { return m_tile.kBytes / size(); }
    int tileRows() const { return m_isA ? m_tile.m : m_tile.n; }
    int warpRows() const { return m_isA ? m_tile.warpM() : m_tile.warpN(); }
    int chunks() const {
        return m_load == TileLoad::AlongRows ? tileRows() / lanes() : m_tile.kBytes / 16;
    }
    int64_t rowCount() const { return m_isA ? m_view.mCount : m_view.nCount; }
    const Extents& rowAxis() const { return m_isA ? m_view.m : m_view.n; }
    size_t rowFirst() const { return m_view.batch.size() + (m_isA ? 0 : m_view.m.size()); }
    /// Times a thread moves something for one tile.
    int passes() const;
    std::string v(const char* name) const { return (m_isA ? "a" : "b") + std::string(name); }

    void chooseLoad();
    bool chunksAligned(const LoopNest& along) const;
    std::string rowStarts() const;
    std::string insideTaps(const std::string& pass, const std::string& k) const;
    std::string moveAlongK() const;
    std::string moveAlongRows() const;
    std::string moveStaged() const;
    std::string stagedElements() const;

    const KernelRequest& m_request;
    const ContractionView& m_view;
    const TensorTile& m_tile;
    bool m_isA;
    std::vector<KernelOperand> m_operands; ///< the operand, then what its prologue reads
    std::vector<TapBound> m_bounds;        ///< of A only
    LoopNest m_batch, m_rows, m_k;
    TapeFunction m_prologue;
    std::optional<ZeroPoint> m_zero; ///< of integers
    DType m_element;
    std::optional<BlockedColumns> m_blocked;
    TileLoad m_load = TileLoad::Staged;
};

} // namespace fuselage::gpu
