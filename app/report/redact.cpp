// SPDX-License-Identifier: Apache-2.0
// Works on the JSON of the report: every text is there once, whatever struct it is in.
#include "app/report/redact.h"

#include "app/report/json.h"
#include "app/report/json_internal.h"
#include "app/report/json_read.h"
#include "core/support/hash.h"

#include <cctype>
#include <filesystem>
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

std::vector<const GraphReport*> graphsOf(const Report& report) {
    std::vector<const GraphReport*> out;
    for (const SideReport* side : {&report.before, &report.after}) {
        out.push_back(&side->graph);
        for (const BodyReport& body : side->bodies)
            out.push_back(&body.graph);
    }
    return out;
}

class Redactor {
public:
    explicit Redactor(const Report& report) {
        for (const GraphReport* graph : graphsOf(report)) {
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
        for (const BodyReport& body : report.before.bodies)
            name(body.path);
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
        for (const KernelReport& kernel : report.after.kernels)
            for (const auto* sources : {&kernel.sources, &kernel.recomputed})
                for (const std::string& source : *sources)
                    name(source);
        words(report);
        for (const NearMissReport& miss : report.nearMisses)
            ends(miss.anchor), ends(miss.node);
    }

    void walk(json& value) const {
        if (value.is_string()) {
            value = text(value.get<std::string>());
        } else if (value.is_array()) {
            for (json& item : value)
                walk(item);
        } else if (value.is_object()) {
            const bool reason = value.contains("message") && value.contains("facts");
            for (auto& [key, item] : value.items())
                if (key == "literal" || key == "scale" || key == "range")
                    item = "";
                else if (key == "origins")
                    origins(item);
                else if (key == "attributes")
                    attributes(item);
                else if (reason && key != "code")
                    sentences(item);
                else if (key == "type" && item.is_string())
                    item = withoutNamedDims(item.get<std::string>());
                else if (!fixed.contains(key))
                    walk(item);
        }
    }

private:
    void name(const std::string& name) {
        if (!name.empty())
            m_names.try_emplace(name, hashedName(name));
    }

    /// "loop/body/NAME": what is said of a node in a body calls it by its own name.
    void ends(const std::string& path) {
        for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1))
            if (const std::string end = path.substr(at + 1); !m_words.contains(end))
                name(end);
    }

    /// What is not the model's, though it may read like a name of it.
    void words(const Report& report) {
        for (const RuleReport& rule : report.rules)
            m_words.insert(rule.rule);
        for (const NearMissReport& miss : report.nearMisses)
            m_words.insert(miss.rule);
        for (const GraphReport* graph : graphsOf(report))
            for (const GraphNodeReport& node : graph->nodes) {
                m_words.insert(node.op);
                for (const auto& [attribute, _] : node.attributes)
                    m_words.insert(attribute);
            }
    }

    /// Modules and files of the model's source.
    static void origins(json& all) {
        if (all.is_array())
            for (json& origin : all)
                if (origin.is_string())
                    origin = hashed(origin.get<std::string>());
    }

    /// Pairs of name and value: whole numbers are structure, as shapes are; others are the model's.
    static void attributes(json& pairs) {
        if (!pairs.is_array())
            return;
        for (json& pair : pairs)
            if (pair.is_array() && pair.size() == 2 && pair[1].is_string() &&
                pair[1].get<std::string>().find_first_not_of("0123456789-,[] ") !=
                    std::string::npos)
                pair[1] = "";
    }

    /// Texts of a reason: besides names they hold values, of weights as of attributes.
    void sentences(json& value) const {
        if (value.is_string())
            value = withoutNumbers(text(value.get<std::string>()));
        else if (value.is_structured())
            for (json& item : value)
                sentences(item);
    }

    /// "# is not #": a number that is no part of a word.
    static std::string withoutNumbers(const std::string& value) {
        auto inWord = [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
        };
        std::string out;
        for (size_t i = 0; i < value.size();) {
            const bool digit = std::isdigit(static_cast<unsigned char>(value[i])) != 0;
            if (!digit || (i > 0 && inWord(value[i - 1]))) {
                out += value[i++];
                continue;
            }
            while (i < value.size() && (inWord(value[i]) || value[i] == '.' ||
                                        ((value[i] == '-' || value[i] == '+') &&
                                         (value[i - 1] == 'e' || value[i - 1] == 'E'))))
                ++i;
            out += '#';
        }
        return out;
    }

    /// In a word that is no name itself but was made of one: "NAME_fused", "a+NAME".
    std::string derived(const std::string& word) const {
        constexpr size_t least = 6; // shorter ones are found in any text
        std::string out;
        for (size_t at = 0; at < word.size();) {
            size_t length = word.size() - at;
            const std::string* name = nullptr;
            for (; length >= least && name == nullptr; --length)
                if (const std::string part = word.substr(at, length); !m_words.contains(part))
                    name = find(part);
            if (name == nullptr) {
                out += word[at++];
                continue;
            }
            out += *name;
            at += length + 1;
        }
        return out;
    }

    /// A word in backticks that is no name of a graph: of a rule it stays, else it may come from a
    /// graph on the way.
    std::string quoted(const std::string& word) const {
        constexpr size_t longest = 12; // of operands and attributes
        const bool plain =
            word.size() <= longest &&
            word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
        if (plain || m_words.contains(word) || word.find_first_of("/:") == std::string::npos)
            return derived(word);
        return hashedName(word);
    }

    const std::string* find(const std::string& name) const {
        auto at = m_names.find(name);
        return at == m_names.end() ? nullptr : &at->second;
    }

    /// Names that hold the mark of quotes would be taken for several.
    std::string withoutMarkedNames(std::string value) const {
        for (const auto& [name, hash] : m_names)
            if (name.find('`') != std::string::npos)
                for (size_t at = value.find(name); at != std::string::npos;
                     at = value.find(name, at + hash.size()))
                    value.replace(at, name.size(), hash);
        return value;
    }

    /// A name, "name: type", or a sentence with names in backticks.
    std::string text(const std::string& raw) const {
        if (const std::string* name = find(raw))
            return *name;
        const std::string value = withoutMarkedNames(raw);
        if (const size_t colon = value.find(": "); colon != std::string::npos)
            if (const std::string* name = find(value.substr(0, colon)))
                return *name + withoutNamedDims(value.substr(colon));
        std::string out;
        size_t at = 0;
        for (size_t open = 0; (open = value.find('`', at)) != std::string::npos;) {
            const size_t close = value.find('`', open + 1);
            if (close == std::string::npos)
                break;
            const std::string quoted = value.substr(open + 1, close - open - 1);
            const std::string* name = find(quoted);
            out += outside(value.substr(at, open - at)) + "`" +
                   (name ? *name : this->quoted(quoted)) + "`";
            at = close + 1;
        }
        return out + outside(value.substr(at));
    }

    /// "float[NAME_dim0,2]": shape inference calls what it cannot tell after the value.
    std::string withoutNamedDims(const std::string& type) const {
        constexpr std::string_view marks = "[],*+-() ", middle = "_dim";
        std::string out, word;
        for (const char c : type + ' ')
            if (marks.find(c) != std::string_view::npos) {
                const size_t at = word.rfind(middle);
                const std::string* name =
                    at == std::string::npos ? nullptr : find(word.substr(0, at));
                out += (name ? *name + word.substr(at) : word) + c;
                word.clear();
            } else {
                word += c;
            }
        out.pop_back();
        return out;
    }

    /// Words outside of backticks. Short ones are names only where they are given a value.
    std::string outside(const std::string& value) const {
        std::string out, word;
        const std::string all = value + ' ';
        for (size_t i = 0; i < all.size(); ++i) {
            const char c = all[i];
            if (c == ' ' || c == ',' || c == ';' || c == '"' || c == '(' || c == ')') {
                const bool isGiven = all.compare(i, 3, " = ") == 0;
                const std::string* name =
                    (word.size() > 2 || isGiven) && !m_words.contains(word) ? find(word) : nullptr;
                out += (name ? *name : derived(word)) + c;
                word.clear();
            } else {
                word += c;
            }
        }
        out.pop_back();
        return out;
    }

    /// Words of rules, operators and programs, which may read like a node's name.
    inline static const std::set<std::string> fixed{"rule",   "op",   "file",         "program",
                                                    "tactic", "kind", "phase",        "dtype",
                                                    "code",   "dims", "alternatives", "schema"};

    std::unordered_map<std::string, std::string> m_names;
    std::set<std::string> m_words;
};

} // namespace

Result<Report> redacted(const Report& report) {
    json document = json::parse(renderJson(report), nullptr, false);
    if (document.is_discarded())
        return failure("internal.redact", "the report cannot be read back");
    Redactor(report).walk(document);
    auto out = readJson(fileText(document));
    if (out)
        out->model.path = std::filesystem::path(report.model.path).filename().string();
    return out;
}

} // namespace fuselage::app
