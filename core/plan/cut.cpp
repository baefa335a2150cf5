// SPDX-License-Identifier: Apache-2.0
#include "core/plan/cut.h"

#include "core/cost/time_model.h"
#include "core/graph/subgraph.h"
#include "core/ops/op_table.h"
#include "core/plan/backend.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace fuselage::planner {

namespace {

/// Bodies beyond this are cut into short parts only, so that planning stays linear.
constexpr size_t maxExactBody = 96, longestPartBeyond = 12;
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
    const Traffic traffic = predictTraffic(program, *m_options.profile, distances);
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
        return {KernelProgram{}, 0};
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
    if (program)
        return {*program, seconds(*program, cut.inputs, cut.outputs)};
    if (!isOne)
        return {};
    KernelProgram library = libraryProgram(request);
    const double time = seconds(library, cut.inputs, cut.outputs);
    return {std::move(library), time};
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
    size_t begin = 0;
    for (size_t end : out.ends) {
        out.kernels += end - begin > 1 || !isView(out.order[begin]) ? 1U : 0U;
        begin = end;
    }
    return out;
}

BodyCut BodyCutter::cheapest(CutPlaces places) {
    const std::vector<NodeId> order = topologicalOrder(m_body);
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
    double apart = 0;
    for (NodeId node : nodes)
        apart += instructionsOf(*partOf({node}).program);
    return instructionsOf(program) > apart * (1 + repeatedShare);
}

} // namespace fuselage::planner
