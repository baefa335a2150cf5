// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/node_order_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace fuselage::model_io {

namespace {

using Producers = std::unordered_map<std::string_view, int>;

Result<Producers> producersOf(const NodeProtos& nodes) {
    Producers producers;
    producers.reserve(static_cast<size_t>(nodes.size()));
    for (int i = 0; i < nodes.size(); ++i)
        for (const std::string& output : nodes[i].output())
            if (!output.empty() && !producers.emplace(output, i).second)
                return failure("load.duplicate",
                               fmt::format("value `{}` is produced twice", output),
                               nodeLabel(nodes[i]), "give each value one producer");
    return producers;
}

/// "`a` -> `b` -> `a`", at most a handful of nodes.
std::string cycleText(const NodeProtos& nodes, const std::vector<int>& cycle) {
    constexpr size_t shown = 6;
    std::string out;
    for (size_t i = 0; i < std::min(shown, cycle.size()); ++i)
        out += fmt::format("`{}` -> ", nodeLabel(nodes[cycle[i]]));
    if (cycle.size() > shown)
        out += fmt::format("{} more -> ", cycle.size() - shown);
    return out + fmt::format("`{}`", nodeLabel(nodes[cycle[0]]));
}

struct Frame {
    int node;
    std::vector<int> needs;
    size_t next = 0;
};

} // namespace

std::string nodeLabel(const ::onnx::NodeProto& node) {
    if (!node.name().empty())
        return node.name();
    std::string output = node.output_size() != 0 ? node.output(0) : std::string();
    return node.op_type() + (output.empty() ? "" : " making " + output);
}

const FreeNames& NodeOrder::freeNames(const ::onnx::GraphProto& graph, int depth) {
    auto known = m_freeNames.find(&graph);
    if (known != m_freeNames.end())
        return known->second;
    FreeNames free;
    if (depth < maxDepth) { // deeper nesting is refused where subgraphs are read
        std::unordered_set<std::string_view> bound;
        for (const auto& input : graph.input())
            bound.insert(input.name());
        for (const auto& tensor : graph.initializer())
            bound.insert(tensor.name());
        for (const auto& tensor : graph.sparse_initializer())
            bound.insert(tensor.values().name());
        for (const auto& node : graph.node())
            for (const std::string& output : node.output())
                bound.insert(output);
        auto read = [&](std::string_view name) {
            if (!name.empty() && bound.insert(name).second)
                free.push_back(name);
        };
        for (const auto& node : graph.node())
            for (std::string_view name : dependencies(node, depth))
                read(name);
        for (const auto& output : graph.output())
            read(output.name());
    }
    return m_freeNames.emplace(&graph, std::move(free)).first->second;
}

FreeNames NodeOrder::dependencies(const ::onnx::NodeProto& node, int depth) {
    FreeNames names(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
        if (!attribute.has_g())
            continue;
        const FreeNames& inner = freeNames(attribute.g(), depth + 1);
        names.insert(names.end(), inner.begin(), inner.end());
    }
    return names;
}

Result<std::vector<int>> NodeOrder::sort(const NodeProtos& nodes) {
    auto producers = producersOf(nodes);
    if (!producers)
        return failure(producers.error());
    auto needsOf = [&](int index) {
        std::vector<int> needs;
        for (std::string_view name : dependencies(nodes[index], 0)) {
            auto found = producers->find(name);
            if (found != producers->end())
                needs.push_back(found->second);
        }
        return needs;
    };
    enum class Mark : uint8_t { White, Open, Done };
    std::vector<Mark> marks(static_cast<size_t>(nodes.size()), Mark::White);
    auto markOf = [&](int index) -> Mark& { return marks[static_cast<size_t>(index)]; };
    std::vector<int> order;
    order.reserve(marks.size());
    std::vector<Frame> stack; // explicit: a chain may be longer than a thread's stack
    for (int root = 0; root < nodes.size(); ++root) {
        if (markOf(root) != Mark::White)
            continue;
        markOf(root) = Mark::Open;
        stack.push_back({root, needsOf(root)});
        while (!stack.empty()) {
            Frame& frame = stack.back();
            if (frame.next == frame.needs.size()) {
                markOf(frame.node) = Mark::Done;
                order.push_back(frame.node);
                stack.pop_back();
                continue;
            }
            int needed = frame.needs[frame.next++];
            if (markOf(needed) == Mark::Done)
                continue;
            if (markOf(needed) == Mark::Open) {
                // Needed nodes lie above their readers: read upwards, the stack is the cycle.
                std::vector<int> cycle;
                for (size_t i = stack.size(); i-- > 0;) {
                    cycle.push_back(stack[i].node);
                    if (stack[i].node == needed)
                        break;
                }
                return failure("load.cycle", "nodes form a cycle: " + cycleText(nodes, cycle), {},
                               "remove one of these connections");
            }
            markOf(needed) = Mark::Open;
            stack.push_back({needed, needsOf(needed)});
        }
    }
    return order;
}

} // namespace fuselage::model_io
