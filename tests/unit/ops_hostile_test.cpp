// SPDX-License-Identifier: Apache-2.0
// Every operator on operands and attributes that make no sense: it must answer, with values or an
// error, and never crash. Seeded, so a failure can be repeated; strongest under sanitizers.
#include "tests/unit/ops_harness.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

using namespace fuselage;
using namespace fuselage::testing;

namespace {

/// Numbers that tend to break index arithmetic. Sizes that fit into memory but hurt are left out.
class Chaos {
public:
    explicit Chaos(uint32_t seed) : m_engine(seed) {}

    int64_t below(int64_t bound) {
        return static_cast<int64_t>(m_engine() % static_cast<uint64_t>(bound));
    }

    bool oneIn(int64_t n) { return below(n) == 0; }

    int64_t integer() {
        constexpr int64_t extremes[] = {INT64_MIN,     INT64_MIN + 1,    INT64_MAX,
                                        INT64_MAX - 1, int64_t(1) << 40, -(int64_t(1) << 40)};
        return oneIn(12) ? extremes[below(6)] : below(8) - 3;
    }

    double number() {
        constexpr double extremes[] = {1e30, -1e30, std::numeric_limits<double>::infinity(),
                                       std::numeric_limits<double>::quiet_NaN()};
        return oneIn(12) ? extremes[below(4)] : static_cast<double>(below(17) - 8) / 2;
    }

    std::string word() {
        constexpr const char* words[] = {"",        "linear", "cubic",         "reflect",
                                         "add",     "none",   "align_corners", "bidirectional",
                                         "reverse", "max",    "NOTSET",        "SAME_UPPER"};
        return words[below(12)];
    }

    DType dtype() {
        constexpr DType types[] = {DType::Float32, DType::Float32, DType::Float32,
                                   DType::Int64,   DType::Int64,   DType::Bool,
                                   DType::UInt8,   DType::Float16, DType::String};
        return types[below(9)];
    }

    Extents extents() {
        Extents out(static_cast<size_t>(below(5)));
        for (int64_t& extent : out)
            extent = oneIn(8) ? 0 : 1 + below(3);
        return out;
    }

    ReferenceValue tensor(DType dtype, Extents extents) {
        ReferenceValue out = ReferenceValue::tensor(dtype, std::move(extents));
        for (double& value : out.floats)
            value = number();
        for (int64_t& value : out.ints)
            value = wrapTo(dtype, dtype == DType::Bool ? below(2) : integer());
        for (std::string& value : out.strings)
            value = word();
        return out;
    }

    AttributeValue attribute(const std::string& type) {
        const auto many = static_cast<size_t>(below(5));
        if (type == "int")
            return integer();
        if (type == "float")
            return number();
        if (type == "string")
            return word();
        if (type == "strings")
            return std::vector<std::string>(many, word());
        if (type == "tensor")
            return std::make_shared<const Tensor>(tensor(DType::Float32, {below(3)}).toTensor());
        if (type == "floats") {
            std::vector<double> out(many);
            for (double& value : out)
                value = number();
            return out;
        }
        std::vector<int64_t> out(many);
        for (int64_t& value : out)
            value = integer();
        return out;
    }

    AttributeList attributes(Op op) {
        AttributeList out;
        for (const AttributeSchema& schema : attributesOf(op))
            if (schema.type != "graph" && (schema.required || oneIn(2)))
                out.emplace_back(schema.name, attribute(schema.type));
        return out;
    }

