// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace fuselage::cpu {

namespace {

constexpr size_t mostPrime = 1024;
constexpr size_t mostLanes = 16;
constexpr size_t cachedFloats = 32768; ///< of one of the four arrays

std::vector<size_t> radicesOf(size_t length) {
    std::vector<size_t> out;
    for (size_t radix : {size_t{4}, size_t{2}, size_t{3}, size_t{5}})
        for (; length % radix == 0; length /= radix)
            out.push_back(radix);
    for (size_t prime = 7; length > 1; prime += 2) {
        if (prime * prime > length)
            prime = length;
        for (; length % prime == 0; length /= prime)
            out.push_back(prime);
    }
    return out;
}

/// e^(-2 pi i k / n), its real and its imaginary part.
void appendRoot(std::vector<float>& out, size_t k, size_t n) {
    const double angle =
        -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
    out.push_back(static_cast<float>(std::cos(angle)));
    out.push_back(static_cast<float>(std::sin(angle)));
}

} // namespace

std::optional<FourierPlan> FourierPlan::of(int64_t length) {
    if (length < 1)
        return std::nullopt;
    FourierPlan out;
    out.m_length = static_cast<size_t>(length);
    size_t left = out.m_length, done = 1;
    for (size_t radix : radicesOf(out.m_length)) {
        if (radix > mostPrime)
            return std::nullopt;
        FourierPass pass;
        pass.radix = radix;
        pass.groups = left / radix;
        pass.run = done;
        out.m_firstFactor.push_back(out.m_factors.size());
        for (size_t group = 0; group < pass.groups; ++group)
            for (size_t r = 1; r < radix; ++r)
                appendRoot(out.m_factors, group * r, left);
        out.m_firstRoot.push_back(out.m_factors.size());
        for (size_t k = 0; k < radix; ++k)
            appendRoot(out.m_factors, k, radix);
        out.m_passes.push_back(pass);
        left /= radix;
        done *= radix;
    }
    return out;
}

size_t FourierPlan::lanes(size_t rows) const {
    return std::clamp<size_t>(cachedFloats / m_length, 1, std::min(mostLanes, rows));
}

FourierPlan::Parts FourierPlan::run(Parts x, Parts work, size_t lanes,
                                    const VectorTable& table) const {
    for (size_t i = 0; i < m_passes.size(); ++i) {
        FourierPass pass = m_passes[i];
        pass.run *= lanes;
        pass.factors = m_factors.data() + m_firstFactor[i];
        pass.roots = m_factors.data() + m_firstRoot[i];
        table.fourierPass(pass, x.re, x.im, work.re, work.im);
        std::swap(x, work);
    }
    return x;
}

} // namespace fuselage::cpu
