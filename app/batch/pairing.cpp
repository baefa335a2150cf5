// SPDX-License-Identifier: Apache-2.0
#include "app/batch/pairing.h"

#include "app/batch/baseline.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace fuselage::batch {

using app::ModelRun;
using app::RunReport;

namespace {

const ModelRun* modelOf(const RunReport& run, const std::string& id) {
    auto at = std::find_if(run.models.begin(), run.models.end(),
                           [&](const ModelRun& model) { return model.id == id; });
    return at == run.models.end() ? nullptr : &*at;
}

std::string idsOf(const RunReport& run) {
    constexpr size_t most = 5;
    std::vector<std::string> ids;
    for (size_t i = 0; i < run.models.size() && i < most; ++i)
        ids.push_back("`" + run.models[i].id + "`");
    return (ids.empty() ? "none" : joined(ids)) +
           (run.models.size() > most ? fmt::format(" and {} more", run.models.size() - most) : "");
}

Failure wrongMap(const std::string& what, const RunReport& a, const RunReport& b) {
    return failure(
        "usage.map", what, "--map",
        fmt::format("write --map A=B once for each pair; A has {}, B has {}", idsOf(a), idsOf(b)));
}

/// The row of a model of A; none: it is compared.
std::optional<app::GateRow> lostRow(const ModelRun& before, const ModelRun* now, bool byBaseline) {
    using State = ModelRun::State;
    app::GateRow row;
    row.id = "lost";
    row.model = now == nullptr ? before.id : now->id;
    if (now == nullptr || !now->ran()) {
        row.metric = "state";
        row.base = row.limit = nameOf(State::Done);
        row.now = now == nullptr ? "missing" : nameOf(now->state);
        row.note = now == nullptr ? "A has it and B has not" : now->message;
        return row;
    }
    if (!byBaseline || areOfOneKind(before, *now))
        return {};
    row.metric = "kind";
    row.base = kindOf(*before.report);
    row.now = kindOf(*now->report);
    row.limit = "the same";
    row.note = "no gate compares the two";
    return row;
}

} // namespace

Result<Pairs> pairModels(const RunReport& a, const RunReport& b,
                         const std::vector<std::string>& mapped) {
    Pairs out;
    std::set<const ModelRun*> taken;
    for (const std::string& text : mapped) {
        const size_t equals = text.find('=');
        if (equals == std::string::npos)
            return wrongMap("`" + text + "` is not A=B", a, b);
        const std::string left = text.substr(0, equals), right = text.substr(equals + 1);
        const ModelRun* before = modelOf(a, left);
        if (before == nullptr)
            return wrongMap("A has no model `" + left + "`", a, b);
        if (modelOf(b, right) == nullptr)
            return wrongMap("B has no model `" + right + "`", a, b);
        if (!taken.insert(before).second || !out.emplace(right, before).second)
            return wrongMap("`" + text + "` names a model that another pair has", a, b);
    }
    for (const ModelRun& model : b.models)
        if (const ModelRun* before = modelOf(a, model.id);
            before != nullptr && !taken.contains(before) && !out.contains(model.id))
            out.emplace(model.id, before);
    if (a.models.size() == 1 && b.models.size() == 1)
        out.emplace(b.models[0].id, &a.models[0]);
    return out;
}

bool areOfOneKind(const ModelRun& a, const ModelRun& b) {
    return a.ran() && b.ran() && kindOf(*a.report) == kindOf(*b.report);
}

Result<void> requirePairs(const RunReport& a, const RunReport& b, const Pairs& pairs,
                          bool byBaseline) {
    std::string kinds; // of the first two that are not of one
    bool any = false, alike = false;
    for (const ModelRun& model : b.models) {
        auto at = pairs.find(model.id);
        if (at == pairs.end() || !at->second->ran() || !model.ran())
            continue;
        any = true;
        alike = alike || areOfOneKind(*at->second, model);
        if (kinds.empty() && !areOfOneKind(*at->second, model))
            kinds = fmt::format("`{}` is of {} in A and of {} in B", model.id,
                                kindOf(*at->second->report), kindOf(*model.report));
    }
    if (!any && !pairs.empty())
        return failure("usage.compare", "nothing was compared: no model ran on both sides", "",
                       "run again what failed; its folder says why");
    if (!any)
        return failure("usage.compare",
                       fmt::format("nothing was compared: A has {}, B has {}", idsOf(a), idsOf(b)),
                       "", "say which belong together with --map A=B, once for each pair");
    if (byBaseline && !alike)
        return failure("usage.compare", "nothing was compared: " + kinds, "",
                       "make both with the same --device, --backend, --precision and --dim");
    return {};
}

std::vector<std::string> reasonsOfItself(const RunReport& b) {
    std::vector<std::string> out;
    for (const std::string& shard : app::missingShards(b))
        out.push_back("partial:" + shard);
    for (const ModelRun& model : b.models)
        if (model.report && !model.report->agreement.empty() && !model.report->verified())
            out.push_back("verify:" + model.id);
    return out;
}

void addLost(const RunReport& a, const Pairs& pairs, bool byBaseline, bool fail, RunReport& b) {
    for (const ModelRun& before : a.models) {
        if (!before.ran()) // nothing to lose
            continue;
        auto pair = std::find_if(pairs.begin(), pairs.end(),
                                 [&](const auto& each) { return each.second == &before; });
        if (pair == pairs.end() && b.shards > 1) // it may be in another part of B's run
            continue;
        auto row =
            lostRow(before, pair == pairs.end() ? nullptr : modelOf(b, pair->first), byBaseline);
        if (!row)
            continue;
        if (const auto other = pairs.find(before.id); pair == pairs.end() && other != pairs.end())
            row->note =
                fmt::format("B's model of this name is compared with `{}` of A", other->second->id);
        row->verdict = fail ? app::GateRow::Verdict::Fail : app::GateRow::Verdict::Warn;
        if (fail)
            b.reasons.push_back("lost:" + row->model);
        b.gates.push_back(std::move(*row));
    }
    settle(b);
}

} // namespace fuselage::batch
