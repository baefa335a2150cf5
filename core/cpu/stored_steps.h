// SPDX-License-Identifier: Apache-2.0
// Which steps of a Plan dequantise constants of 4 bits for matrix products alone: they compute
// nothing, since such a product multiplies by what is stored (stored_weights.h).
#pragma once

#include "core/cpu/stored_weights.h"
#include "core/plan/plan.h"

#include <functional>
#include <map>

namespace fuselage::cpu {

class StoredSteps {
public:
    /// True where step `index` is such a one; `isSwept(i)`: step i runs in a sweep.
    bool take(const Plan& plan, size_t index, const std::function<bool(size_t)>& isSwept);

    /// What the step multiplies by, if its B is such a value; else null.
    const StoredWeights* of(const Step& step) const;

    /// Some reader needs the step's floats after all: which step makes B. It is one no longer.
    size_t release(const Step& step);

    /// Whether the step computes nothing.
    bool has(size_t index) const;

    /// Of a plan: the values that nobody computes, and the bytes of what is read instead.
    static std::map<uint32_t, int64_t> bytesOf(const Plan& plan);

private:
    struct Taken {
        size_t step = 0;
        StoredWeights weights;
    };

    std::map<uint32_t, Taken> m_taken; ///< by the plan's value, and by turned views of it
};

} // namespace fuselage::cpu
