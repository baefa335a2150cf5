// SPDX-License-Identifier: Apache-2.0
#include "core/cost/decision.h"
#include "core/kernel/layout_work.h"
#include "core/plan/backend.h"
#include "core/plan/choose_layouts_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace fuselage::planner {

namespace {

/// States that are followed from one item to the next.
constexpr size_t mostStates = 48;
/// Orders of an item's results that are tried in all combinations.
constexpr size_t mostCombinations = 16;

/// Steps in order, with every way in which the values that are still to be read may lie.
class Search {
public:
    Search(LayoutItems& items, size_t values, const OrderLabels* fixed)
        : m_items(items), m_fixed(fixed), m_lastRead(values, 0), m_slot(values, none) {
        const auto& all = items.items();
        for (size_t i = 0; i < all.size(); ++i)
            for (uint32_t input : all[i].inputs)
                m_lastRead[input] = i;
        m_states.push_back({{}, {}, 0, 0});
    }

    PricedOrders run(const Progress& progress) {
        PricedOrders out{OrderLabels(m_slot.size(), 0)};
        for (size_t i = 0; i < m_items.items().size(); ++i) {
            if (progress.cancelled())
                return out;
            advance(i);
        }
        out.seconds = m_states.front().seconds;
        size_t at = 0;
        for (size_t i = m_items.items().size(); i-- > 0;) {
            const Made& made = m_history[i][at];
            const LayoutItem& item = m_items.items()[i];
            for (size_t k = 0; k < item.outputs.size(); ++k)
                out.labels[item.outputs[k]] = static_cast<uint8_t>(made.labels[k]);
            at = made.parent;
        }
        return out;
    }

private:
    static constexpr uint32_t none = 0xffffffff;

    struct State {
        std::string labels; ///< of m_live
        std::string made;   ///< of the item's outputs
        double seconds = 0;
        size_t parent = 0;
    };

    struct Made {
        std::string labels;
        size_t parent = 0;
    };

    bool isOpen(uint32_t value) const { return m_items.ordersOf(value).size() > 1; }

    uint8_t labelIn(const State& state, uint32_t value) const {
        return m_slot[value] == none ? 0 : static_cast<uint8_t>(state.labels[m_slot[value]]);
    }

    /// What the item's outputs may be, of a free item all combinations.
    std::vector<std::string> resultsOf(const LayoutItem& item, const State& state) const {
        if (item.isView) {
            const uint8_t label = labelIn(state, item.inputs[0]);
            if (item.isFree[label]) {
                std::vector<std::string> out{
                    std::string(item.follow[label].begin(), item.follow[label].end())};
                for (uint8_t copy : item.copies)
                    if (copy != item.follow[label][0] && mayBe(item.outputs[0], copy))
                        out.emplace_back(1, static_cast<char>(copy));
                return out;
            }
        }
        size_t combinations = 1;
        for (uint32_t output : item.outputs)
            combinations = std::min(combinations * choices(output).size(), mostCombinations + 1);
        std::vector<std::string> out{std::string()};
        if (combinations <= mostCombinations) {
            for (uint32_t output : item.outputs) {
                std::vector<std::string> longer;
                for (const std::string& made : out)
                    for (uint8_t label : choices(output))
                        longer.push_back(made + static_cast<char>(label));
                out = std::move(longer);
            }
            return out;
        }
        out.clear();
        for (size_t k = 0; k < 2; ++k) {
            std::string alike;
            for (uint32_t output : item.outputs)
                alike +=
                    static_cast<char>(choices(output)[std::min(k, choices(output).size() - 1)]);
            out.push_back(std::move(alike));
        }
        return out;
    }

    /// Whether what is fixed leaves the value this order.
    bool mayBe(uint32_t value, uint8_t label) const {
        return !m_fixed || (*m_fixed)[value] == anyOrder || (*m_fixed)[value] == label;
    }

    std::vector<uint8_t> choices(uint32_t value) const {
        if (!m_items.isFree(value))
            return {0};
        if (m_fixed && (*m_fixed)[value] != anyOrder)
            return {(*m_fixed)[value]};
        std::vector<uint8_t> out(m_items.ordersOf(value).size());
        std::iota(out.begin(), out.end(), uint8_t{0});
        return out;
    }

