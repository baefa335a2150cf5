// SPDX-License-Identifier: Apache-2.0
// Requests for library tactics from bodies in ONNX's text, and memory to run descriptions on.
#pragma once

#include "gpu_graph_run.h"
#include "kernel_support.h"

namespace fuselage::testing_gpu {

using namespace fuselage::testing_kernel;

/// A body lowered, with a layout for every operand.
struct LibraryCase {
    LowerRequest body;
    KernelProgram program;
    KernelRequest request;

    explicit LibraryCase(const std::string& text,
                         const std::map<std::string, Tensor>& constants = {},
                         bool channelsLast = false)
        : body(bodyFrom(text, constants)), program(programOf(body)) {
        request.program = &program;
        request.constants = body.constants;
        for (const OperandType& type : program.inputs)
            request.inputs.push_back(layoutOf(type, channelsLast));
        for (const OperandType& type : program.outputs)
            request.outputs.push_back(layoutOf(type, channelsLast));
        // What never changes lies as the model has it.
        for (size_t i = 0; i < program.inputs.size(); ++i)
            if (body.constants[i])
                request.inputs[i].strides = rowMajorStrides(program.inputs[i].extents);
    }

    LibraryCase(const LibraryCase&) = delete;
    LibraryCase& operator=(const LibraryCase&) = delete;

    static OperandLayout layoutOf(const OperandType& type, bool channelsLast) {
        OperandLayout out{type.dtype, type.extents, rowMajorStrides(type.extents), 256};
        if (!channelsLast || type.extents.size() < 3)
            return out;
        int64_t running = type.extents[1];
        out.strides[1] = 1;
        for (size_t d = type.extents.size(); d-- > 2;) {
            out.strides[d] = running;
            running *= type.extents[d];
        }
        out.strides[0] = running;
        return out;
    }
};

inline size_t spanOf(const OperandLayout& layout) {
    int64_t last = 0;
    for (size_t d = 0; d < layout.extents.size(); ++d)
        last += (layout.extents[d] - 1) * layout.strides[d];
    return static_cast<size_t>(last + 1);
}

/// Calls f(number of the element in row-major order, its offset in the layout).
template <typename F> void eachElement(const OperandLayout& layout, F f) {
    const Extents dense = rowMajorStrides(layout.extents);
    for (int64_t i = 0; i < *elementCount(layout.extents); ++i) {
        int64_t offset = 0;
        for (size_t d = 0; d < dense.size(); ++d)
            offset += i / dense[d] % layout.extents[d] * layout.strides[d];
        f(static_cast<size_t>(i), static_cast<size_t>(offset));
    }
}

inline GraphMemory memoryOf(const LibraryCase& of, const std::vector<ReferenceValue>& inputs) {
    GraphMemory out;
    for (size_t i = 0; i < inputs.size(); ++i) {
        const OperandLayout& layout = of.request.inputs[i];
        out.inputs.emplace_back(spanOf(layout), std::nan(""));
        eachElement(layout, [&](size_t element, size_t offset) {
            out.inputs[i][offset] = inputs[i].at(static_cast<int64_t>(element));
        });
    }
    for (const OperandLayout& layout : of.request.outputs)
        out.outputs.emplace_back(spanOf(layout), std::nan(""));
    out.constants = of.body.constants;
    return out;
}

/// Compares the outputs in memory with the evaluation of the program.
inline void expectEvaluated(const LibraryCase& of, const std::vector<ReferenceValue>& inputs,
                            const GraphMemory& memory, double tolerance) {
    auto wanted = evaluate(of.program, inputs);
    ASSERT_TRUE(wanted) << wanted.error().text();
    for (size_t i = 0; i < memory.outputs.size(); ++i)
        eachElement(of.request.outputs[i], [&](size_t element, size_t offset) {
            const double value = wanted->outputs[i].at(static_cast<int64_t>(element));
            ASSERT_NEAR(memory.outputs[i][offset], value, tolerance * (1 + std::abs(value)))
                << "output " << i << " element " << element;
        });
}

/// The description, proven: run on the same inputs it gives what the program gives.
inline GraphDescription expectDescribed(const LibraryCase& of, double tolerance = 1e-5,
                                        size_t form = 0) {
    auto described = describe(of.request);
    if (auto* reason = std::get_if<Reason>(&described)) {
        ADD_FAILURE() << reason->text() << "\n" << text(of.program);
        return {};
    }
    const GraphDescription graph = std::get<std::vector<GraphDescription>>(described).at(form);
    SCOPED_TRACE(text(of.program) + text(graph));
    const std::vector<ReferenceValue> inputs = inputsFor(of.body);
    GraphMemory memory = memoryOf(of, inputs);
    GraphRun(graph, memory).run();
    expectEvaluated(of, inputs, memory, tolerance);
    return graph;
}

inline Reason expectRefused(const KernelRequest& request) {
    auto described = describe(request);
    auto* reason = std::get_if<Reason>(&described);
    EXPECT_NE(reason, nullptr);
    return reason ? *reason : Reason{};
}

/// Repeatable weights around zero.
inline Tensor weightsOf(Extents extents, DType dtype = DType::Float32, uint32_t seed = 1) {
    Tensor out(dtype, std::move(extents));
    for (int64_t i = 0; i < out.elementCount(); ++i) {
        seed = seed * 1664525U + 1013904223U;
        out.set(i, roundTo(dtype, static_cast<double>(seed >> 16) / 65536.0 - 0.5));
    }
    return out;
}

/// Repeatable bytes of both signs.
inline Tensor bytesOf(Extents extents) {
    Tensor out(DType::Int8, std::move(extents));
    for (int64_t i = 0; i < out.elementCount(); ++i)
        out.setInt(i, i * 37 % 255 - 127);
    return out;
}

/// Scales of so many channels.
inline Tensor stepsOf(int64_t count) {
    Tensor out(DType::Float32, {count});
    for (int64_t i = 0; i < count; ++i)
        out.set(i, static_cast<float>(0.002 + 0.0007 * static_cast<double>(i)));
    return out;
}

/// A bias of sums.
inline Tensor sumsOf(int64_t count) {
    Tensor out(DType::Int32, {count});
    for (int64_t i = 0; i < count; ++i)
        out.setInt(i, i * 731 % 1999 - 1000);
    return out;
}

} // namespace fuselage::testing_gpu
