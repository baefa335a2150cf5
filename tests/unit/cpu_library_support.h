// SPDX-License-Identifier: Apache-2.0
// Runs the one node of a Library program on the cpu backend and by its reference function.
#pragma once

#include "cpu_support.h"

#include <algorithm>
#include <functional>

namespace fuselage::testing_cpu {

using Change = std::function<void(std::vector<ReferenceValue>&)>;

/// The textual syntax cannot leave an input out: those called `omitted` are taken away.
inline void leaveOut(LowerRequest& request) {
    Graph graph = request.body->clone();
    ValueId id = graph.findValue("omitted");
    if (!id.valid())
        return;
    for (Use use : std::vector<Use>(graph.value(id).uses))
        graph.setInput(use.node, use.slot, ValueId());
    auto at = std::find(graph.inputs().begin(), graph.inputs().end(), id) - graph.inputs().begin();
    graph.removeInput(static_cast<size_t>(at));
    request.constants.erase(request.constants.begin() + at);
    request.body = std::make_shared<const Graph>(std::move(graph));
}

/// Runs the one node of the body natively and by its reference function; `change` edits the inputs.
inline CpuRun expectLibrary(const std::string& text,
                            const std::map<std::string, Tensor>& constants = {},
                            double tolerance = 2e-6, const Change& change = {}) {
    LowerRequest request = bodyFrom(text, constants);
    leaveOut(request);
    KernelProgram program = programOf(request);
    CpuRun last;
    if (!program.body)
        return last;
    EXPECT_STREQ(nameOf(kindOf(program)), "Library") << text;
    std::vector<ReferenceValue> inputs = inputsFor(request);
    if (change)
        change(inputs);
    ThreadPool pool(1);
    Progress progress;
    auto wanted = interpret(*request.body, inputs, pool, progress);
    EXPECT_TRUE(wanted) << (wanted ? "" : wanted.error().text());
    if (!wanted)
        return last;
    for (Order order : {Order::RowMajor, Order::ChannelsLast}) {
        CpuRun one = runOnCpu(program, inputs, request.constants, order, 1);
        CpuRun two = runOnCpu(program, inputs, request.constants, order, 2);
        SCOPED_TRACE(one.tactic + (order == Order::RowMajor ? " row major: " : " channels last: ") +
                     text);
        EXPECT_EQ(one.bytes, two.bytes) << "one and two threads differ";
        EXPECT_EQ(one.outputs.size(), wanted->size());
        for (size_t i = 0; i < one.outputs.size(); ++i)
            expectNear(one.outputs[i], (*wanted)[i], tolerance);
        last = std::move(one);
    }
    return last;
}

} // namespace fuselage::testing_cpu