    void advance(size_t index) {
        const LayoutItem& item = m_items.items()[index];
        std::vector<uint32_t> live;
        for (uint32_t value : m_live)
            if (m_lastRead[value] > index)
                live.push_back(value);
        const size_t kept = live.size();
        std::vector<size_t> added; // outputs that live on
        for (size_t k = 0; k < item.outputs.size(); ++k)
            if (isOpen(item.outputs[k]) && m_lastRead[item.outputs[k]] > index) {
                live.push_back(item.outputs[k]);
                added.push_back(k);
            }
        std::map<std::string, State> next;
        for (size_t s = 0; s < m_states.size(); ++s) {
            const State& state = m_states[s];
            std::string operands;
            for (uint32_t input : item.inputs)
                operands += static_cast<char>(labelIn(state, input));
            std::string labels;
            for (size_t k = 0; k < kept; ++k)
                labels += state.labels[m_slot[live[k]]];
            for (const std::string& made : resultsOf(item, state)) {
                const double seconds = state.seconds + m_items.seconds(index, operands + made);
                std::string all = labels;
                for (size_t k : added)
                    all += made[k];
                auto [place, isNew] = next.try_emplace(all);
                if (isNew || seconds < place->second.seconds)
                    place->second = {all, made, seconds, s};
            }
        }
        for (uint32_t value : m_live)
            m_slot[value] = none;
        m_live = std::move(live);
        for (size_t k = 0; k < m_live.size(); ++k)
            m_slot[m_live[k]] = static_cast<uint32_t>(k);
        keep(next);
    }

    void keep(std::map<std::string, State>& next) {
        m_states.clear();
        for (auto& [labels, state] : next)
            m_states.push_back(std::move(state));
        auto cheaper = [](const State& a, const State& b) { return a.seconds < b.seconds; };
        std::stable_sort(m_states.begin(), m_states.end(), cheaper);
        if (m_states.size() > mostStates)
            m_states.resize(mostStates);
        std::vector<Made>& history = m_history.emplace_back();
        for (State& state : m_states)
            history.push_back({std::move(state.made), state.parent});
    }

    LayoutItems& m_items;
    const OrderLabels* m_fixed;
    std::vector<size_t> m_lastRead; ///< item by value
    std::vector<uint32_t> m_slot;   ///< in a state's labels, by value
    std::vector<uint32_t> m_live;
    std::vector<State> m_states;
    std::vector<std::vector<Made>> m_history; ///< by item and state
};

} // namespace

PricedOrders cheapestOrders(LayoutItems& items, size_t values, const Progress& progress,
                            const OrderLabels* fixed) {
    return Search(items, values, fixed).run(progress);
}

std::vector<std::vector<uint32_t>> layoutGroups(const LayoutItems& items,
                                                const OrderLabels& labels) {
    std::vector<uint32_t> group(labels.size());
    std::iota(group.begin(), group.end(), 0U);
    auto rootOf = [&](uint32_t value) {
        while (group[value] != value)
            value = group[value] = group[group[value]];
        return value;
    };
    auto isMember = [&](uint32_t value) { return items.ordersOf(value).size() > 1; };
    for (const LayoutItem& item : items.items()) {
        std::vector<uint32_t> touched = item.inputs;
        touched.insert(touched.end(), item.outputs.begin(), item.outputs.end());
        std::map<bool, uint32_t> first; // by whether it lies as in the model
        for (uint32_t value : touched) {
            if (!isMember(value))
                continue;
            auto [place, isNew] = first.try_emplace(labels[value] == 0, value);
            if (!isNew)
                group[rootOf(value)] = rootOf(place->second);
        }
    }
    std::map<uint32_t, std::vector<uint32_t>> out;
    for (uint32_t value = 0; value < labels.size(); ++value)
        if (isMember(value) && items.isFree(value))
            out[rootOf(value)].push_back(value);
    std::vector<std::vector<uint32_t>> groups;
    for (auto& [root, members] : out)
        groups.push_back(std::move(members));
    return groups;
}

