// SPDX-License-Identifier: Apache-2.0
// The formats in which a report can be written: one row each.
#pragma once

#include "app/pipeline/report.h"

#include <span>
#include <string>
#include <string_view>

namespace fuselage::app {

struct RunReport; ///< app/report/run_report.h

struct ReportFormat {
    const char* ending; ///< of file names: ".json"
    const char* title;  ///< to a person: "Report, one page"
    std::string (*render)(const Report&);
    /// The same of a run of one model, with what gates say of it; null: the format tells no gates.
    std::string (*renderRun)(const RunReport&);
};

std::span<const ReportFormat> reportFormats();

/// The format that the path's ending names; null when there is none.
const ReportFormat* reportFormatOf(std::string_view path);

} // namespace fuselage::app
