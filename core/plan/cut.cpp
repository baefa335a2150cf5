// SPDX-License-Identifier: Apache-2.0
#include "core/plan/cut.h"

#include "core/cost/time_model.h"
#include "core/graph/subgraph.h"
#include "core/ops/op_table.h"
#include "core/plan/backend.h"
#include "core/plan/constant_steps.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace fuselage::planner {

namespace {

/// Bodies beyond this are cut into short parts only, so that planning stays linear.
constexpr size_t maxExactBody = 96, longestPartBeyond = 12;
/// Bodies up to this have few enough partitions for all of them.
constexpr size_t maxPartitioned = 7;
/// Repeated work below this is what loads and stores that a kernel saves are worth.
constexpr double repeatedShare = 0.1;

int64_t bytesOf(const Type& type) {
    const auto count = type.elementCount();
    return count ? *count * static_cast<int64_t>(sizeOf(type.dtype)) : 0;
}

/// Lane instructions, with the multiply-adds of products.
double instructionsOf(const KernelProgram& program) {
    const Work work = workOf(program);
    return static_cast<double>(work.issue) + static_cast<double>(work.matrixFlops) / 2;
}

} // namespace

BodyCutter::BodyCutter(const LowerRequest& whole, const PlanOptions& options, NumericClass allowed,
                       LowerCache& cache)
    : m_whole(whole), m_body(*whole.body), m_options(options), m_allowed(allowed), m_cache(cache) {
    const std::vector<ValueId>& inputs = m_body.inputs();
    for (size_t i = 0; i < inputs.size() && i < whole.constants.size(); ++i)
        m_constants[inputs[i]] = whole.constants[i];
    m_isFixed = fixedValues(m_body, [&](ValueId value) {
        const auto known = m_constants.find(value);
        return known != m_constants.end() && known->second;
    });
}

int64_t BodyCutter::elementsOf(NodeId node) const {
    int64_t most = 0;
    for (ValueId output : m_body.node(node).outputs)
        if (output.valid())
            most = std::max(most, m_body.value(output).type.elementCount().value_or(0));
    return most;
}

bool BodyCutter::isElementwise(NodeId node) const {
    return hasTrait(m_body.node(node).op, Trait::Elementwise | Trait::View);
}

/// Values that come from an earlier part were written just before: what was touched since is about
/// their own size. Inputs of the body may come from far away.
double BodyCutter::seconds(const KernelProgram& program, const std::vector<ValueId>& inputs,
                           const std::vector<ValueId>& outputs) const {
    std::vector<int64_t> distances;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
        const bool isInner = i < inputs.size() && m_body.producer(inputs[i]).valid();
        distances.push_back(isInner ? bytesOf(m_body.value(inputs[i]).type) : -1);
    }
    const Traffic traffic = predictTraffic(program, *m_options.profile, {distances});
    if (m_orders.empty())
        return predictTime(program, traffic, *m_options.profile).seconds;
    OperandStrides order;
    auto add = [&](const std::vector<OperandType>& types, const std::vector<ValueId>& values,
                   std::vector<const Extents*>& to) {
        for (size_t i = 0; i < types.size(); ++i) {
            const auto known = i < values.size() ? m_orders.find(values[i]) : m_orders.end();
            const bool fits =
                known != m_orders.end() && known->second.size() == types[i].extents.size();
            to.push_back(fits ? &known->second : nullptr);
        }
    };
    add(program.inputs, inputs, order.inputs);
    add(program.outputs, outputs, order.outputs);
    return predictTime(program, laidWorkOf(program, order), traffic, *m_options.profile).seconds;
}

double BodyCutter::secondsOf(const KernelProgram& program) const {
    return seconds(program, m_body.inputs(), m_body.outputs());
}

bool BodyCutter::isView(NodeId node) const {
    return mayBeView(m_body, m_body.node(node),
                     m_options.stridedViews ? ViewKinds::Strided : ViewKinds::Contiguous);
}

