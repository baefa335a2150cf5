// SPDX-License-Identifier: Apache-2.0
// A run for GitHub Actions: workflow commands that put what failed beside the files. The summary of
// the job is markdown.h's text under another limit.
#pragma once

#include "app/report/run_report.h"

#include <string>

namespace fuselage::app {

constexpr size_t annotationLimit = 10; ///< of one step; the host drops the rest silently
constexpr size_t githubSummaryLimit =
    900'000; ///< bytes; the host drops a summary above 1 MiB whole

/// "::error file=...,title=...::message" lines: what failed first, then warnings; when there are
/// more than fit, the last one says how many.
std::string renderAnnotations(const RunReport& run);

} // namespace fuselage::app
