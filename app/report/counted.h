// SPDX-License-Identifier: Apache-2.0
// Bytes that hardware counters saw, in words that all formats share. What was not counted is never
// shown as a number.
#pragma once

#include "app/pipeline/report.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

/// "1.2 MB", or "not measured".
std::string countedText(const std::optional<int64_t>& bytes);

/// Bytes read from DRAM and written to it, where they were counted.
std::optional<int64_t> dramCounted(const KernelReport& kernel);

bool anyCounted(const std::vector<KernelReport>& kernels);

/// A line of the comparison of both sides.
struct MeasuredRow {
    const char* name;
    std::optional<int64_t> before, after;
};

/// L2 and DRAM, those that at least one side has.
std::vector<MeasuredRow> measuredTraffic(const SideReport& before, const SideReport& after);

} // namespace fuselage::app
