// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/timing_line.h"

#include "core/support/text.h"
#include "gpu/tune/json_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage::gpu {

namespace {

constexpr const char* formatName = "fuselage timing cache";
constexpr int64_t formatVersion = 1;
constexpr size_t longestText = 1000; ///< bytes of a note or a sentence
constexpr double longestMicroseconds = 1e9;

/// Reads the fields of one object and remembers the first that is missing or wrong.
class Fields {
public:
    explicit Fields(const JsonObject& object) : m_object(object) {}

    void read(const char* name, std::string& out) {
        if (const JsonValue* value = next(name))
            value->string() ? void(out = *value->string()) : complain(name, "text");
    }

    void read(const char* name, bool& out) {
        if (const JsonValue* value = next(name))
            value->boolean() ? void(out = *value->boolean()) : complain(name, "true or false");
    }

    void read(const char* name, double& out) {
        const JsonValue* value = next(name);
        if (!value)
            return;
        auto number = value->number();
        if (number && *number >= 0 && *number <= longestMicroseconds)
            out = *number;
        else
            complain(name, "microseconds from 0 to 1e9");
    }

    template <typename Integer> void readCount(const char* name, Integer& out) {
        const JsonValue* value = next(name);
        if (!value)
            return;
        auto number = value->integer();
        if (number && *number >= 0 &&
            static_cast<uint64_t>(*number) <=
                static_cast<uint64_t>(std::numeric_limits<Integer>::max()))
            out = static_cast<Integer>(*number);
        else
            complain(name, "a count");
    }

    void require(const char* name) {
        if (!m_object.contains(name))
            complain(name, "present");
    }

    bool has(const char* name) const { return m_object.contains(name); }

    void complain(const std::string& name, const std::string& wanted) {
        if (m_problem.empty())
            m_problem = fmt::format("field `{}` is not {}", name, wanted);
    }

    /// Fields that nothing asked for are an error too: they would be lost by the next writer.
    const std::string& finish() {
        for (const auto& [name, value] : m_object)
            if (std::find(m_known.begin(), m_known.end(), name) == m_known.end() &&
                m_problem.empty())
                m_problem = fmt::format("field `{}` is not known", name);
        return m_problem;
    }

    const JsonValue* next(const char* name) {
        m_known.emplace_back(name);
        auto found = m_object.find(name);
        return found == m_object.end() ? nullptr : &found->second;
    }

private:
    const JsonObject& m_object;
    std::vector<std::string> m_known;
    std::string m_problem;
};

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

Result<CandidateRecord> readRecord(const JsonValue& value) {
    if (!value.object())
        return wrongLine("a candidate is no object");
    CandidateRecord out;
    std::string numeric = nameOf(out.numeric);
    Fields fields(*value.object());
    fields.require("name");
    fields.require(fields.has("refused") ? "why" : "us");
    fields.read("name", out.name);
    fields.read("us", out.median);
    fields.read("spread", out.spread);
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

std::string clipped(std::string text) {
    if (text.size() > longestText)
        text = text.substr(0, longestText);
    // Quoting replaces bytes that are no text; what is kept in memory must read the same.
    auto parsed = parseJsonLine(quotedJson(text));
    return parsed && parsed->string() ? *parsed->string() : std::string();
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
    return fmt::format("{{\"format\":\"{}\",\"version\":{}}}", formatName, formatVersion);
}

bool isTimingCacheHeader(std::string_view line) {
    auto value = parseJsonLine(line);
    if (!value || !value->object())
        return false;
    const JsonObject& object = *value->object();
    auto format = object.find("format");
    auto version = object.find("version");
    return format != object.end() && format->second.string() &&
           *format->second.string() == formatName && version != object.end() &&
           version->second.integer() == formatVersion;
}

std::string recordText(const CandidateRecord& record) {
    std::string out = "{\"name\":" + quotedJson(record.name);
    if (record.rounds != 0)
        out += fmt::format(",\"us\":{:.3f},\"spread\":{:.3f},\"rounds\":{}", record.median,
                           record.spread, record.rounds);
    if (record.eliminated)
        out += ",\"eliminated\":true";
    if (record.fallback)
        out += ",\"fallback\":true";
    if (!record.deterministic)
        out += ",\"deterministic\":false";
    out += fmt::format(",\"workspace\":{},\"registers\":{}", record.workspace, record.registers);
    if (record.spills != 0)
        out += fmt::format(",\"spills\":{}", record.spills);
    out += fmt::format(",\"numeric\":\"{}\"", nameOf(record.numeric));
    if (!record.notes.empty())
        out += ",\"notes\":" + quotedJson(record.notes);
    if (!record.refused.empty())
        out += ",\"refused\":" + quotedJson(record.refused) + ",\"why\":" + quotedJson(record.why);
    return out + "}";
}

std::string timingLine(const TacticKey& key, const TimingEntry& entry) {
    return fmt::format(
        "{{\"step\":{},\"device\":{},\"software\":{},\"key\":{},\"candidates\":[{}]}}",
        quotedJson(key.step), quotedJson(key.device), quotedJson(key.software),
        quotedJson(key.hash), joined(entry, recordText));
}

Result<std::pair<TacticKey, TimingEntry>> parseTimingLine(std::string_view line) {
    auto value = parseJsonLine(line);
    if (!value)
        return failure(value.error());
    if (!value->object())
        return wrongLine("the line is no object");
    std::pair<TacticKey, TimingEntry> out;
    Fields fields(*value->object());
    for (const char* name : {"step", "device", "software", "key", "candidates"})
        fields.require(name);
    fields.read("step", out.first.step);
    fields.read("device", out.first.device);
    fields.read("software", out.first.software);
    fields.read("key", out.first.hash);
    const JsonValue* candidates = fields.next("candidates");
    if (candidates && !candidates->array())
        fields.complain("candidates", "an array");
    if (const std::string& problem = fields.finish(); !problem.empty())
        return wrongLine(problem);
    for (const JsonValue& candidate : *candidates->array()) {
        auto record = readRecord(candidate);
        if (!record)
            return failure(record.error());
        out.second.push_back(std::move(*record));
    }
    return out;
}

} // namespace fuselage::gpu
