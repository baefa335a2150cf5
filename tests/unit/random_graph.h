// SPDX-License-Identifier: Apache-2.0
// Writes random small graphs as text, repeatable by seed: views, concats, broadcasts, reductions,
// products and windows over values that have several readers. Knows the extents of what it writes.
#pragma once

#include "core/graph/type.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace fuselage::testing_random {

/// A graph as text: lines that may be left out while it shrinks.
struct Sketch {
    std::string inputs;
    std::vector<std::string> lines;
    std::vector<std::string> outputs;       ///< "float[2,3] y"
    std::map<std::string, int64_t> sizes;   ///< of what the inputs leave open
    std::map<std::string, Extents> extents; ///< of values with these sizes; empty: not known

    std::string text() const {
        std::string body;
        for (const std::string& line : lines)
            body += "  " + line + "\n";
        return fmt::format("g ({}) => ({}) {{\n{}}}", inputs, joined(outputs), body);
    }
};

class Writer {
public:
    /// With `bodies` some steps are If, Loop and Scan, in one another too.
    explicit Writer(uint32_t seed, bool bodies = false) : m_engine(seed), m_withBodies(bodies) {}

    Sketch sketch();

    /// Of views of inputs whose sizes are open, 0 and 1 among them (random_views.h).
    Sketch viewsSketch();

private:
    struct Known {
        std::string name;
        Extents extents;
    };

    int64_t below(int64_t bound) {
        return static_cast<int64_t>(m_engine() % static_cast<uint64_t>(bound));
    }

    bool oneIn(int64_t n) { return below(n) == 0; }

    template <typename T> const T& pick(const std::vector<T>& from) {
        return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
    }

    /// Recent values more often, so that chains grow.
    const Known& value() {
        const auto count = static_cast<int64_t>(m_values.size());
        const int64_t back = oneIn(3) ? below(count) : below(std::min<int64_t>(count, 3));
        return m_values[static_cast<size_t>(count - 1 - back)];
    }

    std::string fresh() { return fmt::format("t{}", m_next++); }

    std::string ints(const std::vector<int64_t>& values) {
        std::string name = fresh();
        m_sketch.lines.push_back(
            fmt::format("{} = Constant<value=int64[{}]{{{}}}>()", name, values.size(),
                        joined(values, [](int64_t number) { return std::to_string(number); })));
        return name;
    }

    std::string weight(const Extents& extents) {
        std::string name = fresh();
        std::vector<std::string> numbers(static_cast<size_t>(*elementCount(extents)));
        for (std::string& number : numbers)
            number = fmt::format("{:.2f}", static_cast<double>(below(41) - 20) / 20);
        m_sketch.lines.push_back(fmt::format("{} = Constant<value=float{}{{{}}}>()", name,
                                             extents.empty() ? "" : fuselage::text(extents),
                                             joined(numbers)));
        return name;
    }

    void add(const std::string& call, Extents extents) {
        std::string name = fresh();
        m_sketch.lines.push_back(name + " = " + call);
        m_values.push_back({name, std::move(extents)});
    }

    void unary(const Known& x);
    void binary(const Known& x);
    void transpose(const Known& x);
    void reshape(const Known& x);
    void slice(const Known& x);
    void split(const Known& x);
    void concat(const Known& x);
    void reduce(const Known& x);
    void softmax(const Known& x);
    void matMul(const Known& x);
    void conv(const Known& x);
    void pool(const Known& x);
    void expand(const Known& x);
    void norm(const Known& x);
    void pad(const Known& x);
    void gather(const Known& x);

    // random_views.h
    Extents extentsOf(int64_t count);
    void viewAsNumbers(const Known& x);
    void viewAsAnother(const Known& x);
    void flatten(const Known& x);
    void squeeze(const Known& x);
    void take(const Known& x);
    void cut(const Known& x);
    void spread(const Known& x);

    // random_bodies.h
    std::string insideOf(const Known& from, int64_t steps, std::string& result);
    std::string condition(const Known& x);
    void branch(const Known& x);
    void loop(const Known& x);
    void scan(const Known& x);
    void anyBody(const Known& x);

    std::mt19937 m_engine;
    bool m_withBodies = false;
    int m_depth = 0; ///< of bodies around what is written
    Sketch m_sketch;
    std::vector<Known> m_values;
    int m_next = 0;
};

inline void Writer::unary(const Known& x) {
    static const std::vector<std::string> ops{"Relu", "Neg",      "Abs", "Sigmoid",
                                              "Tanh", "Identity", "Erf", "LeakyRelu"};
    add(fmt::format("{}({})", pick(ops), x.name), x.extents);
}

