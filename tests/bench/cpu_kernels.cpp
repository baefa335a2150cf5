// SPDX-License-Identifier: Apache-2.0
// Speed of the cpu backend's kernels: a chain of four elementwise operations beside a plain copy of
// the same bytes (the copy's rate is the yardstick), and contractions as they occur in networks.
// Bytes and FLOP are those of the program.
#include "core/cpu/layout.h"
#include "core/cpu/prepare_kernel.h"
#include "core/kernel/lower.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

using namespace fuselage;
using namespace fuselage::cpu;

namespace {

/// A prepared program with memory for its operands; inputs named w, b, s, t are constants.
struct Prepared {
    Threads threads;
    KernelProgram program;
    std::vector<TensorPtr> tensors;
    std::vector<Tensor> outputs;
    std::unique_ptr<Kernel> kernel;
    Operands operands;

    Prepared(const std::string& text, int threadCount) : threads(threadCount) {
        threads.activate();
        auto graph = model_io::loadText("g " + text);
        if (!graph)
            return;
        inferShapes(*graph);
        Progress progress;
        if (!foldConstants(*graph, {}, progress))
            return;
        LowerRequest request;
        PrepareContext context{{}, {}, vectorTable(), threads};
        for (ValueId id : graph->inputs()) {
            const Value& value = graph->value(id);
            auto tensor = std::make_shared<Tensor>(value.type.dtype, *value.type.extents());
            for (int64_t i = 0; i < tensor->elementCount(); ++i)
                tensor->set(i, static_cast<double>(i * 7919 % 2001) / 1000.0 - 1.0);
            tensors.push_back(tensor);
            bool constant = value.name == "w" || value.name == "b" || value.name == "s";
            request.constants.push_back(constant ? tensor : nullptr);
            context.inputs.push_back(
                {value.type.dtype, tensor->extents(),
                 constant ? rowMajorStrides(tensor->extents()) : stridesFor(tensor->extents()),
                 constant ? tensor : nullptr});
            operands.inputs.push_back(tensor->bytes());
        }
        request.body = std::make_shared<const Graph>(std::move(*graph));
        LowerResult lowered = lower(request);
        if (!std::holds_alternative<KernelProgram>(lowered))
            return;
        program = std::get<KernelProgram>(lowered);
        for (const OperandType& type : program.outputs) {
            outputs.emplace_back(type.dtype, type.extents);
            context.outputs.push_back(
                {type.dtype, type.extents, stridesFor(type.extents), nullptr});
        }
        for (Tensor& tensor : outputs)
            operands.outputs.push_back(tensor.bytes());
        if (KernelResult result = prepareKernel(program, context))
            kernel = std::move(*result);
    }

    static Extents stridesFor(const Extents& extents) {
        return extents.size() == 4 ? channelsLast(extents) : rowMajorStrides(extents);
    }

