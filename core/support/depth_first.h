// SPDX-License-Identifier: Apache-2.0
// Depth-first order over anything with numbered nodes: every node after the makers of its inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuselage {

/// `inputCount(node)` is how many inputs a node has, `maker(node, input)` the node that makes one
/// of them, or `none`. Depends on nothing but these and the order of the visits.
template <typename InputCount, typename Maker> class DepthFirstOrder {
public:
    static constexpr uint32_t none = UINT32_MAX;

    /// Nodes have numbers below `bound`.
    DepthFirstOrder(size_t bound, InputCount inputCount, Maker maker)
        : m_inputCount(inputCount), m_maker(maker), m_marks(bound, Mark::White) {
        m_order.reserve(bound);
    }

    /// Appends what the root depends on and was not visited yet, then the root; `none` is nothing.
    void visit(uint32_t root) {
        open(root);
        // An explicit stack: real graphs are deeper than a thread's stack.
        while (!m_stack.empty()) {
            Frame& frame = m_stack.back();
            if (frame.next == m_inputCount(frame.node)) {
                m_marks[frame.node] = Mark::Done;
                m_order.push_back(frame.node);
                m_stack.pop_back();
                continue;
            }
            const uint32_t made = m_maker(frame.node, frame.next++);
            m_hasCycle = m_hasCycle || (made != none && m_marks[made] == Mark::Open);
            open(made);
        }
    }

    bool visited(uint32_t node) const { return m_marks[node] != Mark::White; }

    const std::vector<uint32_t>& order() const { return m_order; }

    /// Some node was its own input, through others: no order has every node after its inputs.
    bool hasCycle() const { return m_hasCycle; }

private:
    enum class Mark : uint8_t { White, Open, Done };

    struct Frame {
        uint32_t node;
        size_t next;
    };

    void open(uint32_t node) {
        if (node == none || m_marks[node] != Mark::White)
            return;
        m_marks[node] = Mark::Open;
        m_stack.push_back({node, 0});
    }

    InputCount m_inputCount;
    Maker m_maker;
    std::vector<Mark> m_marks;
    std::vector<Frame> m_stack;
    std::vector<uint32_t> m_order;
    bool m_hasCycle = false;
};

} // namespace fuselage