inline void Writer::binary(const Known& x) {
    static const std::vector<std::string> ops{"Add", "Sub", "Mul", "Max", "Min"};
    std::string other;
    Extents extents = x.extents;
    if (oneIn(3)) {
        Extents bias = x.extents;
        while (!bias.empty() && oneIn(3))
            bias.erase(bias.begin());
        for (int64_t& extent : bias)
            extent = oneIn(3) ? 1 : extent;
        other = weight(bias);
    } else {
        std::vector<Known> fitting;
        for (const Known& y : m_values) {
            bool fits = y.extents.size() <= x.extents.size();
            for (size_t d = 0; fits && d < y.extents.size(); ++d) {
                const int64_t mine = x.extents[x.extents.size() - y.extents.size() + d];
                fits = y.extents[d] == 1 || y.extents[d] == mine;
            }
            if (fits)
                fitting.push_back(y);
        }
        other = pick(fitting).name;
    }
    const bool swapped = oneIn(2);
    add(fmt::format("{}({}, {})", pick(ops), swapped ? other : x.name, swapped ? x.name : other),
        extents);
}

inline void Writer::transpose(const Known& x) {
    std::vector<int64_t> perm(x.extents.size());
    for (size_t i = 0; i < perm.size(); ++i)
        perm[i] = static_cast<int64_t>(i);
    std::shuffle(perm.begin(), perm.end(), m_engine);
    if (perm.empty())
        return;
    Extents extents;
    for (int64_t axis : perm)
        extents.push_back(x.extents[static_cast<size_t>(axis)]);
    add(fmt::format("Transpose<perm=[{}]>({})",
                    joined(perm, [](int64_t number) { return std::to_string(number); }), x.name),
        extents);
}

inline void Writer::reshape(const Known& x) {
    Extents extents;
    const int64_t count = *elementCount(x.extents);
    if (count == 0) {
        extents = x.extents;
        extents.insert(extents.begin(), 1);
    } else {
        for (int64_t rest = count; rest > 1 || extents.empty();) {
            int64_t factor = rest;
            for (int64_t f : {2, 3, 4, 5, 6})
                if (rest % f == 0 && oneIn(2))
                    factor = f;
            extents.push_back(factor);
            rest /= factor;
        }
        if (oneIn(3))
            extents.insert(extents.begin() + below(static_cast<int64_t>(extents.size()) + 1), 1);
    }
    if (extents.size() > 5)
        return;
    const Known from = x;
    const std::string target = ints(extents);
    if (count == 0)
        add(fmt::format("Reshape<allowzero=1>({}, {})", from.name, target), extents);
    else
        add(fmt::format("Reshape({}, {})", from.name, target), extents);
}

inline void Writer::slice(const Known& x) {
    if (x.extents.empty())
        return;
    const Known from = x;
    const int64_t axis = below(static_cast<int64_t>(from.extents.size()));
    const int64_t extent = from.extents[static_cast<size_t>(axis)];
    if (extent < 2)
        return;
    Extents extents = from.extents;
    const bool backwards = oneIn(3);
    const int64_t step = 1 + below(2);
    const int64_t start = below(extent - 1);
    const int64_t end = start + 1 + below(extent - start);
    extents[static_cast<size_t>(axis)] = (end - start + step - 1) / step;
    const std::string a = ints({backwards ? end - 1 : start});
    const std::string b = ints({backwards ? start - 1 - extent : end});
    const std::string c = ints({oneIn(2) ? axis - static_cast<int64_t>(extents.size()) : axis});
    const std::string d = ints({backwards ? -step : step});
    add(fmt::format("Slice({}, {}, {}, {}, {})", from.name, a, b, c, d), extents);
}

inline void Writer::split(const Known& x) {
    if (x.extents.empty())
        return;
    const Known from = x;
    const int64_t axis = below(static_cast<int64_t>(from.extents.size()));
    const int64_t extent = from.extents[static_cast<size_t>(axis)];
    if (extent < 2)
        return;
    const int64_t first = oneIn(8) ? 0 : 1 + below(extent - 1);
    const std::string sizes = ints({first, extent - first});
    const std::string a = fresh(), b = fresh();
    m_sketch.lines.push_back(
        fmt::format("{}, {} = Split<axis={}>({}, {})", a, b, axis, from.name, sizes));
    Extents extents = from.extents;
    extents[static_cast<size_t>(axis)] = first;
    m_values.push_back({a, extents});
    extents[static_cast<size_t>(axis)] = extent - first;
    m_values.push_back({b, extents});
}

