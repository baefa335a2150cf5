// SPDX-License-Identifier: Apache-2.0
// Operators of our own against their reference function: what they are written out as, the loops of
// the CPU with every table of this machine, and a file that holds one.
#pragma once

#include "core/graph/text.h"
#include "core/graph/verify.h"
#include "core/onnx/model_file.h"
#include "core/ops/own_operators.h"
#include "core/passes/passes.h"
#include "core/passes/write_out.h"
#include "cpu_integer_support.h"

namespace fuselage::testing_cpu {

inline std::vector<ReferenceValue> interpreted(const Graph& graph,
                                               const std::vector<ReferenceValue>& inputs) {
    ThreadPool threads(1);
    Progress progress;
    auto out = interpret(graph, inputs, threads, progress);
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out ? std::move(*out) : std::vector<ReferenceValue>();
}

inline void expectNearAll(const std::vector<ReferenceValue>& made,
                          const std::vector<ReferenceValue>& wanted, double tolerance) {
    ASSERT_EQ(made.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i)
        expectNearLargest(made[i], wanted[i], tolerance);
}

/// A body of one node with its operands and what the reference function makes of them.
struct Judged {
    Judged(const std::string& body, const Case& operands) {
        request = bodyFrom(body, operands.constants);
        for (ValueId id : request.body->inputs()) {
            const std::string& name = request.body->value(id).name;
            auto constant = operands.constants.find(name);
            inputs.push_back(ReferenceValue::from(constant == operands.constants.end()
                                                      ? operands.inputs.at(name)
                                                      : constant->second));
        }
        wanted = interpreted(*request.body, inputs);
    }

    const Graph& graph() const { return *request.body; }

    bool isEmpty() const {
        return std::all_of(wanted.begin(), wanted.end(),
                           [](const ReferenceValue& value) { return value.floats.empty(); });
    }

    /// Parallel to the node's inputs.
    std::vector<ReferenceValue> inputsOfNode() const {
        std::vector<ReferenceValue> out;
        const Node& node = graph().node(graph().nodes().front());
        auto next = inputs.begin();
        for (ValueId input : node.inputs)
            out.push_back(input.valid() ? *next++ : ReferenceValue());
        return out;
    }

    LowerRequest request;
    std::vector<ReferenceValue> inputs, wanted;
};

inline const Node& onlyNode(const Graph& graph) {
    return graph.node(graph.nodes().front());
}

inline void expectLoops(const Judged& judge, const std::string& tactic, double tolerance) {
    const KernelProgram program = programOf(judge.request);
    ASSERT_TRUE(program.body);
    for (size_t table = 0; table < vectorTableCount(); ++table)
        for (int count : {1, 2}) {
            CpuRun run = runOnCpu(program, judge.inputs, judge.request.constants, Order::RowMajor,
                                  count, prepareKernel, vectorTable(table));
            SCOPED_TRACE(std::string(vectorTable(table).name) + ": " + run.tactic);
            if (!judge.isEmpty()) {
                ASSERT_EQ(run.tactic.find(tactic), 0U);
            }
            expectNearAll(run.outputs, judge.wanted, tolerance);
        }
}

inline void expectWrittenOut(const Judged& judge, double tolerance) {
    for (const bool few : {false, true}) {
        const auto written = writtenOut(judge.graph(), onlyNode(judge.graph()), few);
        for (NodeId id : written->nodes())
            EXPECT_NE(written->node(id).op, Op::CastLike) << "which no GPU has a kernel for";
        expectNearAll(interpreted(*written, judge.inputsOfNode()), judge.wanted, tolerance);
    }
    Graph forGpu = judge.graph().clone();
    writeOutComposites(forGpu);
    EXPECT_FALSE(hasComposite(forGpu));
    ASSERT_TRUE(verify(forGpu));
    expectNearAll(interpreted(forGpu, judge.inputs), judge.wanted, tolerance);
}

inline void expectKeptByFile(const Judged& judge, double tolerance) {
    auto bytes = model_io::toBytes(judge.graph());
    ASSERT_TRUE(bytes) << bytes.error().text();
    auto again = model_io::loadBytes(*bytes, "", {});
    ASSERT_TRUE(again) << again.error().text();
    ASSERT_EQ(again->nodeCount(), 1U) << fuselage::text(*again);
    EXPECT_EQ(onlyNode(*again).op, onlyNode(judge.graph()).op);
    EXPECT_EQ(fuselage::text(*again), text(judge.graph()));
    model_io::LoadOptions plain;
    plain.restoreFused = false;
    auto inlined = model_io::loadBytes(*bytes, "", plain);
    ASSERT_TRUE(inlined) << inlined.error().text();
    expectNearAll(interpreted(*inlined, judge.inputs), judge.wanted, tolerance);
}

} // namespace fuselage::testing_cpu