namespace {

const char* nameOf(const Plan& plan, const LayoutItems& items, uint32_t value, uint8_t label) {
    const Extents& extents = plan.values[value].extents;
    const Extents& strides = items.ordersOf(value)[label];
    if (sameOrder(extents, strides, rowMajorStrides(extents)))
        return "as in the model";
    if (sameOrder(extents, strides, channelsLast(extents)))
        return "channels innermost";
    return items.isOffered(value, label) ? "by rules" : "as an output lies";
}

/// Of an item's operands, inputs then outputs.
std::string labelsOf(const LayoutItem& item, const OrderLabels& labels) {
    std::string out;
    for (const std::vector<uint32_t>* values : {&item.inputs, &item.outputs})
        for (uint32_t value : *values)
            out += static_cast<char>(labels[value]);
    return out;
}

/// Seconds of the items that touch these values.
double affected(LayoutItems& items, const std::vector<uint32_t>& group, const OrderLabels& labels) {
    const std::set<uint32_t> members(group.begin(), group.end());
    double out = 0;
    for (size_t i = 0; i < items.items().size(); ++i) {
        const LayoutItem& item = items.items()[i];
        bool touches = false;
        for (const std::vector<uint32_t>* values : {&item.inputs, &item.outputs})
            for (uint32_t value : *values)
                touches = touches || members.contains(value);
        if (touches)
            out += items.seconds(i, labelsOf(item, labels));
    }
    return out;
}

/// Prices each group as it was chosen beside the other orders that all of it could have; a group
/// that does not win enough goes back to the model's order.
std::vector<LayoutRecord> decideGroups(const Plan& plan, LayoutItems& items, PricedOrders& chosen,
                                       const Progress& progress) {
    std::vector<LayoutRecord> out;
    for (const std::vector<uint32_t>& group : layoutGroups(items, chosen.labels)) {
        if (progress.cancelled())
            break;
        LayoutRecord record;
        for (uint32_t value : group)
            record.values.push_back(plan.values[value].name);
        const bool stays = chosen.labels[group[0]] == 0;
        OrderLabels others = chosen.labels;
        for (uint32_t value : group)
            others[value] = stays ? 1 : 0;
        PricedOrders rejected = cheapestOrders(items, others.size(), progress, &others);
        const double seconds = rejected.seconds;
        record.order = nameOf(plan, items, group[0], chosen.labels[group[0]]);
        record.rejected = nameOf(plan, items, group[0], stays ? 1 : 0);
        record.seconds = chosen.seconds;
        record.secondsRejected = seconds;
        if (!stays && !preferred({seconds, chosen.seconds}, least_share::order,
                                 affected(items, group, rejected.labels))) {
            chosen = std::move(rejected);
            std::swap(record.order, record.rejected);
            std::swap(record.seconds, record.secondsRejected);
        }
        if (record.seconds == record.secondsRejected)
            continue; // nothing depends on it
        const std::string is = fmt::format("{:.4g}", record.seconds * 1e6);
        const std::string other = fmt::format("{:.4g}", record.secondsRejected * 1e6);
        record.reason = {"cost",
                         fmt::format("predicted {} us for the plan with {} {}, {} us {}", is,
                                     group.size() == 1 ? "the value" : "these values", record.order,
                                     other, record.rejected),
                         "",
                         {{"chosen_us", is}, {"rejected_us", other}}};
        out.push_back(std::move(record));
    }
    return out;
}

/// Those whose Transpose could be a view and is not.
std::vector<const LayoutItem*> copiedIn(const LayoutItems& items, const OrderLabels& labels) {
    std::vector<const LayoutItem*> out;
    for (const LayoutItem& item : items.items())
        if (item.mayCopy() && item.isFree[labels[item.inputs[0]]] &&
            !LayoutItems::isView(item, labelsOf(item, labels)))
            out.push_back(&item);
    return out;
}

/// Copies that could be views must win as much as another order; all of them, or none is made.
std::optional<LayoutRecord> decideCopies(const Plan& plan, LayoutItems& items, PricedOrders& chosen,
                                         const Progress& progress) {
    const std::vector<const LayoutItem*> copied = copiedIn(items, chosen.labels);
    if (copied.empty())
        return std::nullopt;
    LayoutRecord record;
    std::vector<uint32_t> made;
    OrderLabels views = chosen.labels;
    for (const LayoutItem* item : copied) {
        made.push_back(item->outputs[0]);
        record.values.push_back(plan.values[item->outputs[0]].name);
        views[item->outputs[0]] = item->follow[chosen.labels[item->inputs[0]]][0];
    }
    PricedOrders rejected = cheapestOrders(items, views.size(), progress, &views);
    record.order = "copied";
    record.rejected = "views";
    record.seconds = chosen.seconds;
    record.secondsRejected = rejected.seconds;
    if (!preferred({rejected.seconds, chosen.seconds}, least_share::order,
                   affected(items, made, rejected.labels))) {
        chosen = std::move(rejected);
        std::swap(record.order, record.rejected);
        std::swap(record.seconds, record.secondsRejected);
    }
    const std::string is = fmt::format("{:.4g}", record.seconds * 1e6);
    const std::string other = fmt::format("{:.4g}", record.secondsRejected * 1e6);
    record.reason = {"cost",
                     fmt::format("predicted {} us for the plan with what Transposes make {}, {} us "
                                 "as {}",
                                 is, record.order, other, record.rejected),
                     "",
                     {{"chosen_us", is}, {"rejected_us", other}}};
    return record;
}

/// Names of values that lie in other orders, of those that both plans have.
std::vector<std::string> differing(const Plan& a, const Plan& b) {
    std::map<std::string, const PlanValue*> others;
    for (const PlanValue& value : b.values)
        if (value.residence != Residence::Host && value.residence != Residence::Constant)
            others.emplace(value.name, &value);
    std::vector<std::string> out;
    for (const PlanValue& value : a.values)
        if (const auto other = others.find(value.name);
            value.residence != Residence::Host && value.residence != Residence::Constant &&
            other != others.end() && other->second->strides.size() == value.extents.size() &&
            !sameOrder(value.extents, value.strides, other->second->strides))
            out.push_back(value.name);
    return out;
}

} // namespace

