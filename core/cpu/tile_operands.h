// SPDX-License-Identifier: Apache-2.0
// Moves tiles between operand memory and the slots of a TileCode: picks direct use, conversion,
// broadcast or transposition, and counts what is touched.
#pragma once

#include "core/cpu/kernel.h"
#include "core/cpu/tile_code.h"
#include "core/cpu/tile_space.h"

#include <vector>

namespace fuselage::cpu {

/// One access of a program in the tile's terms.
struct TileOperand {
    uint32_t operand = 0; ///< of the program
    DType dtype = DType::Undefined;
    size_t elementBytes = 4;
    StridedAccess access; ///< over the iteration dimensions
    LoadFunction load = nullptr;
    StoreFunction store = nullptr;
    bool lanesAreElements = false; ///< memory and lanes look the same
};

/// `asFloat`: its lanes are F32 although it stores narrow integers (float_lanes.h).
TileOperand tileOperand(const Access& access, const OperandLayout& layout, size_t dims,
                        const VectorTable& table, bool asFloat = false);

/// Per worker: which tile of an input its buffer holds.
class TileLoader {
public:
    explicit TileLoader(size_t inputs) : m_held(inputs) {}

    /// Makes input `k` of the frame hold the tile's elements at `source`.
    void load(const TileCode& code, TileCode::Frame& frame, size_t k, const TileOperand& operand,
              const std::byte* source, const TileShape& tile, const TileShape& steps);

    /// Input `k` has new values at the same place.
    void forget(size_t k) { m_held[k] = {}; }

private:
    struct Held {
        const std::byte* source = nullptr;
        TileShape tile, steps;
    };

    static void fill(const TileCode& code, TileCode::Frame& frame, size_t k,
                     const TileOperand& operand, const std::byte* source, TileShape tile,
                     TileShape steps);

    std::vector<Held> m_held;
};

/// Points output `k` at the operand's memory when the tape can compute straight into it.
bool redirectOutput(const TileCode& code, TileCode::Frame& frame, size_t k,
                    const TileOperand& operand, std::byte* target, const TileShape& tile,
                    const TileShape& steps, bool inPlace);

/// Stores lanes to the tile's elements at `target`.
void storeTile(const TileOperand& operand, std::byte* target, const void* lanes, size_t bytesOfLane,
               TileShape tile, TileShape steps);

/// Counts distinct elements per operand over the accesses of one space.
class TouchCounter {
public:
    /// `operands` are the accesses in the order of the space's offsets; the first `writes` write.
    TouchCounter(const TileSpace& space, const std::vector<TileOperand>& operands, size_t writes,
                 const std::vector<OperandLayout>& inputs,
                 const std::vector<OperandLayout>& outputs);

    /// Notes one tile; may be called by several threads.
    void note(const TileCursor& cursor);
    void addTo(CountedBytes& total) const;

private:
    struct Entry {
        bool write = false;
        uint32_t operand = 0;
        size_t elementBytes = 0;
        bool once = false; ///< its tiles never meet an element twice
        int64_t count = 0;
    };

    void mark(std::vector<uint8_t>& touched, size_t k, const TileCursor& cursor) const;

    const TileSpace& m_space;
    std::vector<Entry> m_entries;
    std::vector<std::vector<uint8_t>> m_touched; ///< per entry's operand where marking is needed
    std::vector<size_t> m_touchedOf;
};

} // namespace fuselage::cpu
