// SPDX-License-Identifier: Apache-2.0
#include "tests/bodies/body_writer.h"

#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fuselage::bodies {

using testing_support::Choices;

std::string listed(const std::vector<int64_t>& numbers) {
    return joined(numbers, [](int64_t number) { return std::to_string(number); });
}

std::string BodyWriter::fresh(const char* stem) {
    return stem + std::to_string(m_next++);
}

std::string BodyWriter::declared(const Extents& extents, const std::string& name) const {
    return m_type + (extents.empty() ? "" : fuselage::text(extents)) + " " + name;
}

std::string BodyWriter::integers(const std::vector<int64_t>& values) {
    std::string name = fresh("s");
    m_initializers.push_back(
        fmt::format("int64[{}] {} = {{{}}}", values.size(), name, listed(values)));
    return name;
}

/// A new input of these extents, a weight or not.
BodyWriter::Known BodyWriter::operand(const Extents& extents) {
    if (m_stored)
        return storedOperand(extents);
    Known out{fresh("x"), extents};
    m_inputs.push_back(declared(extents, out.name));
    if (!oneIn(3))
        m_constant.push_back(out.name);
    return out;
}

void BodyWriter::add(const std::string& call, Extents extents) {
    std::string name = fresh("t");
    m_lines.push_back(name + " = " + call);
    m_values.push_back({name, std::move(extents)});
}

Body BodyWriter::write() {
    static const std::vector<Extents> shapes{
        {4, 4},       {2, 3, 4},       {1, 4, 5, 5}, {2, 7, 16},
        {2, 3, 4, 4}, {6, 8},          {1, 6},       {5},
        {16},         {1, 8, 3, 3},    {3, 1, 8},    {2, 4, 6},
        {2, 2, 3, 8}, {2, 4, 3, 3, 3}, {40, 48},     {1, 16, 9, 9},
        {2, 20, 33},  {1, 3, 17, 18}};
    const Extents first = m_choices.pick(shapes);
    if (m_stored) {
        m_values.push_back(storedOperand(first));
        m_constant.clear(); // something must come from outside
    } else {
        m_values.push_back({fresh("x"), first});
        m_inputs.push_back(declared(first, m_values.back().name));
    }
    for (int64_t i = below(3); i > 0; --i)
        step();
    anchor();
    for (int64_t i = 1 + below(7); i > 0; --i)
        step();
    std::vector<std::string> outputs;
    const auto isOutput = [&](const Known& value) { return value.name.front() == 't'; };
    if (!isOutput(m_values.back()))
        unary();
    outputs.push_back(declared(m_values.back().extents, m_values.back().name));
    if (oneIn(5)) {
        const Known& other =
            m_values[static_cast<size_t>(below(static_cast<int64_t>(m_values.size())))];
        if (isOutput(other) && other.name != m_values.back().name)
            outputs.push_back(declared(other.extents, other.name));
    }
    const std::string initializers =
        m_initializers.empty() ? "" : "\n<" + joined(m_initializers) + ">";
    std::string lines;
    for (const std::string& line : m_lines)
        lines += "  " + line + "\n";
    return {fmt::format("g ({}) => ({}){} {{\n{}}}\n", joined(m_inputs), joined(outputs),
                        initializers, lines),
            m_constant};
}

void BodyWriter::step() {
    switch (below(10)) {
    case 0:
    case 1:
    case 2:
        return binary();
    case 3:
    case 4:
    case 5:
    case 6:
        return view();
    case 7:
    case 8:
        return unary();
    default:
        return oneIn(3) ? anchor() : m_stored ? pair() : batchNorm();
    }
}

void BodyWriter::unary() {
    static const std::vector<std::string> ops{"Relu", "Neg",       "Sigmoid",     "Tanh",
                                              "Abs",  "LeakyRelu", "HardSigmoid", "Identity",
                                              "Erf",  "Elu",       "HardSwish",   "Softplus"};
    static const std::vector<std::string> exact{"Relu", "Neg", "Abs", "Identity"};
    const Known x = m_values.back();
    add(fmt::format("{}({})", m_choices.pick(m_stored ? exact : ops), x.name), x.extents);
}

/// Extents that broadcast into the given ones: some dims one, leading dims absent.
BodyWriter::Known BodyWriter::broadcastOperand(const Extents& extents) {
    Extents own = extents;
    switch (below(5)) {
    case 0: // along the last dim
        own.assign(extents.empty() ? 0 : 1, extents.empty() ? 1 : extents.back());
        break;
    case 1: // a residual
        break;
    case 2: // along one dim
        for (size_t keep = own.empty()
                               ? 0
                               : static_cast<size_t>(below(static_cast<int64_t>(own.size()))),
                    d = 0;
             d < own.size(); ++d)
            own[d] = d == keep ? own[d] : 1;
        break;
    default:
        for (int64_t& extent : own)
            extent = oneIn(2) ? 1 : extent;
        while (!own.empty() && own[0] == 1 && oneIn(2))
            own.erase(own.begin());
    }
    if (own.size() < 2 || !oneIn(4))
        return operand(own);
    // Stored the other way round: read through a view.
    const Known stored = operand(Extents(own.rbegin(), own.rend()));
    std::vector<int64_t> backwards(own.size());
    std::iota(backwards.rbegin(), backwards.rend(), 0);
    const std::string name = fresh("v");
    m_lines.push_back(
        fmt::format("{} = Transpose<perm=[{}]>({})", name, listed(backwards), stored.name));
    return {name, own};
}

void BodyWriter::binary() {
    static const std::vector<std::string> ops{"Add", "Mul", "Sub", "Max", "Min"};
    const Known x = m_values.back();
    Known other;
    if (oneIn(4)) { // a value there is already, perhaps this one
        other = m_values[static_cast<size_t>(below(static_cast<int64_t>(m_values.size())))];
        bool fits = other.extents.size() <= x.extents.size();
        for (size_t d = 0; fits && d < other.extents.size(); ++d) {
            const int64_t mine = x.extents[x.extents.size() - other.extents.size() + d];
            fits = other.extents[d] == 1 || other.extents[d] == mine;
        }
        if (!fits)
            return;
    } else {
        other = broadcastOperand(x.extents);
    }
    static const std::vector<std::string> exact{"Add", "Sub", "Max", "Min"};
    const bool swapped = oneIn(3);
    add(fmt::format("{}({}, {})", m_choices.pick(m_stored ? exact : ops),
                    swapped ? other.name : x.name, swapped ? x.name : other.name),
        x.extents);
}

void BodyWriter::batchNorm() {
    const Known x = m_values.back();
    if (x.extents.size() < 2)
        return;
    const Extents channel{x.extents[1]};
    const Known scale = operand(channel), bias = operand(channel), mean = operand(channel);
    Known variance = operand(channel);
    const std::string positive = fresh("v");
    m_lines.push_back(fmt::format("{} = Abs({})", positive, variance.name));
    add(fmt::format("BatchNormalization<epsilon=0.5>({}, {}, {}, {}, {})", x.name, scale.name,
                    bias.name, mean.name, positive),
        x.extents);
}

Body writeBody(Choices& choices, const std::string& type) {
    return BodyWriter(choices, type).write();
}

} // namespace fuselage::bodies
