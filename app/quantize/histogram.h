// SPDX-License-Identifier: Apache-2.0
// What calibration keeps of all numbers that one value took: a histogram of fixed size, whose bins
// grow twofold when a larger number comes, and the ends of each run. From it come ranges.
#pragma once

#include "app/quantize/scale.h"

#include <span>
#include <string_view>
#include <vector>

namespace fuselage::quantize {

/// How a range is taken from what was seen.
enum class RangeMethod : uint8_t {
    MinMax,     ///< the smallest and the largest number of all
    Average,    ///< the mean of each set's smallest, and of its largest
    Percentile, ///< what holds that share of all numbers
    Entropy,    ///< the cut at which 128 steps tell most about the magnitudes (Kullback-Leibler);
                ///< as MinMax where fewer than some 8,000 numbers came, whose spread says nothing
};

const char* nameOf(RangeMethod method); ///< "minmax"
std::optional<RangeMethod> rangeMethodFromName(std::string_view name);

struct RangeChoice {
    RangeMethod method = RangeMethod::Entropy;
    double percentile = 99.99; ///< of Percentile, in percent
};

class Histogram {
public:
    /// Over [-limit, limit), half of them on each side of zero.
    static constexpr size_t bins = 4096;

    /// The numbers of one set of inputs, all finite.
    void add(std::span<const float> numbers);

    uint64_t count() const { return m_count; }

    Range seen() const { return m_seen; }

    /// For a symmetric type the range lies around zero. A range of zeros where nothing else came.
    Range range(const RangeChoice& choice, StoredType type) const;

    /// Signal to quantisation noise in dB, of the numbers at the middle of their bins; infinite
    /// without noise.
    double signalToNoise(const Scale& scale, StoredType type) const;

private:
    void growTo(double magnitude);
    std::vector<double> magnitudes() const;
    double percentileOf(double share) const;
    double entropyCut() const;

    std::vector<uint64_t> m_counts = std::vector<uint64_t>(bins, 0);
    double m_limit = 0; ///< a power of two; 0: only zeros came
    uint64_t m_count = 0, m_sets = 0;
    Range m_seen, m_sum; ///< of all; ends of the sets, added up
};

/// The cut that pytorch-quantization's and TensorRT's entropy calibration finds: among the first
/// 128, 129 ... bins of magnitudes the number of bins whose distribution, with all that lies
/// beyond in the last, differs least from the same in 128 steps. At most `counts.size()`.
size_t entropyBins(const std::vector<double>& counts);

} // namespace fuselage::quantize