BodyCutter::Part BodyCutter::partOf(const std::vector<NodeId>& nodes) {
    const bool isOne = nodes.size() == 1;
    if (isOne && isView(nodes[0]))
        return {KernelProgram{}};
    Cut cut = cutOut(m_body, nodes, escapingValues(m_body, nodes));
    LowerRequest request;
    for (ValueId input : cut.inputs) {
        auto known = m_constants.find(input);
        request.constants.push_back(known == m_constants.end() ? m_body.value(input).constant
                                                               : known->second);
    }
    request.operands = cut.inputs;
    request.results = cut.outputs;
    request.body = std::make_shared<const Graph>(std::move(cut.body));
    LowerResult lowered = m_cache.lowerWithin(request, m_allowed);
    auto* program = std::get_if<KernelProgram>(&lowered);
    if (program && !isOne && m_options.backend && m_options.backend->supports(*program))
        program = nullptr;
    if (!program && !isOne)
        return {};
    Part part{program ? std::move(*program) : libraryProgram(request), 0,
              areOnce(m_body, m_isFixed, cut.outputs)};
    if (!part.isOnce)
        part.seconds = seconds(*part.program, cut.inputs, cut.outputs);
    return part;
}

/// Small results first, so that what stands in front of a broadcast is one run of the order.
std::vector<NodeId> BodyCutter::smallFirst() const {
    struct Ready {
        int64_t elements = 0;
        size_t rank = 0;
        NodeId node;

        bool operator>(const Ready& other) const {
            return std::pair(elements, rank) > std::pair(other.elements, other.rank);
        }
    };
    const std::vector<NodeId> order = topologicalOrder(m_body);
    std::map<NodeId, size_t> rank, waiting;
    for (size_t i = 0; i < order.size(); ++i)
        rank[order[i]] = i;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (NodeId node : order) {
        for (ValueId input : m_body.node(node).inputs)
            waiting[node] += input.valid() && m_body.producer(input).valid() ? 1U : 0U;
        if (waiting[node] == 0)
            ready.push({elementsOf(node), rank[node], node});
    }
    std::vector<NodeId> out;
    while (!ready.empty()) {
        const NodeId node = ready.top().node;
        ready.pop();
        out.push_back(node);
        for (ValueId output : m_body.node(node).outputs) {
            if (!output.valid())
                continue;
            for (const Use& use : m_body.value(output).uses)
                if (--waiting[use.node] == 0)
                    ready.push({elementsOf(use.node), rank[use.node], use.node});
        }
    }
    return out;
}

BodyCut BodyCutter::cheapestAlong(std::vector<NodeId> order, CutPlaces places) {
    constexpr double unreachable = std::numeric_limits<double>::infinity();
    const size_t count = order.size();
    auto isPlace = [&](size_t at) {
        return places == CutPlaces::All || at == 0 || at == count ||
               elementsOf(order[at - 1]) != elementsOf(order[at]) ||
               !isElementwise(order[at - 1]) || !isElementwise(order[at]);
    };
    const bool isLong = count > maxExactBody;
    std::vector<double> best(count + 1, unreachable);
    std::vector<size_t> from(count + 1, 0);
    best[0] = 0;
    for (size_t end = 1; end <= count; ++end) {
        if (!isLong && !isPlace(end))
            continue;
        for (size_t begin = end; begin-- > 0;) {
            if (isLong && end - begin > longestPartBeyond)
                break;
            const bool isWhole = end - begin == count; // what the caller compares with
            if (best[begin] == unreachable || isWhole)
                continue;
            const Part part = partOf({order.begin() + static_cast<std::ptrdiff_t>(begin),
                                      order.begin() + static_cast<std::ptrdiff_t>(end)});
            if (part.program && best[begin] + part.seconds <= best[end]) {
                best[end] = best[begin] + part.seconds;
                from[end] = begin;
            }
        }
    }
    BodyCut out{std::move(order), {}, best[count]};
    for (size_t end = count; end > 0; end = from[end])
        out.ends.push_back(end);
    std::reverse(out.ends.begin(), out.ends.end());
    return counted(std::move(out));
}

BodyCut BodyCutter::counted(BodyCut cut) const {
    size_t begin = 0;
    for (size_t end : cut.ends) {
        cut.kernels += end - begin > 1 || !isView(cut.order[begin]) ? 1U : 0U;
        begin = end;
    }
    return cut;
}

