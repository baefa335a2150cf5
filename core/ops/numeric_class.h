// SPDX-License-Identifier: Apache-2.0
// How far a fused computation may differ from the nodes it replaces.
#pragma once

#include <cstdint>

namespace fuselage {

enum class NumericClass : uint8_t {
    Exact,        ///< N0: bit-exact with the unfused run in the same dtypes
    Wider,        ///< N1: wider inner edges, same order of operations
    Reassociated, ///< N2: another order of operations
    Approximate,  ///< N3: another function nearby; opt-in
};

/// "exact", "wider", "reassociated", "approximate".
inline const char* nameOf(NumericClass numeric) {
    constexpr const char* names[] = {"exact", "wider", "reassociated", "approximate"};
    return names[static_cast<uint8_t>(numeric)];
}

} // namespace fuselage
