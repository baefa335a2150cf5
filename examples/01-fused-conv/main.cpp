// SPDX-License-Identifier: Apache-2.0
// Conv + bias + ReLU called as one fused operation and as three: the same numbers, less memory
// traffic.
#include "app/pipeline/compiled.h"
#include "core/onnx/model_file.h"

#include <cmath>
#include <cstdio>
#include <random>

using namespace fuselage;

namespace {

Tensor randomTensor(Extents extents) {
    static std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    Tensor tensor(DType::Float32, std::move(extents));
    for (float& x : tensor.as<float>())
        x = uniform(random);
    return tensor;
}

void print(const char* name, CompiledGraph& compiled, const Tensor& x) {
    MemoryOperations memory = memoryOperations(compiled.plan());
    TimingSummary time = summarise(*compiled.time({x}, 0.5));
    std::printf("%-6s %zu reads, %zu writes, %zu intermediate buffers, %.1f MB; "
                "%.0f us (p10 %.0f, p90 %.0f)\n",
                name, memory.reads, memory.writes, memory.intermediateBuffers,
                static_cast<double>(compiled.plan().totalTraffic().logical()) * 1e-6,
                time.median * 1e6, time.p10 * 1e6, time.p90 * 1e6);
}

} // namespace

int main() {
    auto graph = model_io::loadText(
        "layer (float[1,64,56,56] x, float[64,64,3,3] w, float[64,1,1] b) => (float[1,64,56,56] y)"
        "{ t = Conv <pads = [1,1,1,1]> (x, w)  s = Add(t, b)  y = Relu(s) }");
    if (!graph || !bindInput(*graph, "w", randomTensor({64, 64, 3, 3})) ||
        !bindInput(*graph, "b", randomTensor({64, 1, 1})))
        return 1;
    auto three = CompiledGraph::compile(graph->clone(), {.oneKernelPerNode = true});
    auto fused = CompiledGraph::compile(fuseWhole(*graph, "ConvBiasRelu"), {});
    Tensor x = randomTensor({1, 64, 56, 56});
    auto a = three->run({x}), b = fused->run({x});
    float apart = 0;
    for (int64_t i = 0; i < (*a)[0].elementCount(); ++i)
        apart = std::max(apart, std::abs((*a)[0].as<float>()[i] - (*b)[0].as<float>()[i]));
    print("three", *three, x);
    print("fused", *fused, x);
    std::printf("largest difference %.1e: %s\n", apart, apart < 1e-4F ? "they agree" : "WRONG");
    return apart < 1e-4F ? 0 : 1;
}
