// SPDX-License-Identifier: Apache-2.0
#include "core/cost/time_model.h"
#include "core/plan/constant_steps.h"
#include "core/plan/layout_items_internal.h"
#include "core/plan/reuse_distance.h"

#include <algorithm>
#include <map>
#include <set>

namespace fuselage::planner {

namespace {

constexpr uint32_t none = 0xffffffff;

} // namespace

LayoutItems::LayoutItems(const Plan& plan, const std::vector<PlannedNode>& nodes,
                         const PlanOptions& options, const LowerCache& cache,
                         const std::vector<Extents>& offered)
    : m_plan(plan), m_options(options),
      m_kinds(options.stridedViews ? ViewKinds::Strided : ViewKinds::Contiguous),
      m_index(plan.graph->valueBound(), none), m_orders(plan.values.size()),
      m_offered(plan.values.size(), 0), m_free(plan.values.size(), false),
      m_isFixed(plan.values.size(), false), m_wholeOf(plan.values.size(), none) {
    const std::vector<bool> fixed = fixedValues(*plan.graph, options);
    for (uint32_t i = 0; i < plan.values.size(); ++i) {
        m_index[plan.values[i].value.index()] = i;
        m_isFixed[i] = fixed[plan.values[i].value.index()];
        m_orders[i] = {plan.values[i].strides};
    }
    for (const Step& step : plan.steps)
        for (uint32_t output : step.outputs) {
            const PlanValue& value = plan.values[output];
            m_wholeOf[output] = output;
            m_free[output] = value.residence == Residence::Arena && !m_isFixed[output];
            if (m_free[output] && value.extents.size() >= 3)
                (void)labelOf(output, channelsLast(value.extents), true);
            const size_t known = m_orders[output].size();
            if (m_free[output] && output < offered.size())
                (void)labelOf(output, offered[output], true);
            if (m_orders[output].size() > known)
                m_offered[output] = static_cast<uint8_t>(known);
        }
    offerOutputOrders();
    size_t nextStep = 0;
    for (size_t i = 0; i < nodes.size(); ++i)
        if (nodes[i].program)
            addStep(plan.steps[nextStep++]);
        else
            addView(nodes, i);
    findConcats();
    findTraffic();
    findAlike(cache);
    m_prices.resize(m_items.size());
}

/// The order's index; a new one where it may be added, else the model's.
uint8_t LayoutItems::labelOf(uint32_t value, const Extents& strides, bool mayAdd) {
    constexpr size_t most = 6;
    std::vector<Extents>& orders = m_orders[value];
    for (size_t i = 0; i < orders.size(); ++i)
        if (sameOrder(m_plan.values[value].extents, orders[i], strides))
            return static_cast<uint8_t>(i);
    if (!mayAdd || orders.size() >= most)
        return 0;
    orders.push_back(strides);
    return static_cast<uint8_t>(orders.size() - 1);
}

/// What makes the operand of views that end in an output of the graph may write as the output lies.
void LayoutItems::offerOutputOrders() {
    const Graph& graph = *m_plan.graph;
    for (uint32_t output : m_plan.outputs) {
        uint32_t at = output;
        Extents strides = m_plan.values[at].strides;
        while (m_wholeOf[at] == none) {
            const NodeId maker = graph.producer(m_plan.values[at].value);
            if (!maker.valid() || graph.node(maker).outputs.size() != 1)
                break;
            const uint32_t operand = m_index[graph.node(maker).inputs[0].index()];
            auto before = stridesBefore(graph, graph.node(maker), m_plan.values[operand].extents,
                                        m_plan.values[at].extents, strides, m_kinds);
            if (!before)
                break;
            at = operand;
            strides = std::move(*before);
            if (m_free[at])
                (void)labelOf(at, strides, true);
        }
    }
}

void LayoutItems::addStep(const Step& step) {
    LayoutItem item;
    item.step = &step;
    item.inputs = step.inputs;
    item.outputs = step.outputs;
    item.follows = followsOrder(step.program, m_options.backend);
    m_items.push_back(std::move(item));
}

/// An output of the graph in the place of what a step makes.
bool LayoutItems::endsInOutput(const LayoutItem& view, const Extents& derived) const {
    const PlanValue& result = m_plan.values[view.outputs[0]];
    const uint32_t whole = m_wholeOf[view.inputs[0]];
    return view.outputs.size() == 1 && whole != none && m_free[whole] &&
           m_plan.values[whole].bytes == result.bytes &&
           m_plan.values[whole].dtype == result.dtype &&
           sameOrder(result.extents, derived, result.strides);
}

void LayoutItems::addView(const std::vector<PlannedNode>& nodes, size_t at) {
    const PlannedNode& planned = nodes[at];
    const Node& node = m_plan.graph->node(planned.node);
    LayoutItem item;
    item.isView = true;
    item.node = at;
    item.inputs = {m_index[node.inputs[0].index()]};
    std::vector<uint32_t> slots;
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot)
        if (node.outputs[slot].valid()) {
            slots.push_back(slot);
            item.outputs.push_back(m_index[node.outputs[slot].index()]);
        }
    const PlanValue& operand = m_plan.values[item.inputs[0]];
    const bool isHost = operand.residence == Residence::Host;
    bool needsCopy = false;
    for (const Extents& order : std::vector<Extents>(m_orders[item.inputs[0]])) {
        std::vector<uint8_t> follow;
        bool all = !isHost;
        for (size_t i = 0; i < slots.size() && all; ++i) {
            const PlanValue& result = m_plan.values[item.outputs[i]];
            const auto view =
                viewOf(*m_plan.graph, node, slots[i], {0, operand.extents, order}, m_kinds);
            all = view &&
                  (hasTrait(node.op, Trait::View) ||
                   !isRegrouped(*m_plan.graph, node.outputs[slots[i]], *view)) &&
                  (result.residence == Residence::Arena ||
                   (result.residence == Residence::Output && view->offset == 0 &&
                    endsInOutput(item, view->strides)));
            if (all)
                follow.push_back(
                    labelOf(item.outputs[i], view->strides, result.residence == Residence::Arena));
            if (all && view->offset == 0 && operand.bytes == result.bytes)
                m_wholeOf[item.outputs[i]] = m_wholeOf[item.inputs[0]];
        }
        needsCopy = needsCopy || !all;
        item.isFree.push_back(all);
        item.follow.push_back(std::move(follow));
    }
    // Those that a kernel reads by turns cost it more than a copy, sometimes.
    if (node.op == Op::Transpose && !isHost && !m_isFixed[item.outputs[0]] &&
        m_plan.values[item.outputs[0]].residence == Residence::Arena)
        item.copies = {0};
    if (needsCopy || item.mayCopy()) {
        for (uint32_t output : item.outputs) {
            const PlanValue& value = m_plan.values[output];
            const bool isChosen = value.residence == Residence::Arena && !m_isFixed[output];
            m_free[output] = needsCopy && isChosen;
            if (isChosen && value.extents.size() >= 3) {
                const uint8_t last = labelOf(output, channelsLast(value.extents), true);
                if (item.mayCopy() && last != 0)
                    item.copies.push_back(last);
            }
        }
        LowerResult lowered = lower(planned.request);
        auto* program = std::get_if<KernelProgram>(&lowered);
        m_copies.push_back(std::make_unique<Step>());
        m_copies.back()->program = program ? std::move(*program) : libraryProgram(planned.request);
        item.step = m_copies.back().get();
    }
    // A copy reads what its request reads.
    if (item.step && item.step->program.inputs.size() != item.inputs.size()) {
        item.inputs.clear();
        for (ValueId id : planned.request.operands)
            item.inputs.push_back(m_index[id.index()]);
    }
    if (item.step) {
        m_copies.back()->inputs = item.inputs;
        m_copies.back()->outputs = item.outputs;
    }
    m_items.push_back(std::move(item));
}

