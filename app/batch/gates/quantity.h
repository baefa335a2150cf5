// SPDX-License-Identifier: Apache-2.0
// Amounts of a metric as people write and read them: "20us", "64 MB", 55. The end of the metric's
// name is the unit of a bare number, so that `e2e_us` and 100 are 100 microseconds.
#pragma once

#include "core/support/result.h"

#include <string>
#include <string_view>

namespace fuselage::batch {

/// "5%" or an amount, as metricOf counts: times in seconds, sizes in bytes.
struct Limit {
    double value = 0;
    bool relative = false; ///< value is a fraction
};

/// An amount of `metric` with or without a unit. Error "usage.gate" with a fix: it is none, or its
/// unit is not one of this metric.
Result<Limit> limitFromText(std::string_view text, const std::string& metric);

/// A bare number, in the unit that the name ends in.
Limit limitFromNumber(double number, const std::string& metric);

/// An amount as metricOf counts in the unit that the name ends in: of `e2e_us` microseconds.
double inNamedUnit(double amount, const std::string& metric);

/// "us", "bytes"; empty: a plain number.
std::string unitOf(const std::string& metric);

/// "100 us", "1.5 ms", "4,096 B", "55"; "5 %".
std::string text(const Limit& limit, const std::string& metric);

} // namespace fuselage::batch
