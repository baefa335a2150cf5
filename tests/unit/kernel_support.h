// SPDX-License-Identifier: Apache-2.0
// Bodies from text for tests of lowering: lowers, evaluates the program and compares it with the
// body run node by node.
#pragma once

#include "core/cost/cost.h"
#include "core/kernel/evaluate.h"
#include "core/kernel/lower.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace fuselage::testing_kernel {

/// "(float[2,3] x) => (float[2,3] y) { y = Relu(x) }"; inputs named in `constants` are marked so.
inline LowerRequest bodyFrom(const std::string& text,
                             const std::map<std::string, Tensor>& constants = {}) {
    auto graph = model_io::loadText("g " + text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    LowerRequest out;
    if (!graph)
        return out;
    auto problems = inferShapes(*graph);
    for (const InferProblem& problem : problems)
        ADD_FAILURE() << problem.message;
    Progress progress;
    auto folded = foldConstants(*graph, {}, progress);
    EXPECT_TRUE(folded) << (folded ? "" : folded.error().text());
    for (ValueId input : graph->inputs()) {
        auto found = constants.find(graph->value(input).name);
        out.constants.push_back(
            found == constants.end() ? nullptr : std::make_shared<const Tensor>(found->second));
    }
    out.body = std::make_shared<const Graph>(std::move(*graph));
    return out;
}

inline KernelProgram programOf(const LowerRequest& request) {
    LowerResult result = lower(request);
    if (auto* reason = std::get_if<Reason>(&result)) {
        ADD_FAILURE() << reason->text();
        return {};
    }
    return std::get<KernelProgram>(result);
}

inline Reason refusalOf(const std::string& text) {
    LowerResult result = lower(bodyFrom(text));
    if (auto* program = std::get_if<KernelProgram>(&result)) {
        ADD_FAILURE() << "lowered to " << fuselage::text(*program);
        return {};
    }
    return std::get<Reason>(result);
}

/// Repeatable values around zero; integers and bools small and not negative.
inline std::vector<ReferenceValue> inputsFor(const LowerRequest& request) {
    std::vector<ReferenceValue> out;
    uint32_t state = 12345;
    auto next = [&] { return (state = state * 1664525U + 1013904223U) >> 8; };
    for (size_t i = 0; i < request.constants.size(); ++i) {
        if (request.constants[i]) {
            out.push_back(ReferenceValue::from(*request.constants[i]));
            continue;
        }
        const Type& type = request.body->value(request.body->inputs()[i]).type;
        ReferenceValue value = ReferenceValue::tensor(type.dtype, *type.extents());
        for (double& number : value.floats)
            number = roundTo(type.dtype, static_cast<double>(next() % 2001) / 500.0 - 2.0);
        for (int64_t& number : value.ints)
            number = next() % (type.dtype == DType::Bool ? 2 : 7);
        if (request.body->value(request.body->inputs()[i]).name.starts_with("var"))
            for (double& number : value.floats)
                number = std::fabs(number) + 0.5;
        out.push_back(std::move(value));
    }
    return out;
}

inline void expectNear(const ReferenceValue& a, const ReferenceValue& b, double tolerance) {
    ASSERT_EQ(a.dtype, b.dtype);
    ASSERT_EQ(a.extents, b.extents);
    for (size_t i = 0; i < a.floats.size(); ++i) {
        if (std::isnan(a.floats[i]) && std::isnan(b.floats[i]))
            continue;
        ASSERT_NEAR(a.floats[i], b.floats[i], tolerance * (1 + std::fabs(b.floats[i])))
            << "element " << i;
    }
    for (size_t i = 0; i < a.ints.size(); ++i)
        ASSERT_EQ(a.ints[i], b.ints[i]) << "element " << i;
}

/// The program of the body, checked: kind, values, and the bytes that it touches.
inline KernelProgram expectLowers(const LowerRequest& request, const std::string& kind,
                                  double tolerance = 1e-9) {
    KernelProgram program = programOf(request);
    if (!program.body)
        return program;
    EXPECT_EQ(nameOf(kindOf(program)), kind);
    if (kind == "Library")
        return program;
    const std::vector<ReferenceValue> inputs = inputsFor(request);
    auto got = evaluate(program, inputs);
    EXPECT_TRUE(got) << (got ? "" : got.error().text());
    ThreadPool threads(1);
    Progress progress;
    auto wanted = interpret(*request.body, inputs, threads, progress);
    EXPECT_TRUE(wanted) << (wanted ? "" : wanted.error().text());
    if (!got || !wanted)
        return program;
    EXPECT_EQ(logicalTraffic(program).logicalRead, got->bytesRead) << text(program);
    EXPECT_EQ(logicalTraffic(program).logicalWritten, got->bytesWritten) << text(program);
    EXPECT_EQ(got->outputs.size(), wanted->size());
    for (size_t i = 0; i < wanted->size(); ++i) {
        SCOPED_TRACE("output " + std::to_string(i) + " of\n" + text(program));
        expectNear(got->outputs[i], (*wanted)[i], tolerance);
    }
    return program;
}

inline KernelProgram expectLowers(const std::string& text, const std::string& kind,
                                  double tolerance = 1e-9) {
    return expectLowers(bodyFrom(text), kind, tolerance);
}

} // namespace fuselage::testing_kernel
