// SPDX-License-Identifier: Apache-2.0
// What differs between two runs, A and B: numbers, and what lies behind them. `app/batch/compare`
// finds it; here it becomes text, Markdown and JSON.
#pragma once

#include "app/report/run_report.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

/// A number in the unit of its metric; of a measured one with its 95 % interval, else `low` and
/// `high` are the value.
struct ComparedNumber {
    double value = 0, low = 0, high = 0;
};

struct ComparedMetric {
    std::string name, base, now;  ///< values as text, with unit
    std::optional<double> change; ///< of B relative to A
    std::string verdict;          ///< of times: "slower", "same" ...
    std::string unit;             ///< "us", "bytes"; empty: a plain number, or a hash
    /// Of A and of B; none of a hash, which is the text alone.
    std::optional<ComparedNumber> baseNumber = {}, nowNumber = {};
};

/// "input x", "float[1,3]", "float[4,3]"; empty where it is not there.
struct ComparedPart {
    std::string what, base, now;
};

/// "fused in A, not in B", in the order of the model.
struct ComparedNodes {
    std::string what;
    std::vector<std::string> names;
};

struct ModelComparison {
    std::string id, other;           ///< in B and in A; empty: the run has no such model
    bool ran = false;                ///< on both sides
    std::string notRun;              ///< "did not run in B: timeout"; empty where it ran
    std::string kinds;               ///< why no gate compares them; empty where gates do
    std::vector<ComparedPart> parts; ///< structure, inputs, sizes, precision, device
    std::vector<ComparedPart> rules; ///< lost or gained, with how many fused nodes
    std::vector<ComparedNodes> nodes;
    std::vector<ComparedMetric> metrics;
    std::string timesApart; ///< why times are not compared
};

using Comparison = std::vector<ModelComparison>;

std::string renderComparison(const Comparison& comparison);

/// The same, and below it what the gates of B say.
std::string renderComparisonText(const Comparison& comparison, const RunReport& b);

/// Between the verdict and the rest of the Markdown of the run B, whose gates were judged by A.
std::string renderComparisonMarkdown(const Comparison& comparison, const RunReport& b);

/// `fuselage.comparison/2`, with the gates and the exit code of B.
std::string renderComparisonJson(const Comparison& comparison, const RunReport& b);

} // namespace fuselage::app
