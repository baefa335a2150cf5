// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/plan_store.h"

#include "core/support/hash.h"
#include "gpu/runtime/checked_file.h"
#include "gpu/tune/json_fields.h"

#include <nlohmann/json.hpp>

namespace fuselage::gpu::cudnn {

namespace {

constexpr const char* header = "fuselage-cudnn 1";

nlohmann::ordered_json jsonOf(const Configuration& x) {
    std::vector<int64_t> knobs; // types and values in turn
    for (auto [type, value] : x.knobs) {
        knobs.push_back(type);
        knobs.push_back(value);
    }
    return {{"engine", x.engine},
            {"knobs", knobs},
            {"workspace", x.workspaceBytes},
            {"compiled", x.runtimeCompiled},
            {"native", x.graphNative},
            {"tensor", x.tensorCore},
            {"reorders", x.reorders},
            {"deterministic", x.deterministic},
            {"numeric", static_cast<int>(x.numeric)},
            {"notes", x.notes}};
}

std::optional<Configuration> configurationOf(const nlohmann::json& value) {
    JsonFields fields(value);
    for (const char* name : {"engine", "workspace", "compiled", "native", "tensor", "reorders",
                             "deterministic", "numeric"})
        fields.require(name);
    Configuration out;
    int numeric = 0;
    std::vector<int64_t> knobs;
    fields.readCount("engine", out.engine, -1);
    fields.readCount("workspace", out.workspaceBytes);
    fields.read("compiled", out.runtimeCompiled);
    fields.read("native", out.graphNative);
    fields.read("tensor", out.tensorCore);
    fields.read("reorders", out.reorders);
    fields.read("deterministic", out.deterministic);
    fields.readCount("numeric", numeric);
    fields.read("knobs", knobs);
    fields.read("notes", out.notes);
    if (!fields.problem().empty() || numeric > static_cast<int>(NumericClass::Approximate))
        return std::nullopt;
    out.numeric = static_cast<NumericClass>(numeric);
    for (size_t i = 0; i + 1 < knobs.size(); i += 2)
        out.knobs.emplace_back(static_cast<int>(knobs[i]), knobs[i + 1]);
    return out;
}

/// That the library cannot do it this way, not that it failed to find out.
bool lasts(const Reason& reason) {
    for (const ReasonFact& fact : reason.facts)
        if (fact.name == "status") {
            const int status = std::atoi(fact.value.c_str());
            return status >= CUDNN_STATUS_NOT_SUPPORTED && status < CUDNN_STATUS_INTERNAL_ERROR;
        }
    return reason.code == "support" || reason.code == "layout";
}

} // namespace

std::string answerText(const StoredAnswer& answer) {
    if (const auto* reason = std::get_if<Reason>(&answer))
        return jsonLine(
            {{"code", reason->code}, {"message", reason->message}, {"flip", reason->flip}});
    auto all = nlohmann::ordered_json::array();
    for (const Configuration& one : std::get<std::vector<Configuration>>(answer))
        all.push_back(jsonOf(one));
    return jsonLine({{"configurations", std::move(all)}});
}

std::optional<StoredAnswer> parseAnswer(std::string_view text) {
    auto value = parseJsonLine(text);
    if (!value)
        return std::nullopt;
    JsonFields fields(*value);
    if (fields.has("code")) {
        Reason reason;
        for (const char* name : {"message", "flip"})
            fields.require(name);
        fields.read("code", reason.code);
        fields.read("message", reason.message);
        fields.read("flip", reason.flip);
        return fields.problem().empty() ? std::optional<StoredAnswer>(std::move(reason))
                                        : std::nullopt;
    }
    const nlohmann::json* all = fields.array("configurations");
    if (all == nullptr || all->empty())
        return std::nullopt;
    std::vector<Configuration> out;
    for (const nlohmann::json& one : *all) {
        auto configuration = configurationOf(one);
        if (!configuration)
            return std::nullopt;
        out.push_back(std::move(*configuration));
    }
    return out;
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
