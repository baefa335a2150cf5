// SPDX-License-Identifier: Apache-2.0
#include "app/report/run_json.h"

#include "app/report/json_archive_internal.h"
#include "app/report/json_internal.h"
#include "app/report/json_read.h"

#include <algorithm>

namespace fuselage::app {

namespace {

template <typename A> void fields(A& a, GateRow& gate) {
    a("id", gate.id);
    a("model", gate.model);
    a("metric", gate.metric);
    a("baseline", gate.base);
    a("now", gate.now);
    a("baseline_value", gate.baseValue);
    a("now_value", gate.nowValue);
    a("limit", gate.limit);
    a("verdict", gate.verdict);
    a("note", gate.note);
}

json rowsJson(std::vector<GateRow> rows) {
    json out = json::object();
    JsonWriter writer(out);
    writer.list("gates", rows, [](JsonWriter& w, GateRow& gate) { fields(w, gate); });
    return out["gates"];
}

json gatesOf(const RunReport& run, bool timed) {
    std::vector<GateRow> rows;
    for (const GateRow& gate : run.gates)
        if (gate.timed == timed)
            rows.push_back(gate);
    return rowsJson(std::move(rows));
}

json statusJson(const RunReport& run, bool timed) {
    std::vector<std::string> reasons;
    for (const std::string& reason : run.reasons)
        if (isTimed(reason) == timed)
            reasons.push_back(reason);
    return {{"exit", exitCodeOf(reasons)}, {"reasons", reasons}};
}

json part(const char* schema, const RunReport& run, bool timed) {
    return {{"schema", schema},
            {"tool", {{"version", run.version}}},
            {"status", statusJson(run, timed)},
            {"models", json::array()},
            {"gates", gatesOf(run, timed)}};
}

Failure wrong(const char* code, const std::string& what) {
    return failure(code, what, "",
                   "give a folder that `fuselage batch -o` wrote, or a report of "
                   "`fuselage bench --report x.json`");
}

json parsed(std::string_view text) {
    return json::parse(text, nullptr, false);
}

const json* member(const json& object, const char* key) {
    auto at = object.find(key);
    return at == object.end() ? nullptr : &*at;
}

void readModel(const json& row, const json* timings, RunReport& run, std::string& error) {
    ModelRun& model = run.models.emplace_back();
    JsonReader reader(row, "models[" + std::to_string(run.models.size() - 1) + "]", error);
    reader("id", model.id);
    if (error.empty() && !isModelId(model.id))
        error = "`" + model.id + "` is no id of a model";
    reader("file", model.file);
    reader("state", model.state);
    reader("code", model.code);
    reader("message", model.message);
    reader("structure", model.structure);
    const json* times = nullptr;
    const json* rows = timings ? member(*timings, "models") : nullptr;
    if (rows != nullptr && rows->is_array())
        for (const json& other : *rows)
            if (other.is_object() && other.value("id", json()) == model.id) {
                JsonReader timed(other, "models", error);
                timed("seconds", model.seconds);
                times = member(other, "timings");
            }
    const json* results = row.is_object() ? member(row, "results") : nullptr;
    if (results == nullptr || !error.empty())
        return;
    auto report = readReportParts(*results, times, nullptr);
    if (report)
        model.report = std::move(*report);
    else
        error = report.error().message;
}

void readGates(const json& document, bool timed, RunReport& run, std::string& error) {
    std::vector<GateRow> rows;
    JsonReader reader(document, "", error);
    reader.list("gates", rows, [](JsonReader& r, GateRow& gate) { fields(r, gate); });
    for (GateRow& gate : rows) {
        gate.timed = timed;
        run.gates.push_back(std::move(gate));
    }
    reader.group("status", [&](JsonReader& status) {
        std::vector<std::string> reasons;
        status("reasons", reasons);
        run.reasons.insert(run.reasons.end(), reasons.begin(), reasons.end());
    });
}

} // namespace

json gatesJson(const RunReport& run) {
    return rowsJson(run.gates);
}

std::string renderResults(const RunReport& run) {
    json out = part(resultsSchema, run, false);
    for (const ModelRun& model : run.models) {
        json row{{"id", model.id},     {"file", model.file},       {"state", nameOf(model.state)},
                 {"code", model.code}, {"message", model.message}, {"structure", model.structure}};
        if (model.report) {
            row["results"] = resultsJson(*model.report);
            row["verify"] = verificationText(*model.report);
        }
        out["models"].push_back(std::move(row));
    }
    return fileText(out);
}

std::string renderTimings(const RunReport& run) {
    json out = part(timingsSchema, run, true);
    // Of this run's making and not of its results: shards that are merged give the same results.
    out["shard"] = {{"index", run.shard}, {"of", run.shards}, {"config", run.config}};
    for (const ModelRun& model : run.models) {
        json row{{"id", model.id}, {"seconds", rounded(model.seconds)}};
        if (model.report)
            row["timings"] = timingsJson(*model.report);
        out["models"].push_back(std::move(row));
    }
    return fileText(out);
}

Result<RunReport> readRun(std::string_view results, std::string_view timings) {
    const json document = parsed(results);
    if (document.is_discarded() || !document.is_object())
        return wrong("report.syntax", "the file is not JSON");
    const json* schema = member(document, "schema");
    if (schema != nullptr && *schema == reportSchema) {
        auto report = readJson(results);
        if (!report)
            return failure(report.error());
        return runOf(*report);
    }
    const json* models = member(document, "models");
    if (schema == nullptr || *schema != resultsSchema || models == nullptr || !models->is_array())
        return wrong("report.schema", std::string("the file is not a `") + resultsSchema + "`");
    const json times = timings.empty() ? json::object() : parsed(timings);
    if (!times.is_object())
        return wrong("report.syntax", "the timings are not JSON");
    RunReport run;
    std::string error;
    for (const json& row : *models)
        if (error.empty())
            readModel(row, &times, run, error);
    JsonReader(times, "timings", error).group("shard", [&](JsonReader& shard) {
        shard("index", run.shard);
        shard("of", run.shards);
        shard("config", run.config);
    });
    readGates(document, false, run, error);
    readGates(times, true, run, error);
    if (!error.empty())
        return wrong("report.field", "the report cannot be read: " + error);
    if (const json* tool = member(document, "tool"); tool != nullptr && tool->is_object())
        JsonReader(*tool, "tool", error)("version", run.version);
    settle(run);
    return run;
}

} // namespace fuselage::app
