// SPDX-License-Identifier: Apache-2.0
#include "app/batch/gates/unmatched.h"

#include "core/support/near_word.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::batch {

namespace {

/// One of the models, or a pattern that some of them fit.
bool isAmong(const std::vector<std::string>& names, const std::string& pattern) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return fitsId(pattern, name); });
}

/// "did you mean `resnet50`?"; with no near one what there is, where that is short.
std::string hint(const std::string& name, const std::vector<std::string>& known, bool listAll) {
    constexpr size_t most = 8;
    std::string others;
    if (listAll && !known.empty() && known.size() <= most)
        others =
            "there is " + joined(known, [](const std::string& each) { return "`" + each + "`"; });
    const std::string text = didYouMean(closest(name, known), others);
    return text.empty() ? text : "; " + text;
}

/// Names that were told, and how many gates have them.
class Rows {
public:
    void add(const Gate& gate, const std::string& name, const std::string& model,
             const std::string& note) {
        auto at = std::find(m_names.begin(), m_names.end(), name);
        if (at != m_names.end()) {
            ++m_counts[static_cast<size_t>(at - m_names.begin())];
            return;
        }
        m_names.push_back(name);
        m_counts.push_back(1);
        app::GateRow& row = m_rows.emplace_back();
        row.id = gate.id;
        row.model = model;
        row.metric = gate.metric;
        row.limit = limitText(gate);
        row.verdict = app::GateRow::Verdict::Warn;
        row.note = note;
    }

    std::vector<app::GateRow> take() {
        for (size_t i = 0; i < m_rows.size(); ++i)
            if (m_counts[i] > 1)
                m_rows[i].note += fmt::format("; {} gates ask about it", m_counts[i]);
        return std::move(m_rows);
    }

private:
    std::vector<app::GateRow> m_rows;
    std::vector<std::string> m_names;
    std::vector<size_t> m_counts;
};

} // namespace

std::string ruleOf(const std::string& metric) {
    const size_t dot = metric.find('.');
    return dot == std::string::npos ? std::string() : metric.substr(dot + 1);
}

std::vector<app::GateRow> unmatched(const std::vector<Gate>& gates, const Names& names) {
    Rows models, rules;
    for (const Gate& gate : gates) {
        for (const std::string& model : gate.models)
            if (names.modelsAreAll && !isAmong(names.models, model))
                models.add(gate, model, model,
                           "no model here is called so" + hint(model, names.models, true));
        if (const std::string rule = ruleOf(gate.metric);
            !rule.empty() && // no pattern: a metric counts one rule
            std::find(names.rules.begin(), names.rules.end(), rule) == names.rules.end())
            rules.add(gate, rule, "",
                      fmt::format("no rule{} is called `{}`{}",
                                  names.rulesAreAll ? "" : " of the library, and none that fired,",
                                  rule, hint(rule, names.rules, false)));
    }
    std::vector<app::GateRow> out = models.take();
    for (app::GateRow& row : rules.take())
        out.push_back(std::move(row));
    return out;
}

void addUnmatched(std::vector<app::GateRow> rows, bool fail, app::RunReport& run) {
    for (app::GateRow& row : rows) {
        if (fail) {
            row.verdict = app::GateRow::Verdict::Fail;
            run.reasons.push_back("unknown:" + row.id);
        }
        run.gates.push_back(std::move(row));
    }
    settle(run);
}

} // namespace fuselage::batch
