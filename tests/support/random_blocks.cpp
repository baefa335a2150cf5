// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_blocks.h"

#include "core/graph/type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace fuselage::testing_support {

namespace {

struct Value {
    std::string name;
    Extents extents;
};

/// Writes one block. Every kind of step looks at the value that was made last; where it does not
/// fit, nothing is written.
class Writer {
public:
    Writer(Choices& choices, const BlockLimits& limits)
        : m_choices(choices), m_mostElements(limits.elements) {
        static const std::vector<std::string> types{"float", "double", "int32", "int64"};
        if (limits.anyType)
            m_type = m_choices.pick(types);
    }

    std::string write() {
        start();
        for (int64_t left = 2 + m_choices.below(7); left > 0; --left)
            step();
        return "(" + m_inputs + ") => (" + typed(m_now) + ") { " + m_body + "}";
    }

private:
    std::string typed(const Value& value) const {
        return fmt::format("{}[{}] {}", m_type, fmt::join(value.extents, ","), value.name);
    }

    bool isInteger() const { return m_type[0] == 'i'; }

    static int64_t count(const Extents& extents) {
        return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
    }

    void start() {
        static const std::vector<int64_t> sizes{4,  1,  2,   3,   7,   8,   16,  24,  31,  32,  49,
                                                64, 96, 100, 128, 197, 256, 384, 512, 768, 1000};
        Extents extents(static_cast<size_t>(2 + m_choices.below(3)));
        for (int64_t& extent : extents)
            extent = m_choices.pick(sizes);
        while (count(extents) > m_mostElements)
            for (int64_t& extent : extents)
                extent = (extent + 1) / 2;
        m_now = input("x", extents);
        m_values.push_back(m_now);
    }

    Value input(const std::string& prefix, const Extents& extents) {
        // Weights are floats.
        Value out{fmt::format("{}{}", m_type == "float" ? prefix : "x", m_made++), extents};
        m_inputs += (m_inputs.empty() ? "" : ", ") + typed(out);
        return out;
    }

    /// Of a node that makes one value, written without it.
    Value make(const std::string& text, const Extents& extents) {
        Value out{fmt::format("v{}", m_made++), extents};
        m_body += out.name + " = " + text + " ";
        return out;
    }

    void become(const std::string& text, const Extents& extents) {
        m_now = make(text, extents);
        m_values.push_back(m_now);
    }

    size_t axis() {
        return static_cast<size_t>(m_choices.below(static_cast<int64_t>(m_now.extents.size())));
    }

    std::string constantInts(const Extents& values) {
        return make(fmt::format("Constant<value_ints = [{}]>()", fmt::join(values, ", ")),
                    {static_cast<int64_t>(values.size())})
            .name;
    }

    void step() {
        switch (m_choices.below(isInteger() ? 11 : 16)) {
        case 0:
        case 1:
            return unary();
        case 2:
        case 3:
            return withConstant();
        case 4:
            return withOther();
        case 5:
            return reduced();
        case 6:
            return normalised();
        case 7:
            return transposed();
        case 8:
            return reshaped();
        case 9:
            return cut();
        case 10:
            return joined();
        case 11:
        case 12:
            return multiplied();
        case 13:
            return convolved();
        case 14:
            return pooled();
        default:
            return gated();
        }
    }

    void unary() {
        static const std::vector<std::string> all{"Relu", "Sigmoid",   "Tanh",     "Neg", "Abs",
                                                  "Erf",  "HardSwish", "Softplus", "Elu"};
        static const std::vector<std::string> ofIntegers{"Neg", "Abs"};
        become(fmt::format("{}({})", m_choices.pick(isInteger() ? ofIntegers : all), m_now.name),
               m_now.extents);
    }

    /// Some dimensions of the value, 1 in place of the others.
    Extents part() {
        Extents out = m_now.extents;
        for (int64_t& extent : out)
            if (!m_choices.oneIn(2))
                extent = 1;
        if (m_choices.oneIn(3)) // as a bias is written
            out.erase(out.begin(), out.end() - 1);
        return out;
    }

    std::string binary() {
        static const std::vector<std::string> all{"Add", "Mul", "Sub", "Max", "Min"};
        static const std::vector<std::string> ofIntegers{"Add", "Sub", "Max",
                                                         "Min"}; // none grows fast
        return m_choices.pick(isInteger() ? ofIntegers : all);
    }

    void withConstant() {
        const Value other = input(m_choices.oneIn(4) ? "x" : "w", part());
        become(fmt::format("{}({}, {})", binary(), m_now.name, other.name), m_now.extents);
    }

    /// A value of the same shape, this one or one that was made before.
    Value another() {
        std::vector<Value> alike;
        for (const Value& value : m_values)
            if (value.extents == m_now.extents)
                alike.push_back(value);
        return m_choices.pick(alike);
    }

    /// With a value that was made before, of the same shape.
    void withOther() {
        const Value other = another();
        become(fmt::format("{}({}, {})", binary(), m_now.name, other.name), m_now.extents);
    }

    /// A reduction, and often what it is taken from and it in one expression.
    void reduced() {
        static const std::vector<std::string> all{"ReduceMean", "ReduceMax", "ReduceL2"};
        static const std::vector<std::string> ofIntegers{"ReduceMax", "ReduceMin"};
        const size_t along = axis();
        Extents extents = m_now.extents;
        extents[along] = 1;
        const Value whole = m_now;
        const Value result =
            make(fmt::format("{}<axes = [{}], keepdims = 1>({})",
                             m_choices.pick(isInteger() ? ofIntegers : all), along, m_now.name),
                 extents);
        m_now = result;
        m_values.push_back(result);
        if (!m_choices.oneIn(3))
            become(fmt::format("{}({}, {})", binary(), whole.name, result.name), whole.extents);
    }