inline void Writer::concat(const Known& x) {
    if (x.extents.empty())
        return;
    const int64_t axis = below(static_cast<int64_t>(x.extents.size()));
    std::vector<std::string> names{x.name};
    Extents extents = x.extents;
    for (const Known& y : m_values) {
        if (y.extents.size() != x.extents.size() || names.size() > 3 || oneIn(2))
            continue;
        Extents others = y.extents;
        others[static_cast<size_t>(axis)] = extents[static_cast<size_t>(axis)];
        if (others != extents || extents[static_cast<size_t>(axis)] > 24)
            continue;
        extents[static_cast<size_t>(axis)] += y.extents[static_cast<size_t>(axis)];
        names.insert(oneIn(2) ? names.end() : names.begin(), y.name);
    }
    add(fmt::format("Concat<axis={}>({})", axis, joined(names)), extents);
}

inline void Writer::reduce(const Known& x) {
    static const std::vector<std::string> ops{"ReduceMean", "ReduceMax"};
    if (x.extents.empty() || *elementCount(x.extents) == 0)
        return;
    const int64_t axis = below(static_cast<int64_t>(x.extents.size()));
    const bool keep = oneIn(2);
    Extents extents = x.extents;
    if (keep)
        extents[static_cast<size_t>(axis)] = 1;
    else
        extents.erase(extents.begin() + axis);
    add(fmt::format("{}<axes=[{}],keepdims={}>({})", pick(ops), axis, keep ? 1 : 0, x.name),
        extents);
}

inline void Writer::softmax(const Known& x) {
    if (x.extents.empty())
        return;
    const int64_t axis = below(static_cast<int64_t>(x.extents.size()));
    add(fmt::format("{}<axis={}>({})", oneIn(4) ? "LogSoftmax" : "Softmax", axis, x.name),
        x.extents);
}

inline void Writer::matMul(const Known& x) {
    if (x.extents.size() < 2)
        return;
    Extents extents = x.extents;
    const Known from = x;
    for (const Known& y : m_values) {
        if (y.extents.size() != from.extents.size() || oneIn(2) ||
            y.extents[y.extents.size() - 2] != from.extents.back() ||
            !std::equal(y.extents.begin(), y.extents.end() - 2, from.extents.begin()))
            continue;
        extents.back() = y.extents.back();
        return add(fmt::format("MatMul({}, {})", from.name, y.name), extents);
    }
    const int64_t columns = 1 + below(6);
    if (from.extents.back() > 40)
        return;
    const std::string w = weight({from.extents.back(), columns});
    extents.back() = columns;
    add(fmt::format("MatMul({}, {})", from.name, w), extents);
}

inline void Writer::conv(const Known& x) {
    if (x.extents.size() != 4 || x.extents[1] == 0 || x.extents[1] > 16 || x.extents[2] < 1 ||
        x.extents[3] < 1)
        return;
    const Known from = x;
    const int64_t channels = from.extents[1], kernel = oneIn(2) ? 1 : 3;
    const bool depthwise = oneIn(4), strided = oneIn(4);
    const int64_t out = depthwise ? channels : 1 + below(5);
    const std::string w = weight({out, depthwise ? 1 : channels, kernel, kernel});
    const std::string b = oneIn(2) ? ", " + weight({out}) : "";
    const int64_t pad = kernel / 2, step = strided ? 2 : 1;
    Extents extents{from.extents[0], out, (from.extents[2] + 2 * pad - kernel) / step + 1,
                    (from.extents[3] + 2 * pad - kernel) / step + 1};
    add(fmt::format("Conv<group={},pads=[{},{},{},{}],strides=[{},{}]>({}, {}{})",
                    depthwise ? channels : 1, pad, pad, pad, pad, step, step, from.name, w, b),
        extents);
}

inline void Writer::pool(const Known& x) {
    if (x.extents.size() != 4 || x.extents[2] < 2 || x.extents[3] < 2)
        return;
    if (oneIn(3))
        return add(fmt::format("GlobalAveragePool({})", x.name),
                   {x.extents[0], x.extents[1], 1, 1});
    Extents extents{x.extents[0], x.extents[1], x.extents[2] - 1, x.extents[3] - 1};
    add(fmt::format("{}<kernel_shape=[2,2]>({})", oneIn(2) ? "MaxPool" : "AveragePool", x.name),
        extents);
}

