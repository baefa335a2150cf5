// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/histogram.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace fuselage::quantize {

namespace {

constexpr RangeMethod allMethods[] = {RangeMethod::MinMax, RangeMethod::Average,
                                      RangeMethod::Percentile, RangeMethod::Entropy};

/// How much is lost by telling the first `kept` bins apart in `steps` steps only; infinite where a
/// step holds nothing of what it stands for.
double divergence(const std::vector<double>& counts, size_t kept, size_t steps, double beyond) {
    double total = 0, told = 0, sum = 0;
    for (size_t i = 0; i < kept; ++i)
        total += counts[i];
    told = total;
    total += beyond;
    for (size_t step = 0; step < steps; ++step) {
        const size_t begin = (step * kept + steps - 1) / steps;
        const size_t end = ((step + 1) * kept + steps - 1) / steps;
        double in = 0;
        size_t used = 0;
        for (size_t i = begin; i < end; ++i) {
            in += counts[i];
            used += counts[i] > 0 ? 1 : 0;
        }
        const double level = used > 0 ? in / static_cast<double>(used) : 0;
        for (size_t i = begin; i < end; ++i) {
            const double real = counts[i] + (i + 1 == kept ? beyond : 0);
            if (real <= 0)
                continue;
            if (counts[i] <= 0)
                return std::numeric_limits<double>::infinity();
            sum += real / total * std::log((real / total) / (level / told));
        }
    }
    return sum;
}

} // namespace

const char* nameOf(RangeMethod method) {
    constexpr const char* names[] = {"minmax", "average", "percentile", "entropy"};
    return names[static_cast<size_t>(method)];
}

std::optional<RangeMethod> rangeMethodFromName(std::string_view name) {
    for (RangeMethod method : allMethods)
        if (name == nameOf(method))
            return method;
    return std::nullopt;
}

size_t entropyBins(const std::vector<double>& counts) {
    constexpr size_t steps = 128;
    if (counts.size() <= steps)
        return counts.size();
    double beyond = 0;
    for (size_t i = steps; i < counts.size(); ++i)
        beyond += counts[i];
    double least = std::numeric_limits<double>::infinity();
    size_t best = counts.size();
    for (size_t kept = steps; kept <= counts.size(); ++kept) {
        const double found = divergence(counts, kept, steps, beyond);
        if (found <= least && std::isfinite(found)) {
            least = found;
            best = kept;
        }
        if (kept < counts.size())
            beyond = std::max(0.0, beyond - counts[kept]);
    }
    return best;
}

void Histogram::add(std::span<const float> numbers) {
    if (numbers.empty())
        return;
    float low = numbers[0], high = numbers[0];
    for (float number : numbers) {
        low = std::min(low, number);
        high = std::max(high, number);
    }
    growTo(std::max(std::abs(static_cast<double>(low)), std::abs(static_cast<double>(high))));
    if (m_limit > 0) {
        const double perUnit = static_cast<double>(bins / 2) / m_limit;
        for (float number : numbers) {
            const double at = std::floor(number * perUnit) + static_cast<double>(bins / 2);
            ++m_counts[std::min(static_cast<size_t>(at), bins - 1)];
        }
    } else {
        m_counts[bins / 2] += numbers.size();
    }
    const Range ends{low, high};
    m_seen = m_sets == 0 ? ends
                         : Range{std::min(m_seen.low, ends.low), std::max(m_seen.high, ends.high)};
    m_sum = {m_sum.low + ends.low, m_sum.high + ends.high};
    m_count += numbers.size();
    ++m_sets;
}

