// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/plan_store.h"

#include "core/support/hash.h"
#include "core/support/text.h"
#include "gpu/runtime/checked_file.h"
#include "gpu/tune/json_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace fuselage::gpu::cudnn {

namespace {

constexpr const char* header = "fuselage-cudnn 1";

std::string configurationText(const Configuration& x) {
    std::string knobs, notes;
    for (auto [type, value] : x.knobs)
        knobs += fmt::format("{}{},{}", knobs.empty() ? "" : ",", type, value);
    for (const std::string& note : x.notes)
        notes += (notes.empty() ? "" : ",") + quotedJson(note);
    return fmt::format(
        R"({{"engine":{},"knobs":[{}],"workspace":{},"compiled":{},"native":{},)"
        R"("tensor":{},"reorders":{},"deterministic":{},"numeric":{},"notes":[{}]}})",
        x.engine, knobs, x.workspaceBytes, x.runtimeCompiled, x.graphNative, x.tensorCore,
        x.reorders, x.deterministic, static_cast<int>(x.numeric), notes);
}

/// The fields of one object; what is missing or of another kind is remembered.
class Fields {
public:
    explicit Fields(const JsonValue& value) : m_object(value.object()) {}

    bool good() const { return m_good && m_object != nullptr; }

    int64_t integer(const char* name, int64_t least, int64_t most) {
        const JsonValue* value = find(name);
        auto out = value ? value->integer() : std::nullopt;
        m_good = m_good && out && *out >= least && *out <= most;
        return out.value_or(0);
    }

    bool boolean(const char* name) {
        const JsonValue* value = find(name);
        auto out = value ? value->boolean() : std::nullopt;
        m_good = m_good && out;
        return out.value_or(false);
    }

    std::string text(const char* name) {
        const JsonValue* value = find(name);
        const std::string* out = value ? value->string() : nullptr;
        m_good = m_good && out != nullptr;
        return out ? *out : "";
    }

    const JsonArray& array(const char* name) {
        static const JsonArray none;
        const JsonValue* value = find(name);
        const JsonArray* out = value ? value->array() : nullptr;
        m_good = m_good && out != nullptr;
        return out ? *out : none;
    }

private:
    const JsonValue* find(const char* name) {
        if (m_object == nullptr)
            return nullptr;
        auto found = m_object->find(name);
        return found == m_object->end() ? nullptr : &found->second;
    }

    const JsonObject* m_object;
    bool m_good = true;
};

constexpr int64_t large = std::numeric_limits<int64_t>::max();

std::optional<Configuration> configurationOf(const JsonValue& value) {
    Fields fields(value);
    Configuration out;
    out.engine = fields.integer("engine", -1, large);
    out.workspaceBytes = fields.integer("workspace", 0, large);
    out.runtimeCompiled = fields.boolean("compiled");
    out.graphNative = fields.boolean("native");
    out.tensorCore = fields.boolean("tensor");
    out.reorders = fields.boolean("reorders");
    out.deterministic = fields.boolean("deterministic");
    out.numeric = static_cast<NumericClass>(
        fields.integer("numeric", 0, static_cast<int64_t>(NumericClass::Approximate)));
    const JsonArray& knobs = fields.array("knobs"); // types and values in turn
    for (size_t i = 0; i + 1 < knobs.size(); i += 2) {
        if (!knobs[i].integer() || !knobs[i + 1].integer())
            return std::nullopt;
        out.knobs.emplace_back(static_cast<int>(*knobs[i].integer()), *knobs[i + 1].integer());
    }
    for (const JsonValue& note : fields.array("notes")) {
        if (note.string() == nullptr)
            return std::nullopt;
        out.notes.push_back(*note.string());
    }
    return fields.good() ? std::optional(std::move(out)) : std::nullopt;
}

/// That the library cannot do it this way, not that it failed to find out.
bool lasts(const Reason& reason) {
    for (const ReasonFact& fact : reason.facts)
        if (fact.name == "status") {
            const int status = std::atoi(fact.value.c_str());
            return status >= NotSupported && status < NotSupportedEnd;
        }
    return reason.code == "support" || reason.code == "layout";
}

} // namespace

std::string answerText(const StoredAnswer& answer) {
    if (const auto* reason = std::get_if<Reason>(&answer))
        return fmt::format(R"({{"code":{},"message":{},"flip":{}}})", quotedJson(reason->code),
                           quotedJson(reason->message), quotedJson(reason->flip));
    return fmt::format(R"({{"configurations":[{}]}})",
                       joined(std::get<std::vector<Configuration>>(answer), configurationText));
}

std::optional<StoredAnswer> parseAnswer(std::string_view text) {
    auto value = parseJsonLine(text);
    if (!value || value->object() == nullptr)
        return std::nullopt;
    Fields fields(*value);
    if (value->object()->count("code") != 0) {
        Reason reason{fields.text("code"), fields.text("message"), fields.text("flip"), {}};
        return fields.good() ? std::optional<StoredAnswer>(std::move(reason)) : std::nullopt;
    }
    std::vector<Configuration> out;
    for (const JsonValue& one : fields.array("configurations")) {
        auto configuration = configurationOf(one);
        if (!configuration)
            return std::nullopt;
        out.push_back(std::move(*configuration));
    }
    return fields.good() && !out.empty() ? std::optional<StoredAnswer>(std::move(out))
                                         : std::nullopt;
}

std::string PlanStore::nameOf(const std::string& planKey, const std::string& what) const {
    std::string out;
    for (int half = 0; half < 2; ++half)
        out += Hasher().number(half).text(header).text(m_machine).text(planKey).text(what).hex();
    return out;
}

void PlanStore::write(const std::string& name, const std::string& content) const {
    std::call_once(*m_cleared, clearAbandoned, m_folder);
    writeChecked(m_folder, name, header, content);
}

std::optional<StoredAnswer> PlanStore::answer(const std::string& planKey) const {
    if (m_folder.empty())
        return std::nullopt;
    const auto text = readChecked(m_folder + "/" + nameOf(planKey, ""), header);
    return text ? parseAnswer(*text) : std::nullopt;
}

void PlanStore::keepAnswer(const std::string& planKey, const StoredAnswer& answer) const {
    const auto* reason = std::get_if<Reason>(&answer);
    if (!m_folder.empty() && (reason == nullptr || lasts(*reason)))
        write(nameOf(planKey, ""), answerText(answer));
}

std::optional<std::string> PlanStore::planJson(const std::string& planKey,
                                               const std::string& configuration) const {
    if (m_folder.empty())
        return std::nullopt;
    return readChecked(m_folder + "/" + nameOf(planKey, configuration), header);
}

void PlanStore::keepPlan(const std::string& planKey, const std::string& configuration,
                         const std::string& json) const {
    if (!m_folder.empty() && !json.empty())
        write(nameOf(planKey, configuration), json);
}

} // namespace fuselage::gpu::cudnn
