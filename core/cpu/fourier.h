// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of float32 for lengths without large prime factors: Stockham's
// passes, one a factor, over several transforms side by side. The loops of a pass are in
// vector_fourier.h.
#pragma once

#include "core/cpu/vector_table.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fuselage::cpu {

class FourierPlan {
public:
    /// None where a prime factor is so large that the plain sum of products is as good.
    static std::optional<FourierPlan> of(int64_t length);

    size_t length() const { return m_length; }

    /// How many transforms are best side by side: as many as stay in a cache.
    size_t lanes(size_t rows) const;

    /// Real and imaginary parts, both [length][lanes]. The transform with the other sign (the
    /// inverse, but for its division by the length) is this one of the parts in each other's place.
    struct Parts {
        float* re = nullptr;
        float* im = nullptr;
    };

    /// In place, or to `work`, which is as large: says which of the two.
    Parts run(Parts x, Parts work, size_t lanes, const VectorTable& table) const;

private:
    size_t m_length = 1;
    std::vector<FourierPass> m_passes; ///< of one lane
    std::vector<float> m_factors;      ///< of all passes; each knows where its own begin
    std::vector<size_t> m_firstFactor, m_firstRoot;
};

} // namespace fuselage::cpu
