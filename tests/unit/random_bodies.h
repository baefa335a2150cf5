// SPDX-License-Identifier: Apache-2.0
// The part of the random writer that puts steps into bodies of If, Loop and Scan: they read values
// and weights of the graphs around them, and bodies stand in bodies.
#pragma once

#include "tests/unit/random_graph.h"

namespace fuselage::testing_random {

/// "float[2,3]"
inline std::string typeText(const Extents& extents) {
    return "float" + (extents.empty() ? std::string() : fuselage::text(extents));
}

/// Writes steps that keep the extents of `from` and returns their lines; `result` is the last
/// value. What they make is known to nobody outside.
inline std::string Writer::insideOf(const Known& from, int64_t steps, std::string& result) {
    std::vector<std::string> outer;
    outer.swap(m_sketch.lines);
    const std::vector<Known> known = m_values;
    ++m_depth;
    Known last = from;
    for (int64_t i = 0; i < steps; ++i) {
        const size_t before = m_values.size();
        const int64_t kind = below(m_depth < 3 ? 7 : 6);
        if (kind < 2)
            unary(last);
        else if (kind < 4)
            binary(last);
        else if (kind == 4)
            softmax(last);
        else if (kind == 5)
            norm(last);
        else
            anyBody(last);
        for (size_t made = m_values.size(); made-- > before;)
            if (m_values[made].extents == from.extents) {
                last = m_values[made];
                break;
            }
    }
    --m_depth;
    m_values = known;
    std::string text;
    for (const std::string& line : m_sketch.lines)
        text += line + " ";
    m_sketch.lines = std::move(outer);
    result = fresh(); // bounded: iterations would make anything else grow
    return text + fmt::format("{} = Tanh({}) ", result, last.name);
}

/// A bool that depends on the data.
inline std::string Writer::condition(const Known& x) {
    const std::string mean = fresh(), limit = weight({}), out = fresh();
    m_sketch.lines.push_back(fmt::format("{} = ReduceMean<keepdims=0>({})", mean, x.name));
    m_sketch.lines.push_back(fmt::format("{} = Greater({}, {})", out, mean, limit));
    return out;
}

inline void Writer::branch(const Known& x) {
    const std::string decides = condition(x);
    std::string yes, no;
    const std::string first = insideOf(x, 1 + below(4), yes);
    const std::string second = insideOf(x, 1 + below(4), no);
    const std::string type = typeText(x.extents);
    add(fmt::format("If ({}) <then_branch = t () => ({} {}) {{ {} }}, "
                    "else_branch = e () => ({} {}) {{ {} }}>",
                    decides, type, yes, first, type, no, second),
        x.extents);
}

inline void Writer::loop(const Known& x) {
    const int64_t trips = 1 + below(3);
    const std::string count = fresh(), go = fresh();
    m_sketch.lines.push_back(fmt::format("{} = Constant<value=int64 {{{}}}>()", count, trips));
    m_sketch.lines.push_back(fmt::format("{} = Constant<value=bool {{1}}>()", go));
    const Known carried{fresh(), x.extents};
    const std::string trip = fresh(), goes = fresh(), next = fresh(), type = typeText(x.extents);
    m_values.push_back(carried);
    std::string result;
    const std::string inside = insideOf(carried, 1 + below(4), result);
    m_values.pop_back();
    const bool collects = oneIn(2);
    const std::string copy = fresh(), last = fresh(), all = fresh();
    const std::string collected = collects ? fmt::format(", {} {}", type, copy) : "";
    m_sketch.lines.push_back(fmt::format(
        "{}{} = Loop ({}, {}, {}) <body = b (int64 {}, bool {}, {} {}) => (bool {}, {} {}{}) {{ "
        "{} = Identity({}) {}{}}}>",
        last, collects ? ", " + all : "", count, go, x.name, trip, goes, type, carried.name, next,
        type, result, collected, next, goes, inside,
        collects ? fmt::format("{} = Neg({}) ", copy, result) : ""));
    if (collects) {
        Extents extents = x.extents;
        extents.insert(extents.begin(), trips);
        m_values.push_back({all, extents});
    }
    m_values.push_back({last, x.extents});
}

inline void Writer::scan(const Known& x) {
    if (x.extents.empty() || x.extents[0] == 0)
        return;
    const Known from = x;
    const Extents part(from.extents.begin() + 1, from.extents.end());
    const std::string start = weight(part);
    const Known state{fresh(), part}, slice{fresh(), part};
    m_values.push_back(slice);
    m_values.push_back(state);
    std::string result;
    const std::string inside = insideOf(state, 1 + below(3), result);
    m_values.pop_back();
    m_values.pop_back();
    const std::string sum = fresh(), last = fresh(), all = fresh(), type = typeText(part);
    m_sketch.lines.push_back(fmt::format(
        "{}, {} = Scan ({}, {}) <num_scan_inputs = 1, body = b ({} {}, {} {}) => ({} {}, {} {}) "
        "{{ {}{} = Add({}, {}) }}>",
        last, all, start, from.name, type, state.name, type, slice.name, type, result, type, sum,
        inside, sum, result, slice.name));
    m_values.push_back({last, part});
    m_values.push_back({all, from.extents});
}

inline void Writer::anyBody(const Known& x) {
    const Known from = x;
    switch (below(3)) {
    case 0:
        return branch(from);
    case 1:
        return loop(from);
    default:
        return scan(from);
    }
}

} // namespace fuselage::testing_random