    void run(benchmark::State& state) {
        if (!kernel) {
            state.SkipWithError("the program did not lower or has no kernel");
            return;
        }
        state.SetLabel(kernel->tactic);
        for (auto _ : state) {
            RunContext context{threads};
            kernel->run(operands, context);
        }
    }
};

constexpr const char* chain = "(float[4194304] x) => (float[4194304] y) "
                              "{ one = Constant<value_float=1.5>()  a = Mul(x, one) "
                              "b = Add(a, one)  c = Relu(b)  y = Sub(c, one) }";

void chainOfFour(benchmark::State& state) {
    Prepared prepared(chain, static_cast<int>(state.range(0)));
    prepared.run(state);
    state.SetBytesProcessed(state.iterations() * 2 * 4194304 * 4);
}

/// The same bytes moved by the C library, in one part a thread.
void plainCopy(benchmark::State& state) {
    Threads threads(static_cast<int>(state.range(0)));
    Tensor from(DType::Float32, {4194304}), to(DType::Float32, {4194304});
    for (auto _ : state) {
        threads.forRange(from.byteCount(), 4096, [&](size_t, size_t begin, size_t end) {
            std::memcpy(to.bytes() + begin, from.bytes() + begin, end - begin);
        });
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * 2 * 4194304 * 4);
}

void contraction(benchmark::State& state, const char* text) {
    Prepared prepared(text, static_cast<int>(state.range(0)));
    prepared.run(state);
    if (prepared.kernel)
        state.counters["FLOP/s"] = benchmark::Counter(
            static_cast<double>(workOf(prepared.program).flops),
            benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

/// Fifty elements of sequences with constant weights: hidden units, sequences, threads.
void recurrence(benchmark::State& state, const char* op, int64_t gates, const char* attributes) {
    const std::string h = std::to_string(state.range(0)), n = std::to_string(state.range(1)),
                      rows = std::to_string(gates * state.range(0)),
                      both = std::to_string(2 * gates * state.range(0));
    Prepared prepared("(float[50," + n + "," + h + "] x, float[1," + rows + "," + h +
                          "] w, float[1," + rows + "," + h + "] s, float[1," + both +
                          "] b) => (float[50,1," + n + "," + h + "] y) { y = " + op +
                          "<hidden_size=" + h + attributes + ">(x, w, s, b) }",
                      static_cast<int>(state.range(2)));
    prepared.run(state);
}

constexpr int64_t fourBitSize = 4096;

int64_t fourBitBytes(int64_t block) {
    return fourBitSize * fourBitSize / 2 + fourBitSize * (fourBitSize / block) * 4;
}

/// Weights of 4 bits: rows, elements of a block, threads. The bytes are those of weights and
/// scales.
void fourBits(benchmark::State& state) {
    const int64_t block = state.range(1);
    const std::string m = std::to_string(state.range(0)), n = std::to_string(fourBitSize),
                      blocks = std::to_string(fourBitSize / block);
    Prepared prepared("(float[" + m + "," + n + "] x, uint8[" + n + "," + blocks + "," +
                          std::to_string(block / 2) + "] w, float[" + n + "," + blocks +
                          "] s) => (float[" + m + "," + n +
                          "] y) { y = " + "com.microsoft.MatMulNBits<K=" + n + ",N=" + n +
                          ",block_size=" + std::to_string(block) + ">(x, w, s) }",
                      static_cast<int>(state.range(2)));
    prepared.run(state);
    state.SetBytesProcessed(state.iterations() * fourBitBytes(block));
}

/// As many bytes, only read: elements of a block, threads.
void plainRead(benchmark::State& state) {
    Threads threads(static_cast<int>(state.range(1)));
    std::vector<uint64_t> words(static_cast<size_t>(fourBitBytes(state.range(0))) / 8, 1);
    for (auto _ : state)
        threads.forRange(words.size(), 4096, [&](size_t, size_t begin, size_t end) {
            uint64_t sum = 0;
            for (size_t i = begin; i < end; ++i)
                sum ^= words[i];
            benchmark::DoNotOptimize(sum);
        });
    state.SetBytesProcessed(state.iterations() * fourBitBytes(state.range(0)));
}

void sizes(benchmark::internal::Benchmark* benchmark) {
    benchmark->ArgsProduct({{128, 256, 512, 768, 1024}, {1, 8}, {2}})->UseRealTime();
}

BENCHMARK_CAPTURE(recurrence, Lstm, "LSTM", 4, "")->Apply(sizes);
BENCHMARK_CAPTURE(recurrence, GruOfResetState, "GRU", 3, "")->Apply(sizes);
BENCHMARK_CAPTURE(recurrence, GruOfResetProduct, "GRU", 3, ", linear_before_reset=1")->Apply(sizes);
BENCHMARK_CAPTURE(recurrence, Rnn, "RNN", 1, "")->Apply(sizes);
BENCHMARK(plainRead)->ArgsProduct({{32, 128}, {1, 2}})->UseRealTime();
BENCHMARK(fourBits)->ArgsProduct({{1, 4, 64}, {16, 32, 128, 256}, {1, 2}})->UseRealTime();
BENCHMARK_CAPTURE(contraction, DynamicLinear,
                  "(uint8[128,768] x, int8[768,3072] w, uint8 z, float f, float[3072] b) => "
                  "(float[128,3072] y) { m = MatMulInteger(x, w, z)  c = Cast<to=1>(m) "
                  "g = Mul(c, f)  y = Add(g, b) }")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(contraction, DynamicLinearGelu,
                  "(uint8[128,768] x, int8[768,3072] w, uint8 z, float f, float[3072] b) => "
                  "(float[128,3072] y) { m = MatMulInteger(x, w, z)  c = Cast<to=1>(m) "
                  "g = Mul(c, f)  a = Add(g, b)  y = com.microsoft.Gelu(a) }")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();
BENCHMARK(chainOfFour)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(plainCopy)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(contraction, Conv3x3BiasRelu,
                  "(float[1,128,28,28] x, float[128,128,3,3] w, float[128] b) => "
                  "(float[1,128,28,28] y) "
                  "{ c = Conv<kernel_shape=[3,3],pads=[1,1,1,1]>(x, w, b)  y = Relu(c) }")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(contraction, Conv1x1AddRelu,
                  "(float[1,64,56,56] x, float[256,64,1,1] w, float[256] b, float[1,256,56,56] r) "
                  "=> (float[1,256,56,56] y) "
                  "{ c = Conv<kernel_shape=[1,1]>(x, w, b)  a = Add(c, r)  y = Relu(a) }")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(contraction, Depthwise7x7,
                  "(float[1,96,56,56] x, float[96,1,7,7] w, float[96] b) => (float[1,96,56,56] y) "
                  "{ y = Conv<kernel_shape=[7,7],pads=[3,3,3,3],group=96>(x, w, b) }")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(contraction, LinearRelu,
                  "(float[197,768] x, float[768,3072] w, float[3072] b) => (float[197,3072] y) "
                  "{ m = MatMul(x, w)  a = Add(m, b)  y = Relu(a) }")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(contraction, LayerNorm,
                  "(float[1,197,768] x, float[768] g, float[768] h) => (float[1,197,768] y) "
                  "{ y = LayerNormalization(x, g, h) }")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(contraction, Attention,
                  "(float[1,12,197,64] q, float[1,12,197,64] k, float[1,12,197,64] v) => "
                  "(float[1,12,197,64] y) { t = Transpose<perm=[0,1,3,2]>(k)  m = MatMul(q, t) "
                  "f = Constant<value_float=0.125>()  n = Mul(m, f)  p = Softmax<axis=-1>(n) "
                  "y = MatMul(p, v) }")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();

} // namespace

BENCHMARK_MAIN();
