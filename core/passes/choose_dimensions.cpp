// SPDX-License-Identifier: Apache-2.0
// The smallest sizes of open dimensions that fit: all 1, then one dimension or image at a time is
// changed so that the first node that does not fit comes later. Deterministic and bounded.
#include "core/passes/dimensions.h"
#include "core/passes/dimensions_internal.h"
#include "core/passes/inference.h"
#include "core/support/checked.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace fuselage {

namespace {

constexpr size_t maxSizeTries = 400;
constexpr size_t maxNodesWalked = 400'000; ///< of all tries
constexpr int64_t largestSize = 1 << 20;   ///< that a node's operands may suggest

/// Sides of pictures whose sizes are open: one pixel often fits, and says nothing about a model.
constexpr int64_t pictureSide = 224;

/// Sides of images, then of anything else.
constexpr std::array<int64_t, 11> imageSizes{32, 64, 96, 128, 160, 192, 224, 256, 320, 512, 640};
constexpr std::array<int64_t, 36> plainSizes{1,   2,   3,   4,    5,    6,    7,    8,     10,
                                             12,  16,  20,  24,   32,   40,   48,   64,    80,
                                             96,  128, 160, 192,  224,  256,  320,  384,   400,
                                             512, 640, 768, 1024, 2048, 4096, 8192, 16384, 32768};

/// How far inference came: later is better, nothing that stops it before a branch that does.
struct ReachedNode {
    size_t contradiction = SIZE_MAX, inner = SIZE_MAX; ///< positions of nodes
    NodeId node;                                       ///< the one that must be helped
    std::string message;

    bool fits() const { return contradiction == SIZE_MAX && inner == SIZE_MAX; }

    bool runs() const { return contradiction == SIZE_MAX; }

    friend bool operator<(const ReachedNode& a, const ReachedNode& b) {
        return std::pair(a.contradiction, a.inner) < std::pair(b.contradiction, b.inner);
    }
};

/// Dimensions that get one size together.
using SizeGroup = std::vector<std::string>;

struct SizeChange {
    int64_t size;
    SizeGroup group;
};

class SizeSearch {
public:
    SizeSearch(const Graph& graph, const DimensionValues& given);

    /// The best that was found.
    ReachedNode run();

    const DimensionValues& values() const { return m_values; }

    const std::set<std::string>& open() const { return m_open; }

    /// Some are pictureSide although smaller ones may fit.
    bool hasPictures() const { return m_hasPictures; }

private:
    void takePictures(ReachedNode& now);
    ReachedNode reach(const DimensionValues& values);
    std::optional<ReachedNode> improve(const ReachedNode& now);
    std::vector<SizeChange> changesFor(NodeId node) const;
    std::set<std::string> openAbove(NodeId node) const;
    std::vector<SizeGroup> imagesAbove(const std::set<std::string>& open,
                                       int64_t mostChannels = INT64_MAX) const;
    std::set<int64_t> suggestedBy(NodeId node) const;