/// As aliasConcats() will find them, all orders being equal.
void LayoutItems::findConcats() {
    if (!m_options.stridedViews)
        return;
    std::set<uint32_t> taken; // read by views, or parts or results of a Concat before
    std::map<uint32_t, int> makers;
    for (const LayoutItem& item : m_items)
        for (uint32_t value : item.isView ? item.inputs : item.outputs)
            if (item.isView)
                taken.insert(value);
            else
                ++makers[value];
    for (LayoutItem& item : m_items) {
        const Copy* concat = item.isView ? nullptr : asConcat(item.step->program);
        if (!concat)
            continue;
        std::map<uint32_t, int> parts;
        for (const Copy::Piece& piece : concat->pieces)
            ++parts[item.inputs[piece.read->operand]];
        item.isInPlace = std::all_of(parts.begin(), parts.end(), [&](const auto& part) {
            return part.second == 1 && makers[part.first] == 1 && !taken.contains(part.first) &&
                   !m_isFixed[part.first] &&
                   m_plan.values[part.first].residence == Residence::Arena;
        });
        if (!item.isInPlace)
            continue;
        for (const auto& part : parts)
            taken.insert(part.first);
        taken.insert(item.outputs[0]);
    }
}

/// A backend computes it while preparing.
bool LayoutItems::isOnce(const LayoutItem& item) const {
    return std::all_of(item.outputs.begin(), item.outputs.end(), [&](uint32_t output) {
        return m_isFixed[output] && m_plan.values[output].residence == Residence::Arena;
    });
}