LayoutRecord beatenSearch(const Plan& taken, const Plan& searched, const char* name) {
    LayoutRecord record{
        differing(taken, searched),        name, "by search", taken.totalPredicted().seconds,
        searched.totalPredicted().seconds, {}};
    const std::string is = fmt::format("{:.4g}", record.seconds * 1e6);
    const std::string was = fmt::format("{:.4g}", record.secondsRejected * 1e6);
    record.reason = {"cost",
                     fmt::format("predicted {} us for the whole plan with these values {}, {} us "
                                 "by search",
                                 is, name, was),
                     "",
                     {{"chosen_us", is}, {"rejected_us", was}}};
    return record;
}

Result<void> chooseLayouts(Plan& plan, std::vector<PlannedNode>& nodes, const PlanOptions& options,
                           const LowerCache& cache, const std::vector<Extents>& offered,
                           const Progress& progress) {
    plan.pricedLayouts = true;
    LayoutItems items(plan, nodes, options, cache, offered);
    PricedOrders chosen = cheapestOrders(items, plan.values.size(), progress);
    plan.layouts = decideGroups(plan, items, chosen, progress);
    if (auto copies = decideCopies(plan, items, chosen, progress))
        plan.layouts.push_back(std::move(*copies));
    if (progress.cancelled())
        return cancelledFailure("planning");
    for (uint32_t i = 0; i < plan.values.size(); ++i)
        if (items.isFree(i))
            plan.values[i].strides = items.ordersOf(i)[chosen.labels[i]];
    for (const LayoutItem& item : items.items())
        if (item.mayCopy() && !LayoutItems::isView(item, labelsOf(item, chosen.labels))) {
            const uint32_t copy = item.outputs[0];
            nodes[item.node].isCopied = true;
            plan.values[copy].strides = items.ordersOf(copy)[chosen.labels[copy]];
        }
    return {};
}

} // namespace fuselage::planner
