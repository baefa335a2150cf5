// SPDX-License-Identifier: Apache-2.0
// Interprets a tape on blocks of wide values (double, int64). This is the slow, plain reader of the
// tape; the cpu backend has a fast one.
#pragma once

#include "core/ops/tape.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuselage {

/// True when the operands of every instruction have the types that it asks for; a tape built from
/// a hostile node may not.
bool wellTyped(const Tape& tape);

/// Registers for one block of elements: floats in `floats`, integers and Bool in `ints`.
class TapeBlock {
public:
    static constexpr size_t length = 256;

    explicit TapeBlock(const Tape& tape);

    double* floats(uint16_t reg) { return m_floats.data() + size_t(reg) * length; }

    int64_t* ints(uint16_t reg) { return m_ints.data() + size_t(reg) * length; }

    /// Runs all instructions but Input on the first `count` elements. Registers of Input
    /// instructions must have been filled.
    void run(size_t count);

private:
    const Tape& m_tape;
    std::vector<double> m_floats;
    std::vector<int64_t> m_ints;
};

} // namespace fuselage
