// SPDX-License-Identifier: Apache-2.0
// toml++, whose exceptions end here.
#include "app/batch/gates/gate.h"

#include "app/batch/gates/metric.h"
#include "app/batch/toml_problem_internal.h"
#include "core/support/near_word.h"
#include "core/support/text.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <fnmatch.h>

namespace fuselage::batch {

namespace {

/// Where in which file, for errors.
struct Place {
    std::string file;

    Failure wrong(const toml::node& node, const std::string& what, std::string fix = {}) const {
        return failure("usage.gate", what, fmt::format("{}:{}", file, node.source().begin.line),
                       std::move(fix));
    }
};

Result<Limit> limitOf(const toml::node& node, const std::string& key, const std::string& metric,
                      const Place& place) {
    if (auto number = node.value<double>(); number && node.is_number()) {
        if (std::isfinite(*number) && *number >= 0)
            return limitFromNumber(*number, metric);
        return place.wrong(node,
                           fmt::format("`{}` is {}, and a limit is a number from 0 on", key,
                                       std::isnan(*number) ? "no number"
                                       : *number < 0       ? "below 0"
                                                           : "infinite"),
                           "write how much is allowed, or leave the key out where all is");
    }
    auto text = node.value<std::string>();
    if (!text)
        return place.wrong(node, fmt::format("`{}` is no limit", key),
                           "write a number, \"5%\", or with a unit \"20us\"");
    auto limit = limitFromText(*text, metric);
    if (!limit)
        return place.wrong(node, fmt::format("`{}`: {}", key, limit.error().message),
                           limit.error().fix);
    return limit;
}

Result<void> readNumber(const toml::node& node, const std::string& key, const std::string& metric,
                        const Place& place, std::optional<double>& out) {
    auto limit = limitOf(node, key, metric, place);
    if (!limit)
        return failure(limit.error());
    if (limit->relative)
        return place.wrong(node, fmt::format("`{}` is absolute and cannot be in %", key),
                           "write the amount; a part of the baseline's is for max_increase and "
                           "max_decrease");
    out = limit->value;
    return {};
}

Result<void> readWord(const toml::node& node, const std::string& key, const Place& place,
                      std::initializer_list<const char*> words, size_t& out) {
    auto text = node.value<std::string>();
    size_t at = 0;
    for (const char* word : words) {
        if (text && *text == word) {
            out = at;
            return {};
        }
        ++at;
    }
    return place.wrong(node, fmt::format("`{}` is not known here", key),
                       "one of: " + joined(std::vector<std::string>(words.begin(), words.end())));
}

/// What was meant by a name that no metric has, or all of them.
std::string whichMetric(const std::string& name) {
    const std::vector<std::string> names = metricNames();
    return didYouMean(closest(name, names), "one of: " + joined(names));
}

Result<void> readMetric(const toml::node& node, const Place& place, Gate& gate) {
    gate.metric = node.value_or(std::string());
    if (isMetric(gate.metric))
        return {};
    return place.wrong(node, fmt::format("no metric `{}`", gate.metric), whichMetric(gate.metric));
}

Result<void> readModels(const toml::node& node, const Place& place, Gate& gate) {
    constexpr const char* fix =
        "write e.g. models = [\"resnet50\"], or leave it out for all models";
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty())
        return place.wrong(node, "`models` is a list of ids", fix);
    for (const toml::node& item : *list) {
        auto id = item.value<std::string>();
        if (!id || id->empty())
            return place.wrong(item, "`models` holds what is no id", fix);
        gate.models.push_back(std::move(*id));
    }
    return {};
}

/// Every key but the metric, which says what unit a number has.
Result<void> readKey(const std::string& key, const toml::node& node, const Place& place,
                     Gate& gate) {
    if (key == "max_increase" || key == "max_decrease") {
        auto limit = limitOf(node, key, gate.metric, place);
        if (!limit)
            return failure(limit.error());
        (key == "max_increase" ? gate.maxIncrease : gate.maxDecrease) = *limit;
        return {};
    }
    if (key == "min" || key == "max")
        return readNumber(node, key, gate.metric, place, key == "min" ? gate.min : gate.max);
    if (key == "min_abs") {
        std::optional<double> least;
        auto read = readNumber(node, key, gate.metric, place, least);
        gate.minAbsolute = least.value_or(0);
        return read;
    }
    if (key == "confirm") {
        constexpr int most = 20;
        auto number = node.value<int64_t>();
        if (!number || *number < 0 || *number > most)
            return place.wrong(node, fmt::format("`confirm` is a number from 0 to {}", most));
        gate.confirm = static_cast<int>(*number);
        return {};
    }
    size_t word = 0;
    if (key == "level") {
        auto read = readWord(node, key, place, {"fail", "warn"}, word);
        gate.warnOnly = word == 1;
        return read;
    }
    if (key == "on_ambiguous") {
        auto read = readWord(node, key, place, {"warn", "fail"}, word);
        gate.onAmbiguous = static_cast<Gate::OnAmbiguous>(word);
        return read;
    }
    if (key == "requires") // measured metrics are never compared across devices
        return readWord(node, key, place, {"same-device"}, word);
    if (key == "models")
        return readModels(node, place, gate);
    static const std::vector<std::string> keys{
        "metric",  "max_increase", "max_decrease", "min",      "max",   "min_abs",
        "confirm", "level",        "on_ambiguous", "requires", "models"};
    return place.wrong(node, fmt::format("a gate has no `{}`", key),
                       didYouMean(closest(key, keys), "one of: " + joined(keys)));
}

/// A gate whose keys are fine one by one may say nothing, or the opposite of what is meant.
Result<void> checkWhole(const toml::table& table, const Place& place, const Gate& gate) {
    const bool limited = gate.maxIncrease || gate.maxDecrease || gate.min || gate.max;
    if (limited && isHash(gate.metric))
        return place.wrong(table,
                           fmt::format("`{}` takes no limit: it is unchanged or not", gate.metric),
                           fmt::format("write {} = {{ metric = \"{}\" }}", gate.id, gate.metric));
    if (!limited && !isHash(gate.metric))
        return place.wrong(table, fmt::format("gate `{}` has no limit", gate.id),
                           "give max_increase, max_decrease, min or max");
    const bool mayFall =
        gate.maxDecrease && !(gate.maxDecrease->relative && gate.maxDecrease->value >= 1);
    const bool canFail = gate.maxIncrease || mayFall || gate.max || gate.min.value_or(0) > 0;
    if (!canFail && !isHash(gate.metric))
        return place.wrong(
            table,
            fmt::format("gate `{}` holds always: `{}` is never below 0", gate.id, gate.metric),
            "give max_increase or max, or another limit");
    if (gate.min && gate.max && *gate.min > *gate.max)
        return place.wrong(table,
                           fmt::format("`min` of gate `{}` is above its `max`: no number lies "
                                       "between {} and {}",
                                       gate.id, text({*gate.min}, gate.metric),
                                       text({*gate.max}, gate.metric)),
                           "exchange the two, or leave one out");
    // A measured change is judged in one direction: a limit on the other one would hold this one.
    const bool isJudgedAsTime = isTimed(gate.metric) && gate.metric != "slower_matches";
    const bool isBetterHigher = gate.metric == "speed_up";
    if (isJudgedAsTime && (isBetterHigher ? gate.maxIncrease : gate.maxDecrease))
        return place.wrong(
            table,
            fmt::format("gate `{}` limits by how much `{}` may get better", gate.id, gate.metric),
            isBetterHigher ? "write max_decrease: more is better here"
                           : "write max_increase: less is better here");
    return {};
}

Result<Gate> readGate(const std::string& id, const toml::node& node, const Place& place) {
    const toml::table* table = node.as_table();
    if (table == nullptr)
        return place.wrong(node, fmt::format("gate `{}` is no table", id),
                           "write e.g. " + id + " = { metric = \"launches\", max_increase = 0 }");
    Gate gate;
    gate.id = id;
    const toml::node* metric = table->get("metric");
    if (metric == nullptr)
        return place.wrong(node, fmt::format("gate `{}` has no metric", id), whichMetric({}));
    if (auto read = readMetric(*metric, place, gate); !read)
        return failure(read.error());
    for (const auto& [key, value] : *table)
        if (key.str() != "metric")
            if (auto read = readKey(std::string(key.str()), value, place, gate); !read)
                return failure(read.error());
    if (auto fine = checkWhole(*table, place, gate); !fine)
        return failure(fine.error());
    return gate;
}

/// Entries of a table by their place in the file; toml++ sorts them by name.
std::vector<std::pair<std::string, const toml::node*>> inOrder(const toml::table& table) {
    std::vector<std::pair<std::string, const toml::node*>> out;
    for (const auto& [key, value] : table)
        out.emplace_back(std::string(key.str()), &value);
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
        const auto &x = a.second->source().begin, &y = b.second->source().begin;
        return std::pair(x.line, x.column) < std::pair(y.line, y.column);
    });
    return out;
}

