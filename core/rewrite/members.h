// SPDX-License-Identifier: Apache-2.0
// What expressions of rules may write behind a dot, in one table: members of values (`x.shape`) and
// of the roots `gain`, `device` and `total`. The compiler checks by it, the evaluator computes by
// it, editors and dsl/README.md show it.
#pragma once

#include "core/rewrite/evaluate.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fuselage {

/// What a gate may know of the device that costs are predicted for; empty where nobody said.
struct DeviceFigures {
    std::string kind, arch;
    double units = 0, lanesPerUnit = 0, clock = 0;
    double dramBandwidth = 0, l2Bandwidth = 0, l2Bytes = 0;
    double fp32Flops = 0, fp16MatrixFlops = 0, tf32MatrixFlops = 0;
    double launchSeconds = 0;
    double sharedBytesPerUnit = 0, registersPerUnit = 0, threadsPerUnit = 0;
};

/// Sums over a whole graph; none where a shape is not known.
struct GraphTotals {
    std::optional<double> flops, bytes;
    double nodes = 0;
};

GraphTotals totalsOf(const Graph& graph);

/// What roots stand for; null where it is not known.
struct RootValues {
    const Gain* gain = nullptr;
    const DeviceFigures* device = nullptr;
    const GraphTotals* total = nullptr;
};

/// A member of a value.
struct MemberRow {
    const char* name;
    const char* documentation;
    Quantity (*ofValue)(const EvaluateContext&, ValueId);
    Quantity (*ofType)(const Type&); ///< null: constants of a rewrite do not have it
};

std::span<const MemberRow> memberRows();
const MemberRow* findMember(std::string_view name);

/// A member of a root.
struct RootRow {
    const char* root;
    const char* name;
    const char* unit;
    const char* documentation;
    const char* source; ///< where the figure comes from
    Quantity (*of)(const RootValues&);
    const char* choices = ""; ///< all texts that it can be, blank-separated; empty: any
};

std::span<const RootRow> rootRows();
const RootRow* findRoot(std::string_view root, std::string_view name);
bool isRoot(std::string_view name);

/// The rows of the roots as a table in Markdown, as it stands in dsl/README.md.
std::string rootsAsMarkdown();

} // namespace fuselage
