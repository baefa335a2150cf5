// SPDX-License-Identifier: Apache-2.0
// Attention: two products around a softmax, with any steps on the scores, in any order.
#include "core/support/text.h"
#include "tests/bodies/body_writer.h"

#include <fmt/format.h>

namespace fuselage::bodies {

/// A constant of the body, of one element.
std::string BodyWriter::number(const char* value) {
    std::string name = fresh("c");
    m_lines.push_back(fmt::format("{} = Constant<value_float={}>()", name, value));
    if (m_type == "float")
        return name;
    const std::string narrow = fresh("c");
    m_lines.push_back(
        fmt::format("{} = Cast<to={}>({})", narrow, m_type == "float16" ? 10 : 16, name));
    return narrow;
}

/// A scale, a mask, a condition or a function of the newest value.
void BodyWriter::scoreStep() {
    const Known x = m_values.back();
    switch (below(7)) {
    case 0:
        return add(fmt::format("Mul({}, {})", x.name, number("0.5")), x.extents);
    case 1:
        return add(fmt::format("Div({}, {})", x.name, number("2.0")), x.extents);
    case 2:
    case 4: {
        const std::string other = broadcastOperand(x.extents).name;
        const bool swapped = oneIn(2);
        return add(fmt::format("{}({}, {})", oneIn(2) ? "Add" : "Mul", swapped ? other : x.name,
                               swapped ? x.name : other),
                   x.extents);
    }
    case 3: {
        const std::string condition = fresh("b"), mask = broadcastOperand(x.extents).name;
        m_lines.push_back(fmt::format("{} = Less({}, {})", condition, mask, number("0.25")));
        const std::string fill = number(oneIn(2) ? "-4.0" : "-30.0");
        const bool keeps = oneIn(2);
        return add(fmt::format("Where({}, {}, {})", condition, keeps ? x.name : fill,
                               keeps ? fill : x.name),
                   x.extents);
    }
    default: {
        static const std::vector<std::string> functions{"Tanh", "Sigmoid", "Relu", "Neg", "Abs"};
        return add(fmt::format("{}({})", m_choices.pick(functions), x.name), x.extents);
    }
    }
}

/// Scores of further keys without values, one as a sink has it, and the weights without them.
void BodyWriter::weighWithSinks(const std::string& axis) {
    const Known x = m_values.back();
    const int64_t keys = x.extents.back(), sinks = oneIn(5) ? 2 : 1;
    Extents beside = x.extents;
    beside.back() = sinks;
    std::string sink;
    if (oneIn(2)) {
        sink = operand(beside).name;
    } else {
        const std::string narrow = broadcastOperand(beside).name;
        sink = fresh("v");
        m_lines.push_back(fmt::format("{} = Expand({}, {})", sink, narrow, integers(beside)));
    }
    const bool isFirst = oneIn(5);
    Extents wide = x.extents;
    wide.back() += sinks;
    add(fmt::format("Concat<axis={}>({}, {})", axis, isFirst ? sink : x.name,
                    isFirst ? x.name : sink),
        wide);
    add(fmt::format("Softmax<axis={}>({})", axis, m_values.back().name), wide);
    const int64_t from = isFirst ? sinks : 0;
    add(fmt::format("Slice({}, {}, {}, {})", m_values.back().name, integers({from}),
                    integers({from + keys}), integers({-1})),
        x.extents);
}

void BodyWriter::attention() {
    const Known q = m_values.back();
    const size_t rank = q.extents.size();
    if (rank < 2 || rank > 4)
        return;
    static const std::vector<int64_t> counts{5, 3, 8, 1, 17}, widths{4, 8, 3, 1};
    const int64_t keys = m_choices.pick(counts), width = m_choices.pick(widths);
    const bool together = oneIn(2); // keys and values of each batch, or of all
    const auto matrices = [&](int64_t rows, int64_t columns) {
        Extents out{rows, columns};
        for (size_t d = rank - 2; together && d-- > 0;)
            out.insert(out.begin(), q.extents[d]);
        return operand(out);
    };
    Extents scores = q.extents;
    scores.back() = keys;
    add(fmt::format("MatMul({}, {})", q.name, matrices(q.extents.back(), keys).name), scores);
    for (int64_t i = below(5); i > 0; --i)
        scoreStep();
    const std::string axis = oneIn(2) ? "-1" : std::to_string(rank - 1);
    const bool widened = m_type != "float" && oneIn(3);
    const std::string from = m_values.back().name;
    if (oneIn(3)) {
        weighWithSinks(axis);
    } else if (widened) {
        const std::string wide = fresh("w"), weights = fresh("w");
        m_lines.push_back(fmt::format("{} = Cast<to=1>({})", wide, from));
        m_lines.push_back(fmt::format("{} = Softmax<axis={}>({})", weights, axis, wide));
        add(fmt::format("CastLike({}, {})", weights, from), scores);
    } else {
        add(fmt::format("Softmax<axis={}>({})", axis, from), scores);
    }
    if (oneIn(5)) {
        const std::string test = fresh("b"), guarded = m_values.back().name;
        m_lines.push_back(fmt::format("{} = IsNaN({})", test, guarded));
        add(fmt::format("Where({}, {}, {})", test, number("0.0"), guarded), scores);
    }
    Extents results = q.extents;
    results.back() = width;
    const std::string weights = m_values.back().name;
    add(fmt::format("MatMul({}, {})", weights, matrices(keys, width).name), results);
}

} // namespace fuselage::bodies
