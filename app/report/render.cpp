// SPDX-License-Identifier: Apache-2.0
#include "app/report/render.h"

#include "app/report/html.h"
#include "app/report/json.h"
#include "app/report/svg.h"
#include "app/report/text.h"

namespace fuselage::app {

namespace {

constexpr ReportFormat formats[] = {
    {".html", renderHtml},
    {".json", renderJson},
    {".svg", renderSvg},
    {".txt", renderText},
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