inline void Writer::expand(const Known& x) {
    const Known from = x;
    Extents extents = from.extents;
    for (int64_t& extent : extents)
        if (extent == 1)
            extent = oneIn(2) ? 1 : 1 + below(4);
    if (oneIn(4) && extents.size() < 4)
        extents.insert(extents.begin(), 1 + below(2));
    const std::string target = ints(extents);
    add(fmt::format("Expand({}, {})", from.name, target), extents);
}

inline void Writer::norm(const Known& x) {
    if (x.extents.empty() || x.extents.back() < 2)
        return;
    const Known from = x;
    const std::string scale = weight({from.extents.back()});
    const std::string bias = oneIn(2) ? ", " + weight({from.extents.back()}) : "";
    add(fmt::format("LayerNormalization<axis=-1,epsilon=0.1>({}, {}{})", from.name, scale, bias),
        from.extents);
}

inline void Writer::pad(const Known& x) {
    const Known from = x;
    std::vector<int64_t> pads(2 * from.extents.size(), 0);
    Extents extents = from.extents;
    for (size_t d = 0; d < extents.size(); ++d) {
        pads[d] = below(2);
        pads[d + extents.size()] = below(2);
        extents[d] += pads[d] + pads[d + extents.size()];
    }
    const std::string amounts = ints(pads);
    add(fmt::format("Pad({}, {})", from.name, amounts), extents);
}

inline void Writer::gather(const Known& x) {
    if (x.extents.empty())
        return;
    const Known from = x;
    const int64_t axis = below(static_cast<int64_t>(from.extents.size()));
    const int64_t extent = from.extents[static_cast<size_t>(axis)];
    if (extent == 0)
        return;
    std::vector<int64_t> at(static_cast<size_t>(1 + below(3)));
    for (int64_t& index : at)
        index = below(2 * extent) - extent;
    Extents extents = from.extents;
    extents[static_cast<size_t>(axis)] = static_cast<int64_t>(at.size());
    const std::string indices = ints(at);
    add(fmt::format("Gather<axis={}>({}, {})", axis, from.name, indices), extents);
}

inline Sketch Writer::sketch() {
    static const std::vector<Extents> shapes{{2, 3, 4},    {1, 4, 5, 5}, {2, 3, 4, 4}, {6, 8},
                                             {1, 1, 2},    {5},          {2, 0, 3},    {1, 8, 3, 3},
                                             {3, 4, 4, 2}, {16},         {1, 6},       {}};
    using Step = void (Writer::*)(const Known&);
    static const std::vector<Step> steps{
        &Writer::unary,  &Writer::unary,  &Writer::unary,   &Writer::binary, &Writer::binary,
        &Writer::binary, &Writer::binary, &Writer::reshape, &Writer::slice,  &Writer::split,
        &Writer::concat, &Writer::concat, &Writer::reduce,  &Writer::matMul, &Writer::matMul,
        &Writer::conv,   &Writer::conv,   &Writer::softmax, &Writer::pool,   &Writer::transpose,
        &Writer::expand, &Writer::norm,   &Writer::pad,     &Writer::gather, &Writer::transpose};
    for (int64_t i = 1 + below(3); i-- > 0;) {
        Known input{fmt::format("x{}", i),
                    m_values.empty() || oneIn(2) ? pick(shapes) : m_values[0].extents};
        m_sketch.inputs +=
            fmt::format("{}float{} {}", m_sketch.inputs.empty() ? "" : ", ",
                        input.extents.empty() ? "" : fuselage::text(input.extents), input.name);
        m_values.push_back(input);
    }
    const int64_t nodes = 3 + below(14);
    for (int64_t i = 0; i < nodes; ++i) {
        const Known x = value();
        if (*elementCount(x.extents) >= 3000)
            continue;
        if (m_withBodies && oneIn(3))
            anyBody(x);
        else
            (this->*pick(steps))(x);
    }
    if (oneIn(6))
        m_values.insert(m_values.begin(), {weight({3}), {3}});
    std::vector<std::string> names{m_values.back().name};
    for (int64_t i = below(3); i-- > 0;)
        names.push_back(pick(m_values).name);
    for (const std::string& name : names)
        for (const Known& known : m_values)
            if (known.name == name)
                m_sketch.outputs.push_back(
                    fmt::format("float{} {}",
                                known.extents.empty() ? "" : fuselage::text(known.extents), name));
    return m_sketch;
}

} // namespace fuselage::testing_random

#include "tests/unit/random_bodies.h"
#include "tests/unit/random_views.h"