/// Bytes do not depend on orders.
void LayoutItems::findTraffic() {
    std::vector<int64_t> producedAt(m_plan.values.size(), -1);
    ReuseDistances reuse(*m_options.profile);
    for (const LayoutItem& item : m_items)
        reuse.add(item.isView || isOnce(item) ? 0 : logicalTraffic(item.step->program).logical());
    for (size_t i = 0; i < m_items.size(); ++i) {
        LayoutItem& item = m_items[i];
        if (item.isView)
            for (uint32_t output : item.outputs)
                producedAt[output] = producedAt[item.inputs[0]];
        else
            for (uint32_t output : item.outputs)
                producedAt[output] = isOnce(item) ? -1 : static_cast<int64_t>(i);
        if (!item.step)
            continue;
        std::vector<int64_t> distances;
        for (uint32_t input : item.inputs)
            distances.push_back(reuse.of(i, producedAt[input], m_plan.values[input].bytes));
        item.traffic = predictTraffic(item.step->program, *m_options.profile, {distances});
    }
}

/// Blocks repeat: one of them is priced.
void LayoutItems::findAlike(const LowerCache& cache) {
    std::unordered_map<std::string, size_t> first;
    std::string key;
    auto add = [&](int64_t number) {
        key.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    m_alike.resize(m_items.size());
    for (size_t i = 0; i < m_items.size(); ++i) {
        const LayoutItem& item = m_items[i];
        m_alike[i] = i;
        const uint32_t number = item.isView ? 0 : cache.alike(item.step->program);
        if (number == 0)
            continue;
        key.clear();
        add(number);
        for (int64_t bytes : {item.traffic.logicalRead, item.traffic.logicalWritten,
                              item.traffic.l2, item.traffic.dram})
            add(bytes);
        add(item.follows);
        add(item.isInPlace);
        for (const std::vector<uint32_t>* values : {&item.inputs, &item.outputs})
            for (uint32_t value : *values) {
                add(static_cast<int64_t>(m_plan.values[value].residence));
                add(m_isFixed[value]);
                add(static_cast<int64_t>(m_orders[value].size()));
                for (const Extents& strides : m_orders[value])
                    for (int64_t stride : strides)
                        add(stride);
            }
        m_alike[i] = first.try_emplace(key, i).first->second;
    }
}

bool LayoutItems::isView(const LayoutItem& item, const std::string& labels) {
    const auto operand = static_cast<uint8_t>(labels[0]);
    if (!item.isView || !item.isFree[operand])
        return false;
    if (!item.mayCopy())
        return true;
    const std::vector<uint8_t>& follow = item.follow[operand];
    return std::equal(follow.begin(), follow.end(), labels.end() - std::ssize(follow),
                      [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
}

double LayoutItems::seconds(size_t index, const std::string& labels) {
    index = m_alike[index];
    auto [known, isNew] = m_prices[index].try_emplace(labels, 0.0);
    if (!isNew)
        return known->second;
    const LayoutItem& item = m_items[index];
    if (isOnce(item) || isView(item, labels))
        return 0;
    OperandStrides order;
    order.follows = item.follows;
    size_t at = 0;
    auto strides = [&](uint32_t value) {
        const auto label = static_cast<uint8_t>(labels[at++]);
        return m_isFixed[value] || m_plan.values[value].residence == Residence::Host
                   ? nullptr
                   : &m_orders[value][label];
    };
    for (uint32_t input : item.inputs)
        order.inputs.push_back(strides(input));
    for (uint32_t output : item.outputs)
        order.outputs.push_back(strides(output));
    if (item.isInPlace) {
        const PlanValue& whole = m_plan.values[item.outputs[0]];
        bool lieAlike = true;
        for (size_t i = 0; i < item.inputs.size(); ++i)
            lieAlike = lieAlike && order.inputs[i] &&
                       nestAlike(whole.extents, *order.outputs[0], *order.inputs[i]);
        if (lieAlike)
            return 0;
    }
    known->second = predictLaid(m_plan, *item.step, order, item.traffic,
                                {*m_options.profile, m_options.backend})
                        .seconds;
    return known->second;
}

} // namespace fuselage::planner