/// From one set of nodes that can have run to a larger one by each part that can run then; sets are
/// bits. Of cuts that cost the same the one of fewer parts.
BodyCut BodyCutter::cheapestOfAll(const std::vector<NodeId>& order) {
    using Cost = std::pair<double, uint32_t>; // and parts
    constexpr Cost unreachable{std::numeric_limits<double>::infinity(), 0};
    const uint32_t all = (1U << order.size()) - 1;
    std::map<NodeId, uint32_t> at;
    std::vector<uint32_t> needs(order.size(), 0);
    for (uint32_t i = 0; i < order.size(); ++i) {
        at[order[i]] = i;
        for (ValueId input : m_body.node(order[i]).inputs)
            if (input.valid())
                if (const NodeId maker = m_body.producer(input); maker.valid())
                    needs[i] |= 1U << at.at(maker);
    }
    auto nodesOf = [&](uint32_t bits) {
        std::vector<NodeId> out;
        for (uint32_t i = 0; i < order.size(); ++i)
            if ((bits >> i & 1) != 0)
                out.push_back(order[i]);
        return out;
    };
    auto canRun = [&](uint32_t ran) {
        for (uint32_t i = 0; i < order.size(); ++i)
            if ((ran >> i & 1) != 0 && (needs[i] & ~ran) != 0)
                return false;
        return true;
    };
    std::map<uint32_t, std::optional<double>> prices;
    std::vector<Cost> best(all + 1, unreachable);
    std::vector<uint32_t> from(all + 1, 0);
    best[0] = {0, 0};
    for (uint32_t ran = 0; ran < all; ++ran) {
        if (best[ran] == unreachable)
            continue;
        const uint32_t left = all & ~ran;
        for (uint32_t part = left; part != 0; part = (part - 1) & left) {
            if (part == all || !canRun(ran | part))
                continue;
            auto [price, isNew] = prices.try_emplace(part);
            if (isNew)
                price->second = secondsOfPart(nodesOf(part));
            if (!price->second)
                continue;
            const Cost cost{best[ran].first + *price->second, best[ran].second + 1};
            if (best[ran | part] == unreachable || cost < best[ran | part]) {
                best[ran | part] = cost;
                from[ran | part] = ran;
            }
        }
    }
    BodyCut out;
    out.seconds = best[all].first;
    std::vector<uint32_t> parts;
    for (uint32_t ran = all; ran != 0 && best[all] != unreachable; ran = from[ran])
        parts.push_back(ran & ~from[ran]);
    for (size_t i = parts.size(); i-- > 0;) {
        const std::vector<NodeId> nodes = nodesOf(parts[i]);
        out.order.insert(out.order.end(), nodes.begin(), nodes.end());
        out.ends.push_back(out.order.size());
    }
    return counted(std::move(out));
}

BodyCut BodyCutter::cheapest(CutPlaces places) {
    const std::vector<NodeId> order = topologicalOrder(m_body);
    if (places == CutPlaces::All && order.size() > 1 && order.size() <= maxPartitioned)
        return cheapestOfAll(order);
    BodyCut out = cheapestAlong(order, places);
    if (std::vector<NodeId> other = smallFirst(); other != order) {
        BodyCut small = cheapestAlong(std::move(other), places);
        if (small.seconds < out.seconds)
            out = std::move(small);
    }
    return out;
}

bool BodyCutter::repeatsWork(const KernelProgram& program) {
    const std::vector<NodeId> nodes = topologicalOrder(m_body);
    const bool isEven = std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
        return elementsOf(node) == elementsOf(nodes[0]);
    });
    if (isEven)
        return false;
    return instructionsOf(program) > apart().instructions * (1 + repeatedShare);
}

bool BodyCutter::isSlower(const KernelProgram& program) {
    // What reads through a view pays for its order, which a part behind it is not charged with.
    const std::vector<NodeId> nodes = topologicalOrder(m_body);
    if (std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) { return isView(node); }))
        return false;
    return secondsOf(program) > apart().seconds;
}

const BodyCutter::Apart& BodyCutter::apart() {
    if (m_apart)
        return *m_apart;
    m_apart.emplace();
    for (NodeId node : topologicalOrder(m_body)) {
        const Part part = partOf({node});
        m_apart->seconds += part.seconds;
        m_apart->instructions += part.isOnce ? 0 : instructionsOf(*part.program);
    }
    return *m_apart;
}

std::optional<double> BodyCutter::secondsOfPart(const std::vector<NodeId>& nodes) {
    const Part part = partOf(nodes);
    return part.program ? std::optional(part.seconds) : std::nullopt;
}

} // namespace fuselage::planner
