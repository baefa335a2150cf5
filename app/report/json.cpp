// SPDX-License-Identifier: Apache-2.0
#include "app/report/json.h"

#include "app/report/json_fields_internal.h"
#include "app/report/json_internal.h"

namespace fuselage::app {

json resultsJson(const Report& report) {
    json out = json::object();
    JsonWriter writer(out);
    resultFields(writer, const_cast<Report&>(report)); // writers only read
    return out;
}

json timingsJson(const Report& report) {
    json out = json::object();
    JsonWriter writer(out);
    timingFields(writer, const_cast<Report&>(report));
    return out;
}

std::string fileText(const json& document) {
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

namespace {

/// Parallel to the bodies of the side.
std::vector<GraphReport> bodyGraphs(const SideReport& side) {
    std::vector<GraphReport> out;
    for (const BodyReport& body : side.bodies)
        out.push_back(body.graph);
    return out;
}

} // namespace

std::string renderJson(const Report& report) {
    json graphs = json::object();
    JsonWriter writer(graphs);
    writer("before", report.before.graph);
    writer("after", report.after.graph);
    if (!report.before.bodies.empty())
        writer("bodies_before", bodyGraphs(report.before));
    if (!report.after.bodies.empty())
        writer("bodies", bodyGraphs(report.after));
    return fileText({{"schema", reportSchema},
                     {"results", resultsJson(report)},
                     {"timings", timingsJson(report)},
                     {"graphs", graphs}});
}

} // namespace fuselage::app
