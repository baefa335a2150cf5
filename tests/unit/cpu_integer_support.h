// SPDX-License-Identifier: Apache-2.0
// Bodies of 8-bit integers with operands that a generator of fixed seeds draws, and their judge.
#pragma once

#include "cpu_support.h"

#include <random>

namespace fuselage::testing_cpu {

class Draw {
public:
    explicit Draw(uint32_t seed) : m_random(seed) {}

    int64_t from(int64_t low, int64_t high) {
        return low + static_cast<int64_t>(m_random() % static_cast<uint32_t>(high - low + 1));
    }

    bool coin() { return from(0, 1) == 1; }

    /// Over the whole range of the type; its ends often.
    Tensor bytes(DType dtype, const Extents& extents) {
        Tensor out(dtype, extents);
        for (int64_t i = 0; i < out.elementCount(); ++i) {
            const int64_t pick = from(0, 9);
            const int64_t value = pick == 0 ? 0 : pick == 1 ? 255 : from(0, 255);
            out.bytes()[i] = static_cast<std::byte>(value);
        }
        return out;
    }

    Tensor scales(const Extents& extents) {
        std::vector<float> values;
        for (int64_t i = 0; i < *elementCount(extents); ++i)
            values.push_back(static_cast<float>(from(1, 4000)) * 1e-4F);
        return Tensor::ofFloats(extents, values);
    }

private:
    std::mt19937 m_random;
};

/// Rounded to the type.
inline Tensor stored(const Tensor& floats, DType type) {
    ReferenceValue value = ReferenceValue::from(floats);
    value.dtype = type;
    for (double& number : value.floats)
        number = roundTo(type, number);
    return value.toTensor();
}

/// Sums of floats are as exact as the largest of what was summed.
inline void expectNearLargest(const ReferenceValue& made, const ReferenceValue& wanted,
                              double tolerance) {
    double largest = 0;
    for (double value : wanted.floats)
        largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
    ASSERT_EQ(made.extents, wanted.extents);
    for (size_t i = 0; i < wanted.floats.size(); ++i) {
        if (std::isnan(made.floats[i]) && std::isnan(wanted.floats[i]))
            continue;
        ASSERT_NEAR(made.floats[i], wanted.floats[i], tolerance * largest) << "element " << i;
    }
}

inline std::string typed(DType dtype, const Extents& extents, const std::string& name) {
    return std::string(nameOf(dtype)) + (extents.empty() ? "" : text(extents)) + " " + name;
}

/// A body under construction with its operands' values.
struct Case {
    std::string parameters, arguments;
    std::map<std::string, Tensor> constants;
    std::map<std::string, Tensor> inputs;

    void add(const std::string& name, Tensor value, bool constant) {
        parameters +=
            (parameters.empty() ? "" : ", ") + typed(value.dtype(), value.extents(), name);
        arguments += (arguments.empty() ? "" : ", ") + name;
        (constant ? constants : inputs).emplace(name, std::move(value));
    }

    DType typeOf(const std::string& name) const {
        const auto constant = constants.find(name);
        return constant == constants.end() ? inputs.at(name).dtype() : constant->second.dtype();
    }

    std::string body(const std::string& op, const std::string& attributes, DType dtype,
                     const Extents& result, const std::string& more = "") const {
        const std::string y = more.empty() ? "y" : "c";
        return "(" + parameters + ") => (" + typed(dtype, result, "y") + ") { " + y + " = " + op +
               attributes + "(" + arguments + ") " + more + " }";
    }
};

/// Equal to the body node by node, in both orders, on one and two threads, with every table of
/// vector loops; the tactic with the best.
inline std::string expectExact(const Case& drawn, const std::string& body,
                               double tolerance = 1e-6) {
    SCOPED_TRACE(body);
    LowerRequest request = bodyFrom(body, drawn.constants);
    KernelProgram program = programOf(request);
    if (!program.body)
        return {};
    EXPECT_STREQ(nameOf(kindOf(program)), "Contraction");
    std::vector<ReferenceValue> inputs;
    for (ValueId id : request.body->inputs()) {
        const std::string& name = request.body->value(id).name;
        auto constant = drawn.constants.find(name);
        inputs.push_back(ReferenceValue::from(
            constant == drawn.constants.end() ? drawn.inputs.at(name) : constant->second));
    }
    ThreadPool threads(1);
    Progress progress;
    auto wanted = interpret(*request.body, inputs, threads, progress);
    auto evaluated = evaluate(program, inputs);
    EXPECT_TRUE(wanted && evaluated);
    if (!wanted || !evaluated)
        return {};
    expectNear(evaluated->outputs[0], (*wanted)[0], tolerance > 1e-6 ? tolerance : 0);
    std::string best;
    for (size_t table = 0; table < vectorTableCount(); ++table)
        for (auto order : {testing_cpu::Order::RowMajor, testing_cpu::Order::ChannelsLast})
            for (int count = 1; count <= (table == 0 ? 2 : 1); ++count) {
                CpuRun run = runOnCpu(program, inputs, request.constants, order, count,
                                      prepareKernel, vectorTable(table));
                best = table == 0 ? run.tactic : best;
                SCOPED_TRACE(std::string(vectorTable(table).name) + ": " + run.tactic);
                if (!run.outputs.empty())
                    expectNear(run.outputs[0], (*wanted)[0], tolerance);
            }
    return best;
}

inline DType byteType(Draw& draw) {
    return draw.coin() ? DType::Int8 : DType::UInt8;
}

} // namespace fuselage::testing_cpu
