// SPDX-License-Identifier: Apache-2.0
// Zero points of products of 8-bit integers that warpgroups multiply as they are stored. The sum of
// (a - A) (b - B) over k is that of a b, less A times the sum of b, less B times the sum of a, plus
// k A B. Sums of b are known when the weight is loaded, those of a are products with ones.
#pragma once

#include "core/kernel/zero_point.h"
#include "gpu/kernels/contraction_view.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::gpu {

/// Rows of 128 bytes of ones, as B of a product of 8 columns.
constexpr int rowsOfOnesBytes = 1024;

/// Declares "aZero" or "bZero"; what is read is one number for all elements.
std::string zeroText(const ContractionView& view, const ZeroPoint& zero, bool isA,
                     const std::string& indent);

class ZeroShift {
public:
    /// Of a program that refuseIntegerProgram() lets pass, over a view whose weight may have been
    /// packed; `terms`: how many of them the sums of a are made of, those beyond k that a stage
    /// fills with A among them.
    ZeroShift(const KernelRequest& request, const ContractionView& view, int64_t terms);

    /// Of an A with a zero point beside a B whose sums are not known before the launch.
    const std::optional<Reason>& refused() const { return m_refused; }
    bool ofA() const { return m_a.has_value(); } ///< a zero point that may be another than 0
    bool ofB() const { return m_b.has_value(); }

    int onesBytes() const { return ofB() ? rowsOfOnesBytes : 0; }
    /// What `columnSums` is made of, the last of all that is packed.
    std::optional<PackedOperand> packed() const;
    std::vector<ExtraParameter> parameters() const;

    /// The device function "@columnShift"; none where A has no zero point.
    std::string function() const;
    /// Declares aZero and bZero, those that there are.
    std::string zeros(const std::string& indent) const;
    /// What is subtracted from all sums of column `n`, of those below the count of columns.
    std::string columnShift(const std::string& n) const;
    /// The first threads of the block fill the ones at that byte of shared memory; products see
    /// them behind the next barrier.
    std::string fillOnes(int at) const;

private:
    const ContractionView& m_view;
    int64_t m_terms;
    std::optional<ZeroPoint> m_a, m_b;
    std::optional<ColumnSums> m_sums;
    std::optional<Reason> m_refused;
};

} // namespace fuselage::gpu
