// SPDX-License-Identifier: Apache-2.0
#include "app/report/render.h"

#include "app/report/chrome_trace.h"
#include "app/report/csv.h"
#include "app/report/html.h"
#include "app/report/json.h"
#include "app/report/junit.h"
#include "app/report/markdown.h"
#include "app/report/sarif.h"
#include "app/report/svg.h"
#include "app/report/text.h"

namespace fuselage::app {

namespace {

template <std::string (*render)(const RunReport&)> std::string ofOne(const Report& report) {
    return render(runOf(report));
}

std::string markdown(const RunReport& run) {
    return renderMarkdown(run);
}

std::string sarif(const RunReport& run) {
    return renderSarif(run);
}

// Of two endings that fit the first row wins: the longer ones come before.
constexpr ReportFormat formats[] = {
    {".trace.json", "Trace for chrome://tracing", ofOne<renderChromeTrace>, nullptr},
    {".junit.xml", "Checks for CI, as JUnit", ofOne<renderJUnit>, renderJUnit},
    {".matches.csv", "Matches with what they saved", ofOne<renderMatchesCsv>, nullptr},
    {".csv", "Kernels with traffic and times", ofOne<renderKernelsCsv>, nullptr},
    {".md", "Summary as Markdown", ofOne<markdown>, markdown},
    {".sarif", "Findings for code scanning, as SARIF", ofOne<sarif>, sarif},
    {".html", "Report", renderHtml, nullptr},
    {".json", "Report for programs", renderJson, nullptr},
    {".svg", "Report as one picture", renderSvg, nullptr},
    {".txt", "Report as text", renderText, nullptr},
};

} // namespace

std::span<const ReportFormat> reportFormats() {
    return formats;
}

const ReportFormat* reportFormatOf(std::string_view path) {
    for (const ReportFormat& format : formats)
        if (path.ends_with(format.ending))
            return &format;
    return nullptr;
}

} // namespace fuselage::app
