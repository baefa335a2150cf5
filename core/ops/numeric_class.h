// SPDX-License-Identifier: Apache-2.0
// How far a fused computation may differ from the nodes it replaces.
#pragma once

#include <cstdint>

namespace fuselage {

enum class NumericClass : uint8_t {
    /// N0: the operations of the nodes, each rounded to its type. Bit-exact with the unfused run in
    /// strict plans; else libraries may sum the terms of one product or pool in an order that
    /// depends on shapes and layouts, which sums of small whole numbers do not show.
    Exact,
    Wider,        ///< N1: wider inner edges, same order of operations
    Reassociated, ///< N2: another order of operations, or a function computed another way
    Approximate,  ///< N3: another function nearby; opt-in
};

/// "exact", "wider", "reassociated", "approximate".
inline const char* nameOf(NumericClass numeric) {
    constexpr const char* names[] = {"exact", "wider", "reassociated", "approximate"};
    return names[static_cast<uint8_t>(numeric)];
}

} // namespace fuselage
