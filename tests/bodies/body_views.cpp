// SPDX-License-Identifier: Apache-2.0
// The steps that move elements and compute nothing.
#include "core/support/text.h"
#include "tests/bodies/body_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fuselage::bodies {

namespace {

constexpr size_t mostDims = 6;
constexpr int64_t mostElements = 4000;

} // namespace

void BodyWriter::view() {
    switch (below(9)) {
    case 0:
        return splitDim();
    case 1:
        return transpose();
    case 2:
        return joinDims();
    case 3:
        return regroup();
    case 4:
        return slice();
    case 5:
        return concat();
    case 6:
        return split();
    case 7:
        return expand();
    default:
        return pad();
    }
}

void BodyWriter::reshapeTo(Extents extents) {
    if (extents.size() > mostDims || extents.empty())
        return;
    const Known x = m_values.back();
    const std::string target = integers(extents);
    add(fmt::format("Reshape({}, {})", x.name, target), std::move(extents));
}

/// One dim becomes two, as heads of attention or groups of channels.
void BodyWriter::splitDim() {
    Extents extents = m_values.back().extents;
    if (extents.empty())
        return;
    const size_t axis = extents.size() - 1 - axisOf(m_values.back());
    const int64_t extent = extents[axis];
    std::vector<int64_t> factors;
    for (int64_t factor = 2; factor < extent; ++factor)
        if (extent % factor == 0)
            factors.push_back(factor);
    if (factors.empty())
        factors.push_back(1);
    const int64_t outer = m_choices.pick(factors);
    extents[axis] = extent / outer;
    extents.insert(extents.begin() + static_cast<ptrdiff_t>(axis), outer);
    reshapeTo(std::move(extents));
}

void BodyWriter::joinDims() {
    Extents extents = m_values.back().extents;
    if (extents.size() < 2)
        return;
    const auto axis = static_cast<size_t>(below(static_cast<int64_t>(extents.size()) - 1));
    extents[axis] *= extents[axis + 1];
    extents.erase(extents.begin() + static_cast<ptrdiff_t>(axis) + 1);
    reshapeTo(std::move(extents));
}

/// Any other extents of as many elements: a dim may begin in one old dim and end in another.
void BodyWriter::regroup() {
    const int64_t count = *elementCount(m_values.back().extents);
    Extents extents;
    for (int64_t rest = count; rest > 1 || extents.empty();) {
        int64_t factor = rest;
        for (int64_t f : {2, 3, 4, 5, 6, 7})
            if (rest % f == 0 && oneIn(2))
                factor = f;
        extents.push_back(factor);
        rest /= factor;
    }
    if (oneIn(3))
        extents.insert(extents.begin() + below(static_cast<int64_t>(extents.size()) + 1), 1);
    reshapeTo(std::move(extents));
}

void BodyWriter::transpose() {
    const Known x = m_values.back();
    if (x.extents.size() < 2)
        return;
    std::vector<int64_t> perm(x.extents.size());
    std::iota(perm.begin(), perm.end(), 0);
    if (oneIn(2)) { // any order
        for (size_t i = perm.size(); i > 1; --i)
            std::swap(perm[i - 1], perm[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
    } else {
        const auto axis = static_cast<size_t>(below(static_cast<int64_t>(perm.size()) - 1));
        std::swap(perm[axis], perm[axis + 1]);
    }
    Extents extents;
    for (int64_t axis : perm)
        extents.push_back(x.extents[static_cast<size_t>(axis)]);
    add(fmt::format("Transpose<perm=[{}]>({})", listed(perm), x.name), std::move(extents));
}

void BodyWriter::slice() {
    const Known x = m_values.back();
    if (x.extents.empty())
        return;
    const size_t axis = axisOf(x);
    const int64_t extent = x.extents[axis];
    if (extent < 2)
        return;
    const int64_t start = below(extent), length = 1 + below(extent - start), step = 1 + below(2);
    const bool backwards = oneIn(4);
    Extents extents = x.extents;
    extents[axis] = (length + step - 1) / step;
    const int64_t from = backwards ? start + length - 1 : start;
    const int64_t to = backwards ? start - 1 - extent : start + length;
    const std::string begins = integers({from}), ends = integers({to});
    const std::string axes = integers({static_cast<int64_t>(axis)});
    const std::string steps = integers({backwards ? -step : step});
    add(fmt::format("Slice({}, {}, {}, {}, {})", x.name, begins, ends, axes, steps),
        std::move(extents));
}

void BodyWriter::concat() {
    const Known x = m_values.back();
    if (x.extents.empty() || *elementCount(x.extents) * 2 > mostElements)
        return;
    const size_t axis = axisOf(x);
    Extents others = x.extents;
    Known other = x;
    if (oneIn(2)) {
        others[axis] = 1 + below(3);
        other = operand(others);
    } else { // a value of the body, where one fits
        for (size_t i = m_values.size(); i-- > 0;) {
            Extents alike = m_values[i].extents;
            if (alike.size() != x.extents.size())
                continue;
            alike[axis] = x.extents[axis];
            if (alike == x.extents && oneIn(2)) {
                other = m_values[i];
                break;
            }
        }
    }
    Extents extents = x.extents;
    extents[axis] += other.extents[axis];
    const bool swapped = oneIn(2);
    add(fmt::format("Concat<axis={}>({}, {})", axis, swapped ? other.name : x.name,
                    swapped ? x.name : other.name),
        std::move(extents));
}

/// Both parts are values of the body; the second is the newest.
void BodyWriter::split() {
    const Known x = m_values.back();
    if (x.extents.empty())
        return;
    const size_t axis = axisOf(x);
    const int64_t extent = x.extents[axis];
    if (extent < 2)
        return;
    const int64_t first = 1 + below(extent - 1);
    const std::string sizes = integers({first, extent - first});
    const std::string a = fresh("t"), b = fresh("t");
    m_lines.push_back(fmt::format("{}, {} = Split<axis={}>({}, {})", a, b, axis, x.name, sizes));
    Extents extents = x.extents;
    extents[axis] = first;
    m_values.push_back({a, extents});
    extents[axis] = extent - first;
    m_values.push_back({b, std::move(extents)});
}

void BodyWriter::expand() {
    const Known x = m_values.back();
    Extents extents = x.extents;
    for (int64_t& extent : extents)
        if (extent == 1)
            extent = 1 + below(3);
    if (extents.size() < 4 && oneIn(3))
        extents.insert(extents.begin(), 2);
    if (extents.empty() || *elementCount(extents) > mostElements)
        return;
    const std::string target = integers(extents);
    add(fmt::format("Expand({}, {})", x.name, target), std::move(extents));
}

void BodyWriter::pad() {
    const Known x = m_values.back();
    if (x.extents.empty())
        return;
    static const std::vector<std::string> modes{"constant", "reflect", "edge", "wrap"};
    const std::string& mode = m_choices.pick(modes);
    const size_t axis = axisOf(x), rank = x.extents.size();
    std::vector<int64_t> pads(2 * rank, 0);
    pads[axis] = below(2);
    pads[axis + rank] = 1;
    if (oneIn(3)) // corners, and more than an extent where the mode goes round again
        for (int64_t& amount : pads)
            amount += below(3);
    Extents extents = x.extents;
    for (size_t d = 0; d < rank; ++d)
        extents[d] += pads[d] + pads[d + rank];
    if (*elementCount(extents) > mostElements)
        return;
    const std::string amounts = integers(pads);
    add(fmt::format("Pad<mode=\"{}\">({}, {})", mode, x.name, amounts), std::move(extents));
}

} // namespace fuselage::bodies
