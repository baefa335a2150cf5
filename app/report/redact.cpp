// SPDX-License-Identifier: Apache-2.0
// Works on the JSON of the report: every text is there once, whatever struct it is in.
#include "app/report/redact.h"

#include "app/report/json.h"
#include "app/report/json_internal.h"
#include "app/report/json_read.h"
#include "core/support/hash.h"

#include <set>
#include <unordered_map>

namespace fuselage::app {

namespace {

using nlohmann::json;

std::string hashed(const std::string& part) {
    constexpr size_t digits = 8;
    return part.empty() ? part : "x" + Hasher().text(part).hex().substr(0, digits);
}

std::string hashedName(const std::string& name) {
    std::string out, part;
    for (char c : name)
        if (c == '/') {
            out += hashed(part) + "/";
            part.clear();
        } else {
            part += c;
        }
    return out + hashed(part);
}

class Redactor {
public:
    explicit Redactor(const Report& report) {
        for (const GraphReport* graph : {&report.graphBefore, &report.graphAfter}) {
            name(graph->name);
            for (const GraphValueReport& value : graph->values)
                name(value.name);
            for (const GraphNodeReport& node : graph->nodes) {
                if (!node.fused)
                    name(node.name);
                for (const std::string& source : node.sources)
                    name(source);
            }
        }
        name(report.model.name);
        for (const MatchReport& match : report.matches)
            for (const std::string& node : match.nodes)
                name(node);
        // Values that were folded or replaced on the way are in no graph.
        for (const MatchReport& match : report.matches)
            for (const BindingReport& binding : match.bindings)
                for (const std::string& value : binding.values)
                    name(value);
        for (const NearMissReport& miss : report.nearMisses)
            name(miss.anchor), name(miss.node);
        for (const StepReport& step : report.steps)
            for (const std::string& node : step.nodes)
                name(node);
    }

    void walk(json& value) const {
        if (value.is_string()) {
            value = text(value.get<std::string>());
        } else if (value.is_array()) {
            for (json& item : value)
                walk(item);
        } else if (value.is_object()) {
            for (auto& [key, item] : value.items())
                if (key == "literal")
                    item = "";
                else if (!fixed.contains(key))
                    walk(item);
        }
    }

private:
    void name(const std::string& name) {
        if (!name.empty())
            m_names.try_emplace(name, hashedName(name));
    }

    const std::string* find(const std::string& name) const {
        auto at = m_names.find(name);
        return at == m_names.end() ? nullptr : &at->second;
    }

    /// A name, "name: type", or a sentence with names in backticks.
    std::string text(const std::string& value) const {
        if (const std::string* name = find(value))
            return *name;
        if (const size_t colon = value.find(": "); colon != std::string::npos)
            if (const std::string* name = find(value.substr(0, colon)))
                return *name + value.substr(colon);
        std::string out;
        size_t at = 0;
        for (size_t open = 0; (open = value.find('`', at)) != std::string::npos;) {
            const size_t close = value.find('`', open + 1);
            if (close == std::string::npos)
                break;
            const std::string quoted = value.substr(open + 1, close - open - 1);
            const std::string* name = find(quoted);
            out += value.substr(at, open + 1 - at) + (name ? *name : quoted) + "`";
            at = close + 1;
        }
        return out + value.substr(at);
    }

    /// Words of rules, operators and programs, which may read like a node's name.
    inline static const std::set<std::string> fixed{
        "rule",  "op",   "file", "program", "tactic",       "kind",  "phase",
        "dtype", "type", "code", "dims",    "alternatives", "schema"};

    std::unordered_map<std::string, std::string> m_names;
};

} // namespace

Result<Report> redacted(const Report& report) {
    json document = json::parse(renderJson(report), nullptr, false);
    if (document.is_discarded())
        return failure("internal.redact", "the report cannot be read back");
    Redactor(report).walk(document);
    auto out = readJson(fileText(document));
    if (out)
        out->model.path = report.model.path;
    return out;
}

} // namespace fuselage::app
