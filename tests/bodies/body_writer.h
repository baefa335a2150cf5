// SPDX-License-Identifier: Apache-2.0
// Writes random bodies as text: contractions, reductions and windows among views in any order, with
// operands of every broadcast shape before and behind them. Everything is drawn from Choices, so a
// body shrinks; each list of numbers is a valid body.
#pragma once

#include "core/graph/type.h"
#include "tests/support/choices.h"

#include <string>
#include <vector>

namespace fuselage::bodies {

struct Body {
    std::string text;                  ///< ONNX's textual syntax
    std::vector<std::string> constant; ///< inputs that are weights
};

/// `type`: "float", "float16", "bfloat16", or "stored": float between pairs of QuantizeLinear and
/// DequantizeLinear.
Body writeBody(testing_support::Choices& choices, const std::string& type);

/// "2, 3": numbers of an attribute.
std::string listed(const std::vector<int64_t>& numbers);

/// The part that knows extents and writes one step after another; body_views.cpp,
/// body_anchors.cpp, body_attention.cpp and body_stored.cpp.
class BodyWriter {
public:
    BodyWriter(testing_support::Choices& choices, const std::string& type)
        : m_choices(choices), m_stored(type == "stored"), m_type(m_stored ? "float" : type) {}

    Body write();

private:
    struct Known {
        std::string name;
        Extents extents;
    };

    // Words of the text.
    std::string fresh(const char* stem);
    std::string declared(const Extents& extents, const std::string& name) const;
    std::string integers(const std::vector<int64_t>& values);
    Known operand(const Extents& extents);
    void add(const std::string& call, Extents extents);
    int64_t below(int64_t bound) { return m_choices.below(bound); }
    bool oneIn(int64_t n) { return m_choices.oneIn(n); }
    size_t axisOf(const Known& x) {
        return static_cast<size_t>(below(static_cast<int64_t>(x.extents.size())));
    }

    // One step on the newest value. A step that does not fit its extents does nothing.
    void step();
    void view();
    void reshapeTo(Extents extents);
    void splitDim();
    void joinDims();
    void regroup();
    void transpose();
    void slice();
    void split();
    void concat();
    void expand();
    void pad();
    void unary();
    void binary();
    Known broadcastOperand(const Extents& extents);
    void batchNorm();
    void anchor();
    void matMul();
    void gemm();
    void conv();
    void convTranspose();
    void pool();
    void reduce();
    void softmax();
    void layerNorm();
    void instanceNorm();
    void maxPool();
    void attention();
    void scoreStep();
    void weighWithSinks(const std::string& axis);
    std::string number(const char* value);

    // Of stored bodies.
    std::string zeroPoint(const std::string& type, int64_t count);
    std::string scaleOf(int64_t count);
    Known storedOperand(const Extents& extents);
    void pair();
    void storedConcat();
    void storedAnchor();

    testing_support::Choices& m_choices;
    bool m_stored;
    std::string m_type;
    std::vector<std::string> m_inputs, m_initializers, m_lines, m_constant;
    std::vector<Known> m_values; ///< the newest is last
    int m_next = 0;
};

} // namespace fuselage::bodies
