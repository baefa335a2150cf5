// SPDX-License-Identifier: Apache-2.0
// Numbers of a Report that gates and comparisons name: exact counts, or times with an interval.
#pragma once

#include "app/pipeline/report.h"
#include "core/support/fewest_runs.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::batch {

struct MetricValue {
    enum class Kind : uint8_t { Count, Bytes, Number, Time, Hash };

    double value = 0;
    double low = 0, high = 0; ///< of Time: 95 % interval of the median
    Kind kind = Kind::Count;  ///< a Hash is equal or another, never more or less
    bool higherIsBetter = false;
    uint32_t runs = 0; ///< that a measured time is of; 0: it is not measured

    /// Of so few runs that `low` and `high` say nothing.
    bool hasTooFewRuns() const { return runs > 0 && runs < fewestRuns; }
};

/// True for "launches", "matches.RULE", "e2e_us" and the others of metricNames.
bool isMetric(const std::string& name);

/// Times, and what is measured on the machine in other ways: belongs to timings.
bool isMeasured(const std::string& name);

/// Measured times only: they need a run that measures.
bool isTimed(const std::string& name);

/// A hash: it is equal to the baseline's or another one, so a gate on it takes no limit.
bool isHash(const std::string& name);

/// Every name; those with a rule as "matches.RULE".
std::vector<std::string> metricNames();

/// Empty when the report does not have it ("not measured", "not compiled"): never 0.
std::optional<MetricValue> metricOf(const app::Report& report, const std::string& name);

constexpr const char* tooFewRuns = "too few runs to tell"; ///< measured, and nobody can judge it

/// The value in the unit that the metric's name ends in: `e2e_us` in microseconds. Nothing of a
/// hash, and of what is no finite number.
std::optional<double> asNamed(const MetricValue& value, const std::string& name);

/// Why metricOf has nothing: "not measured here", or why it isUnjudged, as tooFewRuns.
std::string whyMissing(const app::Report& report, const std::string& name);

/// `slower_matches` of a model that was timed, none of whose fused nodes could be judged: no
/// verdict may be made of that.
bool isUnjudged(const app::Report& report, const std::string& name);

/// Which kernels differ in their texts: "`F1` has another text, `Conv_4` is gone, 7 more".
std::string changedKernels(const app::Report& base, const app::Report& now);

/// "55", "104.8 MB", "34.2 ms (34.0 .. 34.5)".
std::string text(const MetricValue& value);

} // namespace fuselage::batch