/// Two bins become one as often as needed.
void Histogram::growTo(double magnitude) {
    if (magnitude <= m_limit || magnitude == 0)
        return;
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    const double wanted = std::ldexp(1.0, exponent); // above the magnitude
    if (m_limit == 0) {
        m_limit = wanted; // zeros are in the first bin above zero, whatever its width
        return;
    }
    constexpr size_t half = bins / 2;
    for (; m_limit < wanted; m_limit *= 2)
        for (size_t i = 0; i < half; ++i) {
            const bool kept = i < half / 2;
            m_counts[half + i] = kept ? m_counts[half + 2 * i] + m_counts[half + 2 * i + 1] : 0;
            m_counts[half - 1 - i] =
                kept ? m_counts[half - 1 - 2 * i] + m_counts[half - 2 - 2 * i] : 0;
        }
}

/// Bins of |x|, as far as the last that holds anything.
std::vector<double> Histogram::magnitudes() const {
    constexpr size_t half = bins / 2;
    std::vector<double> out(half);
    size_t used = 0;
    for (size_t i = 0; i < half; ++i) {
        out[i] = static_cast<double>(m_counts[half + i] + m_counts[half - 1 - i]);
        if (out[i] > 0)
            used = i + 1;
    }
    out.resize(used);
    return out;
}

/// The number that `share` of all lie below, from the edges of bins.
double Histogram::percentileOf(double share) const {
    const double wanted = share * static_cast<double>(m_count);
    const double width = 2 * m_limit / static_cast<double>(bins);
    double below = 0;
    for (size_t i = 0; i < bins; ++i) {
        const auto in = static_cast<double>(m_counts[i]);
        if (in > 0 && below + in >= wanted)
            return -m_limit + (static_cast<double>(i) + (wanted - below) / in) * width;
        below += in;
    }
    return m_limit;
}

double Histogram::entropyCut() const {
    // Of a few numbers in many bins the distribution says nothing: fewer and wider bins.
    constexpr double fewest = 16;
    constexpr size_t coarsest = 512;
    std::vector<double> counts = magnitudes();
    double width = m_limit / static_cast<double>(bins / 2);
    while (static_cast<double>(m_count) < fewest * static_cast<double>(counts.size())) {
        if (counts.size() < 2 * coarsest)
            return m_limit;
        for (size_t i = 0; i < counts.size(); i += 2)
            counts[i / 2] = counts[i] + (i + 1 < counts.size() ? counts[i + 1] : 0);
        counts.resize((counts.size() + 1) / 2);
        width *= 2;
    }
    // Zeros behind an activation would outweigh all else: NVIDIA's calibrators do the same.
    if (counts.size() > 1)
        counts[0] = counts[1];
    return static_cast<double>(entropyBins(counts)) * width;
}

Range Histogram::range(const RangeChoice& choice, StoredType type) const {
    if (m_sets == 0 || m_limit == 0)
        return {};
    Range out = m_seen;
    const bool symmetric = isSymmetric(type);
    if (choice.method == RangeMethod::Average) {
        const auto sets = static_cast<double>(m_sets);
        out = {m_sum.low / sets, m_sum.high / sets};
    } else if (choice.method == RangeMethod::Percentile) {
        const double tail = (1 - choice.percentile / 100) / 2;
        out = {std::max(percentileOf(tail), m_seen.low),
               std::min(percentileOf(1 - tail), m_seen.high)};
    } else if (choice.method == RangeMethod::Entropy) {
        const double cut = entropyCut();
        out = {std::max(-cut, m_seen.low), std::min(cut, m_seen.high)};
    }
    if (!symmetric)
        return out;
    const double most = std::max(std::abs(out.low), std::abs(out.high));
    return {-most, most};
}

double Histogram::signalToNoise(const Scale& scale, StoredType type) const {
    double signal = 0, noise = 0;
    const double width = 2 * m_limit / static_cast<double>(bins);
    for (size_t i = 0; i < bins; ++i) {
        if (m_counts[i] == 0)
            continue;
        const double x = -m_limit + (static_cast<double>(i) + 0.5) * width;
        const double error = x - storedValue(x, scale, type);
        signal += static_cast<double>(m_counts[i]) * x * x;
        noise += static_cast<double>(m_counts[i]) * error * error;
    }
    return noise > 0 ? 10 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
}

} // namespace fuselage::quantize