    void normalised() {
        if (isInteger())
            return;
        if (m_choices.oneIn(2))
            return become(fmt::format("Softmax<axis = {}>({})", axis(), m_now.name), m_now.extents);
        const Extents last{m_now.extents.back()};
        const Value scale = input("w", last), shift = input("w", last);
        become(fmt::format("LayerNormalization<axis = -1>({}, {}, {})", m_now.name, scale.name,
                           shift.name),
               m_now.extents);
    }

    void transposed() {
        std::vector<size_t> order(m_now.extents.size());
        std::iota(order.begin(), order.end(), size_t{0});
        for (size_t i = order.size(); i-- > 1;)
            std::swap(order[i],
                      order[static_cast<size_t>(m_choices.below(static_cast<int64_t>(i) + 1))]);
        Extents extents;
        for (size_t from : order)
            extents.push_back(m_now.extents[from]);
        become(fmt::format("Transpose<perm = [{}]>({})", fmt::join(order, ", "), m_now.name),
               extents);
    }

    /// Two neighbours become one dimension, or one becomes two.
    void reshaped() {
        Extents extents = m_now.extents;
        const size_t at = axis();
        const int64_t factor = m_choices.pick(std::vector<int64_t>{2, 4, 8});
        if (extents.size() > 2 && at + 1 < extents.size() && m_choices.oneIn(2)) {
            extents[at] *= extents[at + 1];
            extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        } else if (extents.size() < 4 && extents[at] % factor == 0) {
            extents[at] /= factor;
            extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(at) + 1, factor);
        } else {
            return;
        }
        const std::string shape = constantInts(extents);
        become(fmt::format("Reshape({}, {})", m_now.name, shape), extents);
    }

    void cut() {
        const size_t along = axis();
        if (m_now.extents[along] < 2)
            return;
        Extents extents = m_now.extents;
        const int64_t from = m_choices.below(2);
        extents[along] = std::max<int64_t>(1, (extents[along] - from) / 2);
        const std::string begin = constantInts({from}), end = constantInts({from + extents[along]}),
                          axes = constantInts({static_cast<int64_t>(along)});
        become(fmt::format("Slice({}, {}, {}, {})", m_now.name, begin, end, axes), extents);
    }

    void joined() {
        const size_t along = axis();
        Extents extents = m_now.extents;
        extents[along] *= 2;
        if (count(extents) > m_mostElements)
            return;
        const Value other = another();
        become(fmt::format("Concat<axis = {}>({}, {})", along, m_now.name, other.name), extents);
    }

    void multiplied() {
        static const std::vector<int64_t> widths{16, 1, 3, 32, 64, 100, 256, 512};
        Extents extents = m_now.extents;
        const int64_t depth = extents.back(), width = m_choices.pick(widths);
        extents.back() = width;
        if (count(extents) > m_mostElements || count(extents) * depth > 200 * m_mostElements)
            return;
        const Value weight = input("w", {depth, width});
        become(fmt::format("MatMul({}, {})", m_now.name, weight.name), extents);
    }

    void convolved() {
        Extents extents = m_now.extents;
        if (extents.size() != 4)
            return;
        const int64_t channels = extents[1];
        const bool isDepthwise = m_choices.oneIn(3);
        const int64_t kernel = m_choices.oneIn(2) ? 3 : 1;
        const int64_t out =
            isDepthwise ? channels : m_choices.pick(std::vector<int64_t>{8, 16, 32, 64});
        const int64_t each = isDepthwise ? 1 : channels;
        extents[1] = out;
        if (count(extents) > m_mostElements ||
            count(extents) * each * kernel * kernel > 200 * m_mostElements)
            return;
        const Value weight = input("w", {out, each, kernel, kernel});
        const int64_t pad = kernel / 2;
        become(fmt::format("Conv<pads = [{0}, {0}, {0}, {0}], group = {1}>({2}, {3})", pad,
                           isDepthwise ? channels : 1, m_now.name, weight.name),
               extents);
    }

    void pooled() {
        Extents extents = m_now.extents;
        if (extents.size() != 4 || extents[2] < 2 || extents[3] < 2)
            return;
        if (m_choices.oneIn(3)) {
            extents[2] = extents[3] = 1;
            return become(fmt::format("GlobalAveragePool({})", m_now.name), extents);
        }
        extents[2] /= 2;
        extents[3] /= 2;
        become(fmt::format("{}<kernel_shape = [2, 2], strides = [2, 2]>({})",
                           m_choices.oneIn(2) ? "AveragePool" : "MaxPool", m_now.name),
               extents);
    }

    void gated() {
        const Value gate = make(fmt::format("Sigmoid({})", m_now.name), m_now.extents);
        become(fmt::format("Mul({}, {})", m_now.name, gate.name), m_now.extents);
    }

    Choices& m_choices;
    int64_t m_mostElements;
    std::string m_type = "float";
    Value m_now;
    std::vector<Value> m_values; ///< that later steps may read again
    std::string m_inputs, m_body;
    int m_made = 0;
};

} // namespace

std::string randomBlock(Choices& choices, const BlockLimits& limits) {
    return Writer(choices, limits).write();
}

} // namespace fuselage::testing_support
