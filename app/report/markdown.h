// SPDX-License-Identifier: Apache-2.0
// A run as Markdown for pull requests and job summaries: the verdict first, what changed, details
// folded; never longer than hosts take.
#pragma once

#include "app/report/run_report.h"

#include <string>

namespace fuselage::app {

constexpr size_t markdownLimit = 60'000; ///< bytes; comments end at 65,536

/// What does not fit is left out from the end, and a line says how much.
std::string renderMarkdown(const RunReport& run, size_t limit = markdownLimit);

} // namespace fuselage::app
