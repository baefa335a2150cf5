// SPDX-License-Identifier: Apache-2.0
// Runs kernel programs on the cpu backend's kernels with chosen layouts and compares them with the
// plain evaluation of the program.
#pragma once

#include "core/cpu/layout.h"
#include "core/cpu/prepare_kernel.h"
#include "kernel_support.h"

#include <cstring>

namespace fuselage::testing_cpu {

using namespace fuselage::cpu;
using namespace fuselage::testing_kernel;

struct CpuRun {
    std::vector<ReferenceValue> outputs;
    std::vector<std::vector<std::byte>> bytes; ///< of the outputs as they lie in memory
    std::string tactic;
    std::vector<Reason> fallbacks;
    std::optional<int64_t> read, written;
    std::optional<Error> error;
};

enum class Order : uint8_t { RowMajor, ChannelsLast };

inline OperandLayout layoutFor(DType dtype, const Extents& extents, Order order) {
    bool last = order == Order::ChannelsLast && extents.size() >= 3;
    return {dtype, extents, last ? channelsLast(extents) : rowMajorStrides(extents), nullptr};
}

template <typename Visit> void eachElement(const OperandLayout& layout, Visit visit) {
    Extents dense = rowMajorStrides(layout.extents);
    int64_t count = *elementCount(layout.extents);
    for (int64_t i = 0; i < count; ++i) {
        int64_t at = 0;
        for (size_t d = 0; d < dense.size(); ++d)
            at += i / dense[d] % layout.extents[d] * layout.strides[d];
        visit(static_cast<size_t>(i), static_cast<size_t>(at));
    }
}

using Prepare = KernelResult (*)(const KernelProgram&, const PrepareContext&);

inline CpuRun runOnCpu(const KernelProgram& program, const std::vector<ReferenceValue>& inputs,
                       const std::vector<TensorPtr>& constants, Order order = Order::RowMajor,
                       int threadCount = 1, Prepare prepare = prepareKernel,
                       const VectorTable& table = vectorTable()) {
    CpuRun out;
    Threads threads(threadCount);
    threads.activate();
    PrepareContext context{{}, {}, table, threads};
    std::vector<std::vector<std::byte>> memory;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
        const OperandType& type = program.inputs[i];
        bool constant = i < constants.size() && constants[i];
        context.inputs.push_back(
            layoutFor(type.dtype, type.extents, constant ? Order::RowMajor : order));
        context.inputs.back().constant = constant ? constants[i] : nullptr;
        Tensor tensor = inputs[i].toTensor();
        size_t bytes = sizeOf(type.dtype);
        memory.emplace_back(tensor.byteCount());
        eachElement(context.inputs.back(), [&](size_t from, size_t to) {
            std::memcpy(memory[i].data() + to * bytes, tensor.bytes() + from * bytes, bytes);
        });
    }
    for (const OperandType& type : program.outputs) {
        context.outputs.push_back(layoutFor(type.dtype, type.extents, order));
        out.bytes.emplace_back(static_cast<size_t>(context.outputs.back().span()) *
                               sizeOf(type.dtype));
    }
    KernelResult kernel = prepare(program, context);
    EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().text());
    if (!kernel)
        return out;
    Operands operands;
    for (auto& bytes : memory)
        operands.inputs.push_back(bytes.data());
    for (auto& bytes : out.bytes)
        operands.outputs.push_back(bytes.data());
    CountedBytes counted;
    RunContext run{threads, &counted};
    (*kernel)->run(operands, run);
    out.tactic = (*kernel)->tactic;
    out.fallbacks = (*kernel)->fallbacks;
    out.error = run.error;
    if (run.counted) {
        out.read = counted.read;
        out.written = counted.written;
    }
    for (size_t i = 0; i < program.outputs.size(); ++i) {
        Tensor tensor(program.outputs[i].dtype, program.outputs[i].extents);
        size_t bytes = sizeOf(tensor.dtype());
        eachElement(context.outputs[i], [&](size_t to, size_t from) {
            std::memcpy(tensor.bytes() + to * bytes, out.bytes[i].data() + from * bytes, bytes);
        });
        out.outputs.push_back(ReferenceValue::from(tensor));
    }
    return out;
}

/// Both layouts, one and two threads: right values, the same bits for any thread count, and the
/// bytes that the prediction says when the kernel counts. Returns the last run.
inline CpuRun expectRuns(const LowerRequest& request, const std::string& kind, double tolerance) {
    KernelProgram program = programOf(request);
    CpuRun last;
    if (!program.body)
        return last;
    EXPECT_EQ(nameOf(kindOf(program)), kind);
    const std::vector<ReferenceValue> inputs = inputsFor(request);
    auto wanted = evaluate(program, inputs);
    EXPECT_TRUE(wanted) << (wanted ? "" : wanted.error().text());
    if (!wanted)
        return last;
    Traffic traffic = logicalTraffic(program);
    for (Order order : {Order::RowMajor, Order::ChannelsLast}) {
        CpuRun one = runOnCpu(program, inputs, request.constants, order, 1);
        CpuRun two = runOnCpu(program, inputs, request.constants, order, 2);
        SCOPED_TRACE(one.tactic + (order == Order::RowMajor ? " row major" : " channels last") +
                     " of\n" + text(program));
        EXPECT_EQ(one.bytes, two.bytes) << "one and two threads differ";
        EXPECT_EQ(one.outputs.size(), wanted->outputs.size());
        for (size_t i = 0; i < one.outputs.size(); ++i)
            expectNear(one.outputs[i], wanted->outputs[i], tolerance);
        if (one.read) {
            EXPECT_EQ(*one.read, traffic.logicalRead);
            EXPECT_EQ(*one.written, traffic.logicalWritten);
        }
        last = std::move(one);
        if (::testing::Test::HasFailure())
            break;
    }
    return last;
}

inline CpuRun expectRuns(const std::string& text, const std::string& kind, double tolerance = 2e-6,
                         const std::map<std::string, Tensor>& constants = {}) {
    return expectRuns(bodyFrom(text, constants), kind, tolerance);
}

/// Repeatable weights in [-1, 1].
inline Tensor weights(const Extents& extents, uint32_t seed = 1) {
    Tensor out(DType::Float32, extents);
    for (float& value : out.as<float>()) {
        seed = seed * 1664525U + 1013904223U;
        value = static_cast<float>(seed >> 8) / static_cast<float>(1U << 23) - 1.0F;
    }
    return out;
}

} // namespace fuselage::testing_cpu