    const Graph& m_graph;
    std::unordered_map<NodeId, size_t> m_position;
    DimensionValues m_values;
    std::set<std::string> m_open; ///< what nobody gave
    bool m_hasPictures = false;
    size_t m_tries = 0, m_walked = 0;
};

SizeSearch::SizeSearch(const Graph& graph, const DimensionValues& given) : m_graph(graph) {
    for (NodeId id : topologicalOrder(graph))
        m_position.emplace(id, m_position.size());
    for (const std::string& name : inputSymbols(graph)) {
        auto known = given.find(name);
        m_values[name] = known != given.end() ? known->second : 1;
        if (known == given.end())
            m_open.insert(name);
    }
}

ReachedNode SizeSearch::reach(const DimensionValues& values) {
    Graph bound = m_graph.clone();
    bindTypes(bound, values);
    ReachedNode out;
    auto positionOf = [&](NodeId id) {
        auto at = m_position.find(id);
        return at != m_position.end() ? at->second : m_position.size();
    };
    for (const InferProblem& problem : inferUntilContradiction(bound)) {
        if (problem.kind == InferProblem::Kind::Declaration)
            continue;
        const bool stops = problem.kind == InferProblem::Kind::Contradiction;
        size_t& position = stops ? out.contradiction : out.inner;
        if (position != SIZE_MAX)
            continue;
        position = positionOf(problem.node);
        if (stops || !out.node.valid()) {
            out.node = problem.node;
            out.message = problem.message;
        }
    }
    ++m_tries;
    m_walked += std::min(out.contradiction, m_position.size());
    return out;
}

ReachedNode SizeSearch::run() {
    ReachedNode now = reach(m_values);
    takePictures(now);
    while (!now.fits() && !m_open.empty() && now.node.valid()) {
        auto better = improve(now);
        if (!better)
            break;
        now = std::move(*better);
    }
    return now;
}

/// Inputs with the channels of a picture, where that fits no worse.
void SizeSearch::takePictures(ReachedNode& now) {
    constexpr int64_t mostChannels = 4;
    for (const SizeGroup& picture : imagesAbove(m_open, mostChannels)) {
        DimensionValues values = m_values;
        for (const std::string& name : picture)
            values[name] = pictureSide;
        ReachedNode reached = reach(values);
        if (reached < now)
            continue;
        m_hasPictures = true;
        m_values = std::move(values);
        now = std::move(reached);
    }
}

std::optional<ReachedNode> SizeSearch::improve(const ReachedNode& now) {
    for (const SizeChange& change : changesFor(now.node)) {
        if (m_tries >= maxSizeTries || m_walked >= maxNodesWalked)
            return std::nullopt;
        DimensionValues values = m_values;
        for (const std::string& name : change.group)
            values[name] = change.size;
        if (values == m_values)
            continue;
        ReachedNode reached = reach(values);
        if (!(now < reached))
            continue;
        m_values = std::move(values);
        return reached;
    }
    return std::nullopt;
}

/// Images first, whole; then each dimension alone, small sizes first; then all together.
std::vector<SizeChange> SizeSearch::changesFor(NodeId node) const {
    const std::set<std::string> open = openAbove(node);
    std::vector<SizeChange> out;
    for (const SizeGroup& image : imagesAbove(open))
        for (int64_t size : imageSizes)
            out.push_back({size, image});
    std::set<int64_t> all = suggestedBy(node);
    all.insert(plainSizes.begin(), plainSizes.end());
    for (int64_t size : all)
        for (const std::string& name : open)
            out.push_back({size, {name}});
    if (open.size() > 1)
        for (int64_t size : all)
            out.push_back({size, {open.begin(), open.end()}});
    return out;
}

/// Open dimensions of the inputs that the node depends on.
std::set<std::string> SizeSearch::openAbove(NodeId node) const {
    std::set<std::string> out;
    std::vector<bool> seen(m_graph.valueBound(), false);
    std::vector<ValueId> todo = m_graph.node(node).inputs;
    while (!todo.empty()) {
        const ValueId id = todo.back();
        todo.pop_back();
        if (!id.valid() || seen[id.index()])
            continue;
        seen[id.index()] = true;
        const Value& value = m_graph.value(id);
        if (value.producer.valid()) {
            const std::vector<ValueId>& inputs = m_graph.node(value.producer).inputs;
            todo.insert(todo.end(), inputs.begin(), inputs.end());
        } else if (!value.constant && value.type.shape) {
            for (const Dim& dim : *value.type.shape)
                for (const std::string& name : dim.symbols())
                    if (m_open.contains(name))
                        out.insert(name);
        }
    }
    return out;
}

/// Heights and widths: two or more open axes of an input of rank 4 or 5, without batch and channel.
std::vector<SizeGroup> SizeSearch::imagesAbove(const std::set<std::string>& open,
                                               int64_t mostChannels) const {
    std::vector<SizeGroup> out;
    for (ValueId id : m_graph.inputs()) {
        const Type& type = m_graph.value(id).type;
        if (!type.shape || type.rank() < 4 || type.rank() > 5)
            continue;
        const bool channelsLast = type.shape->back().isNumber() && !(*type.shape)[1].isNumber();
        const Dim& channels = channelsLast ? type.shape->back() : (*type.shape)[1];
        if (mostChannels != INT64_MAX && channels.number().value_or(INT64_MAX) > mostChannels)
            continue;
        std::set<std::string> sides;
        const size_t from = channelsLast ? 1 : 2, to = type.rank() - (channelsLast ? 1 : 0);
        for (size_t axis = from; axis < to; ++axis)
            for (const std::string& name : (*type.shape)[axis].symbols())
                if (open.contains(name))
                    sides.insert(name);
        if (sides.size() > 1)
            out.emplace_back(sides.begin(), sides.end());
    }
    return out;
}

/// Numbers in the shapes of the node's operands, and products of small constant ones (the target of
/// a Reshape).
std::set<int64_t> SizeSearch::suggestedBy(NodeId node) const {
    std::set<int64_t> out;
    auto suggest = [&](int64_t size) {
        if (size > 0 && size <= largestSize)
            out.insert(size);
    };
    for (ValueId id : m_graph.node(node).inputs) {
        if (!id.valid())
            continue;
        const Value& value = m_graph.value(id);
        for (size_t axis = 0; value.type.shape && axis < value.type.rank(); ++axis)
            suggest((*value.type.shape)[axis].number().value_or(0));
        if (!value.constant || value.constant->dtype() != DType::Int64 ||
            value.constant->elementCount() > maxSmallElements)
            continue;
        std::optional<int64_t> product = 1;
        for (int64_t size : value.constant->toInts()) {
            suggest(size);
            product = product && size > 0 ? checkedMultiply(*product, size) : product;
        }
        suggest(product.value_or(0));
    }
    return out;
}

/// "H, W and 3 more": what print makes of each.
template <typename Print>
std::string listText(const std::set<std::string>& names, const Print& print) {
    constexpr size_t shown = 8;
    std::string out;
    size_t count = 0;
    for (const std::string& name : names)
        if (++count <= shown)
            out += (count > 1 ? ", " : "") + print(name);
    return count > shown ? out + fmt::format(" and {} more", count - shown) : out;
}

std::string namesText(const std::set<std::string>& names) {
    return listText(names, [](const std::string& name) { return name; });
}

std::string sizesText(const std::set<std::string>& names, const DimensionValues& values) {
    return listText(names, [&](const std::string& name) {
        return fmt::format("{}={}", name, values.at(name));
    });
}

} // namespace

