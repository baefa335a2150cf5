// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/timing_line.h"

#include "gpu/tune/json_fields.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace fuselage::gpu {

namespace {

constexpr const char* formatName = "fuselage timing cache";
constexpr int64_t formatVersion = 1;
constexpr size_t longestText = 1000; ///< bytes of a note or a sentence
constexpr double longestMicroseconds = 1e9;

Failure wrongLine(const std::string& message) {
    return failure("cache.line", message);
}

std::optional<NumericClass> numericNamed(const std::string& name) {
    for (auto numeric : {NumericClass::Exact, NumericClass::Wider, NumericClass::Reassociated,
                         NumericClass::Approximate})
        if (name == nameOf(numeric))
            return numeric;
    return std::nullopt;
}

Result<CandidateRecord> readRecord(const nlohmann::json& value) {
    if (!value.is_object())
        return wrongLine("a candidate is no object");
    CandidateRecord out;
    std::string numeric = nameOf(out.numeric);
    JsonFields fields(value);
    fields.require("name");
    fields.require(fields.has("refused") ? "why" : "us");
    fields.read("name", out.name);
    fields.read("us", out.median, 0, longestMicroseconds);
    fields.read("spread", out.spread, 0, longestMicroseconds);
    fields.readCount("rounds", out.rounds);
    fields.read("eliminated", out.eliminated);
    fields.read("fallback", out.fallback);
    fields.read("deterministic", out.deterministic);
    fields.readCount("workspace", out.workspace);
    fields.readCount("registers", out.registers);
    fields.readCount("spills", out.spills);
    fields.read("numeric", numeric);
    fields.read("notes", out.notes);
    fields.read("refused", out.refused);
    fields.read("why", out.why);
    if (auto known = numericNamed(numeric))
        out.numeric = *known;
    else
        fields.complain("numeric", "a numeric class");
    if (out.name.empty())
        fields.complain("name", "a name");
    if (out.refused.empty() && out.rounds == 0)
        fields.complain("rounds", "positive, and nothing refused it");
    if (const std::string& problem = fields.finish(); !problem.empty())
        return wrongLine(out.name.empty() ? problem
                                          : fmt::format("candidate `{}`: {}", out.name, problem));
    return normalised(std::move(out));
}

nlohmann::ordered_json recordJson(const CandidateRecord& record) {
    nlohmann::ordered_json out{{"name", record.name}};
    if (record.rounds != 0) {
        out["us"] = record.median;
        out["spread"] = record.spread;
        out["rounds"] = record.rounds;
    }
    if (record.eliminated)
        out["eliminated"] = true;
    if (record.fallback)
        out["fallback"] = true;
    if (!record.deterministic)
        out["deterministic"] = false;
    out["workspace"] = record.workspace;
    out["registers"] = record.registers;
    if (record.spills != 0)
        out["spills"] = record.spills;
    out["numeric"] = nameOf(record.numeric);
    if (!record.notes.empty())
        out["notes"] = record.notes;
    if (!record.refused.empty()) {
        out["refused"] = record.refused;
        out["why"] = record.why;
    }
    return out;
}

std::string clipped(std::string text) {
    if (text.size() > longestText)
        text = text.substr(0, longestText);
    // Writing replaces bytes that are no text; what is kept in memory must read the same.
    return nlohmann::json::parse(jsonLine(text)).get<std::string>();
}

double nanoseconds(double microseconds) {
    const double bounded = std::isfinite(microseconds)
                               ? std::clamp(microseconds, 0.0, longestMicroseconds)
                               : longestMicroseconds;
    return std::round(bounded * 1e3) / 1e3;
}

} // namespace

CandidateRecord normalised(CandidateRecord record) {
    record.median = nanoseconds(record.median);
    record.spread = nanoseconds(record.spread);
    for (std::string* text : {&record.name, &record.notes, &record.refused, &record.why})
        *text = clipped(std::move(*text));
    return record;
}

std::string timingCacheHeader() {
    return jsonLine({{"format", formatName}, {"version", formatVersion}});
}

bool isTimingCacheHeader(std::string_view line) {
    auto value = parseJsonLine(line);
    return value && value->is_object() && value->value("format", nlohmann::json()) == formatName &&
           value->value("version", nlohmann::json()) == formatVersion;
}

std::string recordText(const CandidateRecord& record) {
    return jsonLine(recordJson(record));
}

std::string timingLine(const TacticKey& key, const TimingEntry& entry) {
    auto candidates = nlohmann::ordered_json::array();
    for (const CandidateRecord& record : entry)
        candidates.push_back(recordJson(record));
    return jsonLine({{"step", key.step},
                     {"device", key.device},
                     {"software", key.software},
                     {"key", key.hash},
                     {"candidates", std::move(candidates)}});
}

Result<std::pair<TacticKey, TimingEntry>> parseTimingLine(std::string_view line) {
    auto value = parseJsonLine(line);
    if (!value)
        return failure(value.error());
    if (!value->is_object())
        return wrongLine("the line is no object");
    std::pair<TacticKey, TimingEntry> out;
    JsonFields fields(*value);
    for (const char* name : {"step", "device", "software", "key", "candidates"})
        fields.require(name);
    fields.read("step", out.first.step);
    fields.read("device", out.first.device);
    fields.read("software", out.first.software);
    fields.read("key", out.first.hash);
    const nlohmann::json* candidates = fields.array("candidates");
    if (const std::string& problem = fields.finish(); !problem.empty())
        return wrongLine(problem);
    for (const nlohmann::json& candidate : *candidates) {
        auto record = readRecord(candidate);
        if (!record)
            return failure(record.error());
        out.second.push_back(std::move(*record));
    }
    return out;
}

} // namespace fuselage::gpu