template <typename Read>
Result<std::vector<Gate>> parsed(const std::string& text, const std::string& file, Read read) {
    try {
        return read(toml::parse(text));
    } catch (const toml::parse_error& error) {
        return failure("usage.gate", tomlProblem(error.description()),
                       fmt::format("{}:{}", file, error.source().begin.line),
                       "write e.g. [gate] and then launches = { metric = \"launches\", max = 55 }");
    }
}

} // namespace

bool fitsId(const std::string& pattern, const std::string& id) {
    return ::fnmatch(pattern.c_str(), id.c_str(), 0) == 0;
}

bool comparesWithBaseline(const Gate& gate) {
    return gate.maxIncrease || gate.maxDecrease || isHash(gate.metric);
}

std::string limitText(const Gate& gate) {
    if (isHash(gate.metric))
        return "unchanged";
    std::string out;
    auto add = [&](const char* sign, const Limit& limit) {
        out += (out.empty() ? "" : ", ") + std::string(sign) + text(limit, gate.metric);
    };
    if (gate.maxIncrease)
        add("+", *gate.maxIncrease);
    if (gate.maxDecrease)
        add("-", *gate.maxDecrease);
    const bool exact = gate.min && gate.max && *gate.min == *gate.max;
    if (gate.min)
        add(exact ? "= " : ">= ", {*gate.min});
    if (gate.max && !exact)
        add("<= ", {*gate.max});
    return out;
}