Result<DimensionChoice> chooseDimensions(const Graph& graph, const DimensionValues& given) {
    SizeSearch search(graph, given);
    const std::set<std::string>& open = search.open();
    if (open.empty())
        return DimensionChoice{search.values(), {}};
    const ReachedNode reached = search.run();
    if (!reached.runs())
        return failure("dim.open",
                       fmt::format("no sizes were found that fit for {}; at {} {}", namesText(open),
                                   sizesText(open, search.values()), reached.message),
                       reached.node.valid() ? graph.node(reached.node).name : "",
                       fmt::format("give them with --dim {}=SIZE, or give inputs", *open.begin()));
    DimensionChoice out{search.values(), {}};
    const bool ones = std::all_of(open.begin(), open.end(), [&](const std::string& name) {
        return out.values.at(name) == 1;
    });
    const std::string taken = ones ? fmt::format("1 is taken for {}", namesText(open))
                              : search.hasPictures() ? "taken are " + sizesText(open, out.values)
                                                     : "the smallest that were found to fit are " +
                                                           sizesText(open, out.values);
    out.note =
        fmt::format("nothing gives sizes for open dimensions: {}; --dim {}=SIZE takes another",
                    taken, *open.begin());
    return out;
}

DimensionValues otherSizes(const Graph& graph, const DimensionValues& values) {
    const std::set<std::string> open = inputSymbols(graph);
    DimensionValues base;
    for (const std::string& name : open)
        base[name] = values.contains(name) ? values.at(name) : 1;
    const auto fits = [&](const DimensionValues& sizes) {
        Graph bound = graph.clone();
        bindTypes(bound, sizes);
        return std::ranges::all_of(inferUntilContradiction(bound), [](const InferProblem& problem) {
            return problem.kind == InferProblem::Kind::Declaration;
        });
    };
    if (open.empty() || !fits(base))
        return {};
    DimensionValues apart = base, doubled = base;
    int64_t next = 2;
    for (auto& [name, size] : apart)
        size = size <= 1 ? next++ : 2 * size;
    for (auto& [name, size] : doubled)
        size *= 2;
    for (const DimensionValues& sizes : {apart, doubled})
        if (fits(sizes))
            return sizes;
    for (const auto& [name, size] : doubled) {
        DimensionValues alone = base;
        alone[name] = size;
        if (fits(alone))
            return alone;
    }
    return {};
}

} // namespace fuselage
