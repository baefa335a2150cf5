// SPDX-License-Identifier: Apache-2.0
// The generator behind all row variants. Passes over the row are the stages' maps, then the element
// tape; between them the team reduces.
#pragma once

#include "gpu/kernels/row.h"
#include "gpu/kernels/row_kept.h"

#include <algorithm>
#include <optional>

namespace fuselage::gpu {

/// A row as a device function that makes it in the registers where its caller holds it.
struct HeldRow {
    /// Four neighbours of a warp hold a row, each every fourth pair of its elements, and all call
    /// together: "NAME(elements, member, PARAMETERS)", where elements are float[length / 8][2].
    std::string functions;
    NumericClass numeric = NumericClass::Exact;
};

/// All rows as a device function that leaves them in shared memory, one behind the other.
struct StagedRows {
    /// All threads of a block of `defaultThreads` call together: "NAME(PARAMETERS, rows)", and meet
    /// before they read. It uses the first `sharedBytes` of the block's shared memory itself.
    std::string functions;
    uint32_t sharedBytes = 0;
    NumericClass numeric = NumericClass::Exact;
};

/// A Row program with its operands resolved.
class RowEmitter {
public:
    explicit RowEmitter(const KernelRequest& request);

    int64_t rows() const { return m_outer.count(); }

    int64_t length() const { return m_inner.count(); }

    size_t stages() const { return m_program.stages.size(); }

    /// Multiprocessors of the device.
    double units() const { return m_request.profile ? m_request.profile->units : 132; }

    /// Bytes of the narrowest operand that moves along the row, from `elements` neighbours.
    int64_t narrowestBytes(int64_t elements) const;

    /// Reads that move along the row and that more than one pass needs, and what is kept in no such
    /// read's place.
    size_t cachedReads() const;

    /// Elements that each thread of a team of `team` keeps between passes.
    int64_t keptElements(int64_t team, int width) const {
        const int64_t steps = (length() + team * width - 1) / (team * width);
        return steps * width * std::max<int64_t>(1, static_cast<int64_t>(cachedReads()));
    }

    /// Largest width at which every operand that moves along the row is one access a thread.
    int widestVector() const;

    /// Loop over rows along which the main read is contiguous, when it is not along the row.
    std::optional<size_t> contiguousAcross() const;

    KernelPart emit(const RowGeometry& geometry);

    /// Of one pass, in the geometry that was emitted last (row_memory.cpp).
    MemoryAsked memory() const;

    /// The only read that differs from row to row, where it and the one result are elements of one
    /// 16-bit type and all other reads are numbers of a column, in pairs, or of all rows.
    std::variant<size_t, Reason> heldRead() const;

    /// `parameters`: those of the kernel, with their types (row_held.cpp).
    HeldRow emitHeld(size_t read, const std::string& name, const std::string& parameters);

    /// Of a request whose output lies in shared memory and is called as its parameter, "out0"
    /// (row_staged.cpp). A row alone is made by the whole block, else each by a warp.
    StagedRows emitStaged(const std::string& name);

private:
    size_t readNumber(size_t read) const { return m_firstRead + read; }

    /// What takes the place of the row after its pass; only where the row stays in registers.
    const KeptMap* kept() const { return m_geometry.cache && m_kept ? &*m_kept : nullptr; }
    const Tape& elementTape() const {
        return kept() && kept()->element ? *kept()->element : m_program.element;
    }
    const Tape& mapTape(size_t stage) const {
        return kept() && kept()->maps[stage] ? *kept()->maps[stage] : m_program.stages[stage].map;
    }
    bool takesKept(const Tape& tape) const;
    bool needs(const Tape& tape, size_t read) const;
    /// Threads without a row take the last one along, since others of their warp or block have one.
    bool guardsRows() const {
        return m_geometry.team == RowTeam::Lanes ||
               (m_geometry.team == RowTeam::Warp && rows() % (32 / m_geometry.lanes) != 0);
    }
    bool movesAlong(size_t read) const { return m_inner.moves(readNumber(read)); }
    bool cached(size_t read) const;
    LaneAccess accessOf(size_t number, int width) const;
    TapeFunction print(const std::string& name, const Tape& tape, std::vector<DType> stored,
                       bool reads) const;
    std::string address(size_t number) const;
    std::string liveRow() const;
    std::string placeThreads() const;
    std::string loadCached() const;
    std::string loopHead() const;
    std::string loopLoads(const TapeFunction& function) const;
    std::vector<std::string> inputNames(const char* lane) const;
    std::string stage(size_t index);
    std::string elements();
    std::string rowResults();
    std::string reduced(ReduceKind kind, const std::string& value);
    std::string loadInto(size_t read, const std::string& target, const std::string& indent) const;

    const KernelRequest& m_request;
    const Row& m_program;
    std::vector<KernelOperand> m_operands; ///< element writes, row writes, reads
    size_t m_firstRead;
    LoopNest m_outer, m_inner;
    bool m_narrow;
    std::optional<KeptMap> m_kept;
    std::optional<size_t> m_held; ///< the read that the caller holds
    bool m_staged = false;        ///< results stay in shared memory
    RowGeometry m_geometry;
    int64_t m_team = 1, m_steps = 1;
    size_t m_scalars = 0;      ///< row scalars so far
    uint32_t m_reductions = 0; ///< of a block, so far
    KernelPart m_part;
};

} // namespace fuselage::gpu