std::vector<Gate> regressionGates() {
    constexpr std::pair<const char*, Limit> limits[] = {
        {"launches", {0, false}}, {"logical_bytes", {0, false}}, {"e2e_us", {0.05, true}}};
    std::vector<Gate> out;
    for (const auto& [metric, limit] : limits) {
        Gate& gate = out.emplace_back();
        gate.id = gate.metric = metric;
        gate.maxIncrease = limit;
    }
    return out;
}

Result<std::vector<Gate>> parseGates(const std::string& text, const std::string& file) {
    const Place place{file};
    return parsed(text, file, [&](const toml::table& root) -> Result<std::vector<Gate>> {
        std::vector<Gate> out;
        for (const auto& [key, value] : root)
            if (key.str() != "gate")
                return place.wrong(value, fmt::format("`{}` is not known here", key.str()),
                                   "gates stand under [gate]");
        constexpr const char* fix =
            "write e.g. [gate] and then launches = { metric = \"launches\", max = 55 }";
        const toml::node* node = root.get("gate");
        if (node == nullptr)
            return failure("usage.gate", "there is no table [gate]", file, fix);
        const toml::table* gates = node->as_table();
        if (gates == nullptr || gates->empty())
            return place.wrong(*node, "[gate] holds no gate, so that nothing could fail", fix);
        for (const auto& [id, entry] : inOrder(*gates)) {
            auto gate = readGate(id, *entry, place);
            if (!gate)
                return failure(gate.error());
            out.push_back(std::move(*gate));
        }
        return out;
    });
}

Result<std::vector<Gate>> parseExpectations(const std::string& text, const std::string& file) {
    const Place place{file};
    return parsed(text, file, [&](const toml::table& root) -> Result<std::vector<Gate>> {
        std::vector<Gate> out;
        if (root.empty())
            return failure("usage.gate", "there is no table of a model, so that nothing could fail",
                           file, "write e.g. [resnet50] and then ConvBNReLU = 32");
        for (const auto& [model, node] : inOrder(root)) {
            const toml::table* table = node->as_table();
            if (table == nullptr)
                return place.wrong(*node, fmt::format("`{}` is no table of rules", model),
                                   "write [" + model + "] and then RULE = NUMBER");
            if (table->empty())
                return place.wrong(*node, fmt::format("`{}` holds no count of a rule", model),
                                   "write below it RULE = NUMBER, or take it out");
            for (const auto& [rule, count] : inOrder(*table)) {
                auto number = count->value<int64_t>();
                if (!number || !count->is_integer() || *number < 0)
                    return place.wrong(*count, fmt::format("`{}` is no count", rule),
                                       "write a whole number from 0 on");
                Gate gate;
                gate.id = "expect." + rule;
                gate.metric = "matches." + rule;
                gate.min = gate.max = static_cast<double>(*number);
                gate.models = {model};
                out.push_back(std::move(gate));
            }
        }
        return out;
    });
}

Result<Gate> parseCondition(const std::string& text) {
    const auto wrong = [&](const std::string& what, std::string fix) {
        return failure("usage.gate", what, text, std::move(fix));
    };
    const size_t sign = text.find_first_of("<>");
    if (sign == std::string::npos)
        return wrong("this is no condition", "write e.g. `slower_matches > 0`");
    const auto trimmed = [](std::string_view part) {
        const size_t first = part.find_first_not_of(' ');
        return first == std::string_view::npos
                   ? std::string()
                   : std::string(part.substr(first, part.find_last_not_of(' ') - first + 1));
    };
    Gate gate;
    gate.id = text;
    gate.isCondition = true;
    gate.metric = trimmed(std::string_view(text).substr(0, sign));
    if (!isMetric(gate.metric) || isHash(gate.metric))
        return wrong(fmt::format("no metric `{}` that has a number", gate.metric),
                     whichMetric(gate.metric));
    const auto limit = limitFromText(trimmed(std::string_view(text).substr(sign + 1)), gate.metric);
    if (!limit)
        return wrong(limit.error().message, limit.error().fix);
    if (limit->relative)
        return wrong("the limit is in %, and there is nothing that it is a part of",
                     "write e.g. `slower_matches > 0` or `e2e_us > 20ms`");
    (text[sign] == '>' ? gate.max : gate.min) = limit->value;
    return gate;
}

} // namespace fuselage::batch