    std::vector<ReferenceValue> inputs(const OpRow& row) {
        const int64_t most = std::min(row.maxInputs, 12) - row.minInputs + 1;
        std::vector<ReferenceValue> out;
        const Extents common = extents();
        const DType type = dtype();
        const int64_t count = row.minInputs + (most > 0 ? below(most) : 0);
        for (int64_t i = 0; i < count; ++i) {
            if (oneIn(10))
                out.push_back(omitted());
            else if (oneIn(3)) // parameters are mostly short lists
                out.push_back(tensor(DType::Int64, {below(4)}));
            else
                out.push_back(tensor(oneIn(2) ? type : dtype(), oneIn(2) ? common : extents()));
            if (oneIn(20)) {
                ReferenceValue sequence;
                sequence.kind = TypeKind::Sequence;
                sequence.dtype = out.back().dtype;
                sequence.elements.push_back(out.back());
                out.back() = std::move(sequence);
            }
        }
        return out;
    }

    Dim dim() {
        if (oneIn(4))
            return {};
        return oneIn(3) ? Dim::symbol("N") - Dim(below(3)) : Dim(integer());
    }

    std::optional<Known> known() {
        if (oneIn(10))
            return std::nullopt;
        Known out;
        out.type.dtype = dtype();
        out.type.kind = oneIn(20) ? TypeKind::Sequence : TypeKind::Tensor;
        if (oneIn(8))
            return out;
        Shape shape(static_cast<size_t>(below(5)));
        for (Dim& dim : shape)
            dim = oneIn(2) ? Dim(below(4)) : this->dim();
        if (isInteger(out.type.dtype) && oneIn(2)) {
            shape.resize(static_cast<size_t>(below(2)));
            Shape values(shape.empty() ? 1 : static_cast<size_t>(below(4)));
            for (Dim& dim : values)
                dim = this->dim();
            if (!shape.empty())
                shape[0] = static_cast<int64_t>(values.size());
            out.contents = std::move(values);
        }
        out.type.shape = std::move(shape);
        return out;
    }

private:
    std::mt19937 m_engine;
};

constexpr int trials = 150;

/// Subgraphs would have to be made up as well, so control flow is left out.
std::vector<Op> testedOps() {
    std::vector<Op> out;
    for (const OpRow& row : allRows())
        if (row.infer && (row.traits & ControlFlow) == 0)
            out.push_back(row.op);
    return out;
}

class HostileOperands : public ::testing::TestWithParam<Op> {
protected:
    const OpRow& row() const { return rowOf(GetParam()); }

    size_t outputs() const { return static_cast<size_t>(std::min(row().maxOutputs, 3)); }

    Chaos m_chaos{static_cast<uint32_t>(GetParam()) * 7919U};
};

} // namespace

TEST_P(HostileOperands, ReferenceFunctionAnswers) {
    if (!canEvaluate(GetParam()))
        GTEST_SKIP() << "no reference function";
    for (int i = 0; i < trials; ++i) {
        const auto inputs = m_chaos.inputs(row());
        auto results = run(GetParam(), inputs, m_chaos.attributes(GetParam()), outputs());
        if (!results) {
            EXPECT_FALSE(results.error().message.empty());
            continue;
        }
        for (const ReferenceValue& value : *results)
            if (value.kind == TypeKind::Tensor) {
                EXPECT_EQ(elementCount(value.extents), value.count()) << "trial " << i;
            }
    }
}

TEST_P(HostileOperands, ShapeFunctionAnswers) {
    for (int i = 0; i < trials; ++i) {
        std::vector<std::optional<Known>> inputs;
        const int64_t most = std::min(row().maxInputs, 12) - row().minInputs + 1;
        const int64_t count = row().minInputs + (most > 0 ? m_chaos.below(most) : 0);
        for (int64_t k = 0; k < count; ++k)
            inputs.push_back(m_chaos.known());
        const Inference out(GetParam(), std::move(inputs), m_chaos.attributes(GetParam()),
                            outputs());
        EXPECT_LT(out.problems().size(), 10000U);
    }
}

INSTANTIATE_TEST_SUITE_P(Operators, HostileOperands, ::testing::ValuesIn(testedOps()),
                         [](const auto& info) {
                             return std::string(nameOf(info.param)) +
                                    (rowOf(info.param).domain[0] ? "_contrib" : "");
                         });
