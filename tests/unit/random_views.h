// SPDX-License-Identifier: Apache-2.0
// The steps of Writer (random_graph.h) that only look at elements in another way, over inputs whose
// sizes are open: 0 and 1 mostly. What ONNX says of 0 and -1 in the target of a Reshape decides
// here which targets are written, so that each graph is one that must run.
#pragma once

#include "tests/unit/random_graph.h"

#include <climits>

#include <optional>

namespace fuselage::testing_random {

/// What a Reshape of `from` to `target` makes, by the specification; none where it is invalid.
inline std::optional<Extents> reshapedBySpecification(const Extents& from,
                                                      std::vector<int64_t> target, bool allowZero) {
    std::optional<size_t> open;
    int64_t others = 1;
    for (size_t i = 0; i < target.size(); ++i) {
        if (target[i] == 0 && !allowZero) {
            if (i >= from.size())
                return std::nullopt;
            target[i] = from[i];
        }
        if (target[i] == -1 && open)
            return std::nullopt;
        if (target[i] == -1)
            open = i;
        else
            others *= target[i];
    }
    const int64_t count = *elementCount(from);
    if (open) {
        if (others == 0 || count % others != 0)
            return std::nullopt;
        target[*open] = count / others;
    } else if (others != count) {
        return std::nullopt;
    }
    return target;
}

/// Any extents of that many elements.
inline Extents Writer::extentsOf(int64_t count) {
    Extents out;
    if (count == 0) {
        for (int64_t i = 1 + below(4); i-- > 0;)
            out.push_back(below(4));
        out[static_cast<size_t>(below(static_cast<int64_t>(out.size())))] = 0;
        return out;
    }
    for (int64_t rest = count; rest > 1 || out.empty();) {
        int64_t factor = rest;
        for (int64_t f : {2, 3, 4})
            if (rest % f == 0 && oneIn(2))
                factor = f;
        out.push_back(factor);
        rest /= factor;
    }
    if (oneIn(2))
        out.insert(out.begin() + below(static_cast<int64_t>(out.size()) + 1), 1);
    return out;
}

/// To numbers, some as 0 or -1.
inline void Writer::viewAsNumbers(const Known& x) {
    const Known from = x;
    std::vector<int64_t> target = extentsOf(*elementCount(from.extents));
    if (target.size() > 5)
        return;
    for (size_t i = 0; i < target.size(); ++i)
        if (i < from.extents.size() && target[i] == from.extents[i] && oneIn(2))
            target[i] = 0;
    if (oneIn(2))
        target[static_cast<size_t>(below(static_cast<int64_t>(target.size())))] = -1;
    const bool allowZero = oneIn(3);
    const auto extents = reshapedBySpecification(from.extents, target, allowZero);
    if (extents)
        add(fmt::format("Reshape<allowzero={}>({}, {})", allowZero ? 1 : 0, from.name,
                        ints(target)),
            *extents);
}

/// To the shape that another value has, or to a size of it and numbers.
inline void Writer::viewAsAnother(const Known& x) {
    const Known from = x, like = pick(m_values);
    const bool allowZero = oneIn(3);
    std::vector<int64_t> target = like.extents;
    if (like.extents.empty())
        return;
    const auto whole = reshapedBySpecification(from.extents, target, allowZero);
    const int64_t axis = below(static_cast<int64_t>(like.extents.size()));
    target = {like.extents[static_cast<size_t>(axis)], oneIn(2) ? -1 : 1 + below(4)};
    if (oneIn(2))
        target.push_back(target.back() == -1 ? 1 + below(3) : -1);
    const auto part = reshapedBySpecification(from.extents, target, allowZero);
    if (!whole && !part)
        return;
    std::string shape = fresh();
    if (whole) {
        m_sketch.lines.push_back(fmt::format("{} = Shape({})", shape, like.name));
    } else {
        m_sketch.lines.push_back(
            fmt::format("{} = Shape<start={},end={}>({})", shape, axis, axis + 1, like.name));
        const std::string rest = ints({target.begin() + 1, target.end()}), all = fresh();
        m_sketch.lines.push_back(fmt::format("{} = Concat<axis=0>({}, {})", all, shape, rest));
        shape = all;
    }
    add(fmt::format("Reshape<allowzero={}>({}, {})", allowZero ? 1 : 0, from.name, shape),
        whole ? *whole : *part);
}

inline void Writer::flatten(const Known& x) {
    const auto rank = static_cast<int64_t>(x.extents.size());
    const int64_t axis = below(rank + 1);
    int64_t rows = 1, columns = 1;
    for (int64_t i = 0; i < rank; ++i)
        (i < axis ? rows : columns) *= x.extents[static_cast<size_t>(i)];
    add(fmt::format("Flatten<axis={}>({})", axis, x.name), {rows, columns});
}

/// Takes an axis of extent 1 away, or adds one.
inline void Writer::squeeze(const Known& x) {
    const Known from = x;
    Extents extents = from.extents;
    const auto one = std::find(extents.begin(), extents.end(), 1);
    if (one != extents.end() && oneIn(2)) {
        const auto axis = static_cast<int64_t>(one - extents.begin());
        extents.erase(one);
        return add(fmt::format("Squeeze({}, {})", from.name, ints({axis})), extents);
    }
    if (extents.size() > 4)
        return;
    const int64_t axis = below(static_cast<int64_t>(extents.size()) + 1);
    extents.insert(extents.begin() + axis, 1);
    add(fmt::format("Unsqueeze({}, {})", from.name, ints({axis})), extents);
}

/// One place of an axis, which goes or stays; all places in their order; or as Writer::gather does.
inline void Writer::take(const Known& x) {
    if (x.extents.empty() || oneIn(3))
        return gather(x);
    const Known from = x;
    Extents extents = from.extents;
    const int64_t axis = below(static_cast<int64_t>(extents.size()));
    int64_t& extent = extents[static_cast<size_t>(axis)];
    if (extent == 0)
        return;
    if (oneIn(2)) {
        std::vector<int64_t> all;
        for (int64_t i = 0; i < extent; ++i)
            all.push_back(i);
        const std::string places = ints(all);
        return add(fmt::format("Gather<axis={}>({}, {})", axis, from.name, places), extents);
    }
    const std::string place = fresh();
    m_sketch.lines.push_back(fmt::format("{} = Constant<value_int={}>()", place, below(extent)));
    extents.erase(extents.begin() + axis);
    add(fmt::format("Gather<axis={}>({}, {})", axis, from.name, place), extents);
}

/// Any bounds within the axis, where inference takes them to be if its extent is open; nothing may
/// be left.
inline void Writer::cut(const Known& x) {
    if (x.extents.empty())
        return;
    const Known from = x;
    Extents extents = from.extents;
    const int64_t axis = below(static_cast<int64_t>(extents.size()));
    int64_t& extent = extents[static_cast<size_t>(axis)];
    const int64_t start = below(extent + 1), end = oneIn(2) ? INT64_MAX : below(extent + 1);
    extent = std::max<int64_t>(std::min(end, extent) - start, 0);
    const std::string a = ints({start}), b = ints({end}), c = ints({axis});
    add(fmt::format("Slice({}, {}, {}, {})", from.name, a, b, c), extents);
}

/// Axes of extent 1 to any, to none too.
inline void Writer::spread(const Known& x) {
    const Known from = x;
    Extents extents = from.extents;
    std::vector<int64_t> target;
    for (int64_t& extent : extents) {
        const bool spreads = extent == 1 && oneIn(2);
        extent = spreads ? below(4) : extent;
        target.push_back(!spreads && extent > 0 && oneIn(3) ? 1 : extent);
    }
    if (!target.empty())
        add(fmt::format("Expand({}, {})", from.name, ints(target)), extents);
}

inline Sketch Writer::viewsSketch() {
    using Step = void (Writer::*)(const Known&);
    static const std::vector<Step> steps{
        &Writer::viewAsNumbers, &Writer::viewAsNumbers, &Writer::viewAsAnother,
        &Writer::viewAsAnother, &Writer::flatten,       &Writer::squeeze,
        &Writer::take,          &Writer::take,          &Writer::cut,
        &Writer::spread,        &Writer::transpose,     &Writer::concat,
        &Writer::unary,         &Writer::split};
    static const std::vector<std::vector<std::string>> shapes{
        {"N", "4", "2"}, {"N", "M", "3"}, {"1", "N", "2", "M"}, {"N", "1"},
        {"M"},           {"2", "N"},      {"1", "M", "1"},      {"3", "2", "N", "1"}};
    static const std::vector<int64_t> sizes{0, 0, 1, 1, 2, 3};
    m_sketch.sizes = {{"N", pick(sizes)}, {"M", pick(sizes)}};
    for (int64_t i = 1 + below(3); i-- > 0;) {
        const std::vector<std::string>& shape = pick(shapes);
        Known input{fmt::format("x{}", i), {}};
        for (const std::string& dim : shape) {
            const auto open = m_sketch.sizes.find(dim);
            input.extents.push_back(open != m_sketch.sizes.end() ? open->second : std::stoll(dim));
        }
        m_sketch.inputs += fmt::format("{}float[{}] {}", m_sketch.inputs.empty() ? "" : ", ",
                                       joined(shape), input.name);
        m_values.push_back(input);
    }
    for (int64_t i = 2 + below(9); i-- > 0;) {
        const Known x = value();
        if (*elementCount(x.extents) < 500)
            (this->*pick(steps))(x);
    }
    for (size_t i :
         {m_values.size() - 1, static_cast<size_t>(below(static_cast<int64_t>(m_values.size())))}) {
        const Known& known = m_values[i];
        std::string dims; // the file does not say them
        for (size_t axis = 0; axis < known.extents.size(); ++axis)
            dims += fmt::format("{}o{}_{}", axis ? "," : "", m_sketch.outputs.size(), axis);
        m_sketch.outputs.push_back(
            fmt::format("float{} {}", dims.empty() ? "" : "[" + dims + "]", known.name));
    }
    for (const Known& known : m_values)
        m_sketch.extents[known.name] = known.extents;
    return m_sketch;
}

} // namespace fuselage::testing_random
