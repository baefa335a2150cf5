// SPDX-License-Identifier: Apache-2.0
// Random graphs whose steps want different orders of memory.
#pragma once

#include "core/kernel/layout_work.h"
#include "core/passes/passes.h"
#include "core/plan/plan.h"
#include "tests/support/choices.h"
#include "tests/unit/passes_support.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fuselage::test {

inline const PlanValue& valueNamed(const Plan& plan, const std::string& name) {
    for (const PlanValue& value : plan.values)
        if (value.name == name)
            return value;
    ADD_FAILURE() << "no value " << name;
    return plan.values.front();
}

/// Channels innermost.
inline bool isLast(const PlanValue& value) {
    return sameOrder(value.extents, value.strides, channelsLast(value.extents));
}

struct ImageSizes {
    int64_t images = 1;
    std::vector<int64_t> channels = {3, 8, 32}, sides = {4, 7, 14};
};

/// Images through convolutions, pools, rows, products, moves and views, some of which end the
/// graph.
class ImageGraph {
public:
    using Choices = testing_support::Choices;

    explicit ImageGraph(Choices& choices, const ImageSizes& sizes = {}) : m_choices(choices) {
        m_side = m_choices.pick(sizes.sides);
        m_images = {m.input("x", {sizes.images, m_choices.pick(sizes.channels), m_side, m_side}),
                    m.input("x2", {sizes.images, 8, m_side, m_side})};
    }

    Graph make() && {
        for (int64_t left = 1 + m_choices.below(6); left > 0; --left)
            step();
        std::vector<ValueId> ends;
        for (ValueId value : m_images)
            if (m.graph.producer(value).valid() && m.graph.value(value).uses.empty())
                ends.push_back(value);
        for (ValueId value : ends)
            end(value);
        if (ends.empty() || m_choices.oneIn(6))
            end(m.node(Op::Sigmoid, {any()}, fresh()));
        inferShapes(m.graph);
        return std::move(m.graph);
    }

private:
    std::string fresh() { return "v" + std::to_string(m_count++); }

    ValueId any() {
        const auto count = static_cast<int64_t>(m_images.size());
        return m_images[static_cast<size_t>(count - 1 - m_choices.below(count))];
    }

    Extents extentsOf(ValueId value) {
        inferShapes(m.graph);
        return *m.graph.value(value).type.extents();
    }

    ValueId weights(const Extents& extents) {
        std::vector<float> data;
        for (int64_t i = 0; i < *elementCount(extents); ++i)
            data.push_back(static_cast<float>(i * 37 % 19 - 9) / 40);
        return m.floats(fresh(), extents, data);
    }

    void add(ValueId value) { m_images.push_back(value); }

    void step() {
        const ValueId x = any();
        const Extents extents = extentsOf(x);
        const int64_t channels = extents[1];
        using Ints = std::vector<int64_t>;
        switch (m_choices.below(10)) {
        case 0:
            return add(
                m.node(m_choices.pick(std::vector<Op>{Op::Relu, Op::Sigmoid}), {x}, fresh()));
        case 1:
            return add(m.node(Op::Conv, {x, weights({16, channels, 1, 1})}, fresh()));
        case 2:
            return add(m.node(Op::Conv, {x, weights({channels, 1, 3, 3})}, fresh(),
                              {{"group", channels}, {"pads", Ints{1, 1, 1, 1}}}));
        case 3:
            return add(m.node(Op::MaxPool, {x}, fresh(),
                              {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}));
        case 4: {
            const ValueId mean = m.node(Op::GlobalAveragePool, {x}, fresh());
            return add(m.node(Op::Mul, {x, mean}, fresh()));
        }
        case 5:
            if (m_choices.oneIn(3))
                return add(channelsIn(Op::Softmax, x));
            return add(m.node(Op::Softmax, {x}, fresh(), {{"axis", 1 + 2 * m_choices.below(2)}}));
        case 6: {
            const ValueId last = m.node(Op::Transpose, {x}, fresh(), {{"perm", Ints{0, 2, 3, 1}}});
            const ValueId product = m.node(Op::MatMul, {last, weights({channels, 8})}, fresh());
            return add(m.node(Op::Transpose, {product}, fresh(), {{"perm", Ints{0, 3, 1, 2}}}));
        }
        case 7:
            return add(m.node(Op::Concat, {x, any()}, fresh(), {{"axis", int64_t{1}}}));
        case 8:
            for (ValueId other : m_images)
                if (other != x && extentsOf(other) == extents)
                    return add(m.node(Op::Add, {x, other}, fresh()));
            return add(m.node(Op::Tanh, {x}, fresh()));
        default:
            return add(m.node(Op::MatMul, {x, weights({extents[3], extents[3]})}, fresh()));
        }
    }

    /// Between two Transposes, so that its rows are the channels of a pixel.
    ValueId channelsIn(Op op, ValueId x) {
        using Ints = std::vector<int64_t>;
        const ValueId last = m.node(Op::Transpose, {x}, fresh(), {{"perm", Ints{0, 2, 3, 1}}});
        const ValueId rows = m.node(op, {last}, fresh(), {{"axis", int64_t{3}}});
        return m.node(Op::Transpose, {rows}, fresh(), {{"perm", Ints{0, 3, 1, 2}}});
    }

    void end(ValueId value) {
        using Ints = std::vector<int64_t>;
        switch (m_choices.below(4)) {
        case 1:
            value = m.node(Op::Transpose, {value}, fresh(), {{"perm", Ints{0, 2, 3, 1}}});
            break;
        case 2:
            value = m.node(Op::Flatten, {value}, fresh(), {{"axis", int64_t{1}}});
            break;
        case 3: {
            const Extents extents = extentsOf(value);
            const ValueId flat =
                m.node(Op::Reshape,
                       {value, m.ints(fresh(), {extents[0], extents[1], extents[2] * extents[3]})},
                       fresh());
            value = m.node(Op::Transpose, {flat}, fresh(), {{"perm", Ints{0, 2, 1}}});
            break;
        }
        default:
            break;
        }
        m.output(value);
    }

    Choices& m_choices;
    GraphMaker m;
    int64_t m_side = 0;
    int m_count = 0;
    std::vector<ValueId> m_images;
};

} // namespace fuselage::test
