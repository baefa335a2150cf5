// SPDX-License-Identifier: Apache-2.0
#include "app/report/json_read.h"

#include "app/report/json_fields_internal.h"
#include "app/report/json_internal.h"

#include <algorithm>

namespace fuselage::app {

namespace {

/// Positions in a graph that no drawing may follow out of the list.
bool wired(const GraphReport& graph) {
    const size_t count = graph.values.size();
    auto inside = [&](uint32_t at) { return at < count || at == GraphNodeReport::omitted; };
    auto all = [&](const std::vector<uint32_t>& list) {
        return std::all_of(list.begin(), list.end(), inside);
    };
    return std::all_of(graph.inputs.begin(), graph.inputs.end(),
                       [&](uint32_t at) { return at < count; }) &&
           std::all_of(graph.outputs.begin(), graph.outputs.end(),
                       [&](uint32_t at) { return at < count; }) &&
           std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const GraphNodeReport& node) {
               return all(node.inputs) && all(node.outputs);
           });
}

} // namespace

namespace {

void takeBodyGraphs(JsonReader& from, const char* key, SideReport& side, std::string& error) {
    std::vector<GraphReport> graphs;
    from(key, graphs);
    for (size_t i = 0; i < side.bodies.size() && i < graphs.size(); ++i) {
        side.bodies[i].graph = std::move(graphs[i]);
        if (error.empty() && !wired(side.bodies[i].graph))
            error = "a node of a body's graph uses a value that is not there";
    }
}

} // namespace

Result<Report> readReportParts(const json& results, const json* timings, const json* graphs) {
    Report out;
    std::string error;
    JsonReader reader(results, "results", error);
    resultFields(reader, out);
    const size_t kernels = out.after.kernels.size(), before = out.before.kernels.size();
    const size_t matches = out.matches.size();
    const size_t bodies = out.before.bodies.size() + out.after.bodies.size();
    if (timings != nullptr) {
        JsonReader times(*timings, "timings", error);
        timingFields(times, out);
    }
    if (graphs != nullptr) {
        JsonReader drawn(*graphs, "graphs", error);
        drawn("before", out.before.graph);
        drawn("after", out.after.graph);
        takeBodyGraphs(drawn, "bodies_before", out.before, error);
        takeBodyGraphs(drawn, "bodies", out.after, error);
    }
    if (error.empty() && (out.after.kernels.size() != kernels ||
                          out.before.kernels.size() != before || out.matches.size() != matches ||
                          out.before.bodies.size() + out.after.bodies.size() != bodies))
        error = "`timings` has more rows than `results`";
    if (error.empty() && !(wired(out.before.graph) && wired(out.after.graph)))
        error = "a node of `graphs` uses a value that is not there";
    if (!error.empty())
        return failure("report.field", "the report cannot be read: " + error, "",
                       "write it again with `fuselage bench --report`");
    return out;
}

Result<Report> readJson(std::string_view text) {
    json document = json::parse(text, nullptr, false);
    if (document.is_discarded() || !document.is_object())
        return failure("report.syntax", "the file is not JSON", "",
                       "give a file that `fuselage bench --report x.json` wrote");
    auto schema = document.find("schema");
    if (schema == document.end() || *schema != reportSchema || !document.contains("results"))
        return failure("report.schema", std::string("the file is not a `") + reportSchema + "`", "",
                       "give a file that `fuselage bench --report x.json` wrote");
    auto part = [&](const char* key) {
        auto at = document.find(key);
        return at == document.end() ? nullptr : &*at;
    };
    return readReportParts(document["results"], part("timings"), part("graphs"));
}

} // namespace fuselage::app
