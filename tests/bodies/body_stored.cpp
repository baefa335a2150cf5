// SPDX-License-Identifier: Apache-2.0
// Bodies whose values are stored as 8-bit integers between the steps. Scales are powers of two and
// steps only those that are exact on such numbers, so that every way to run a body rounds the same
// values and gives the same bits.
#include "core/support/text.h"
#include "tests/bodies/body_writer.h"

#include <fmt/format.h>

namespace fuselage::bodies {

namespace {

std::string power(int64_t exponent) {
    return fmt::format("{}", 1.0 / static_cast<double>(int64_t{1} << exponent));
}

} // namespace

/// ", z" of a new zero point, or nothing: it is zero.
std::string BodyWriter::zeroPoint(const std::string& type, int64_t count) {
    if (oneIn(2))
        return "";
    const std::string name = fresh("z");
    std::vector<int64_t> values;
    for (int64_t i = 0; i < std::max<int64_t>(count, 1); ++i)
        values.push_back(type == "uint8" ? below(256) : below(256) - 128);
    m_initializers.push_back(fmt::format("{}{} {} = {{{}}}", type,
                                         count > 0 ? fmt::format("[{}]", count) : "", name,
                                         listed(values)));
    return ", " + name;
}

/// A scale of 1/8, 1/16 or 1/32, or one for each of `count` indices.
std::string BodyWriter::scaleOf(int64_t count) {
    const std::string name = fresh("s");
    std::vector<std::string> values;
    for (int64_t i = 0; i < std::max<int64_t>(count, 1); ++i)
        values.push_back(power(3 + below(3)));
    m_initializers.push_back(fmt::format(
        "float{} {} = {{{}}}", count > 0 ? fmt::format("[{}]", count) : "", name, joined(values)));
    return name;
}

/// A new stored input, a weight or not, dequantised.
BodyWriter::Known BodyWriter::storedOperand(const Extents& extents) {
    const std::string type = oneIn(2) ? "uint8" : "int8";
    const std::string name = fresh("x"), out = fresh("v");
    m_inputs.push_back(type + (extents.empty() ? "" : fuselage::text(extents)) + " " + name);
    if (!oneIn(4))
        m_constant.push_back(name);
    int64_t count = 0;
    size_t axis = 0;
    if (!extents.empty() && oneIn(2)) {
        axis = axisOf({name, extents});
        count = extents[axis];
    }
    const std::string scale = scaleOf(count);
    m_lines.push_back(fmt::format("{} = DequantizeLinear<axis={}>({}, {}{})", out, axis, name,
                                  scale, zeroPoint(type, count)));
    return {out, extents};
}

/// The newest value rounded to 8 bits.
void BodyWriter::pair() {
    const Known x = m_values.back();
    const std::string type = oneIn(2) ? "uint8" : "int8";
    const std::string scale = scaleOf(0), zero = zeroPoint(type, 0), stored = fresh("q");
    m_lines.push_back(fmt::format("{} = QuantizeLinear({}, {}{})", stored, x.name, scale, zero));
    add(fmt::format("DequantizeLinear({}, {}{})", stored, scale, zero), x.extents);
}

/// The newest value beside a stored operand, all with one scale and zero point.
void BodyWriter::storedConcat() {
    const Known x = m_values.back();
    if (x.extents.empty() || *elementCount(x.extents) * 2 > mostElements)
        return;
    const std::string type = oneIn(2) ? "uint8" : "int8";
    const std::string scale = scaleOf(0), zero = zeroPoint(type, 0);
    const std::string stored = fresh("q"), left = fresh("v"), right = fresh("v");
    const size_t axis = axisOf(x);
    Extents extents = x.extents, others = x.extents;
    others[axis] = 1 + below(3);
    extents[axis] += others[axis];
    const std::string other = fresh("x"), joined = fresh("v"), result = fresh("q");
    m_inputs.push_back(type + fuselage::text(others) + " " + other);
    m_lines.push_back(fmt::format("{} = QuantizeLinear({}, {}{})", stored, x.name, scale, zero));
    m_lines.push_back(fmt::format("{} = DequantizeLinear({}, {}{})", left, stored, scale, zero));
    m_lines.push_back(fmt::format("{} = DequantizeLinear({}, {}{})", right, other, scale, zero));
    m_lines.push_back(fmt::format("{} = Concat<axis={}>({}, {})", joined, axis, left, right));
    m_lines.push_back(fmt::format("{} = QuantizeLinear({}, {}{})", result, joined, scale, zero));
    add(fmt::format("DequantizeLinear({}, {}{})", result, scale, zero), std::move(extents));
}

void BodyWriter::storedAnchor() {
    pair();
    const size_t before = m_lines.size();
    switch (below(5)) {
    case 0:
    case 1:
        matMul();
        break;
    case 2:
    case 3:
        conv();
        break;
    default:
        maxPool();
    }
    if (m_lines.size() == before)
        matMul();
    for (int64_t i = below(3); i > 0; --i)
        oneIn(2) ? unary() : binary();
    if (oneIn(4))
        storedConcat();
    if (!oneIn(4))
        pair();
}

} // namespace fuselage::bodies
