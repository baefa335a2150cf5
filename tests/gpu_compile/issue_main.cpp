// SPDX-License-Identifier: Apache-2.0
// How long the kernels of the memory-bound sequences take to issue, against how long their bytes
// take: instructions are counted in what NVRTC makes for sm_90. A kernel whose code goes straight
// through is counted exactly. Prints a table for 65536 x 4096 and fails where issue takes longer
// than the bytes. Others are counted with the trips of their loops that their texts say: a
// depthwise convolution's issue, a linear layer's epilogue beside its products, the attention
// of warpgroups beside its bytes and beside that of warps, two layers in one kernel, 3x3
// convolutions beside their products, and weights of 4 bits by lanes and in tiles. Exit status 77:
// NVRTC is not here.
#include "gpu/kernels/conv_halo.h"
#include "gpu/runtime/nvrtc.h"
#include "tests/gpu_compile/machine_code.h"
#include "tests/shim/traffic_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

using namespace fuselage;

namespace {

constexpr int skipped = 77;
constexpr double elements = 65536.0 * 4096;
constexpr double specialLanes = 16; ///< of a multiprocessor, for MUFU
constexpr double issueLanes = 128;

/// A memory-bound sequence of traffic_cases.cpp.
struct Sequence {
    const char* name;
    int operands; ///< that are read or written whole
};

constexpr Sequence sequences[] = {{"relu_product", 3},
                                  {"gelu_bias", 2},
                                  {"layer_norm", 2},
                                  {"add_layer_norm", 3},
                                  {"softmax", 2}};

/// A product or convolution at the size of its row in the benchmark table; its weight is in1.
struct LoopedRow {
    const char *name, *body, *variant;
    std::map<std::string, gpu_suite::Placement> placements;
    const char* second = nullptr; ///< of a chain, whose second weight is in3
    const char* front = nullptr;  ///< of a chain, with three operands in front of all others
    int stored = -1;              ///< as of a case
};

/// A kernel and its parts; no parts: it did not compile.
struct Looped {
    std::string source;
    std::vector<machine_code::Instructions> code; ///< countParts()
    uint32_t registers = 0;
    bool serialized = false; ///< the assembler lets each product of warpgroups wait
};

struct Gate {
    gpu::Nvrtc& nvrtc;
    DeviceProfile profile;
    int failures = 0;

    void line(const gpu_suite::Case& source, const Sequence& sequence);
    void depthwise();
    void epilogue();
    void attention();
    void chain(const char* front);
    void halo();
    void fewBits();

private:
    gpu_suite::Prepared prepared(const LoopedRow& row);
    Looped compile(const LoopedRow& row);
    void looped(const char* name, double issued, double most, const char* unit);
    void fail(const std::string& name, const char* problem) {
        std::printf("FAILED %s: %s\n", name.c_str(), problem);
        ++failures;
    }
};

/// What the machine code does otherwise than the text of the kernel; null: nothing. `vectors`:
/// accesses of 16 bytes that a thread needs for one operand.
const char* problemOf(const machine_code::Instructions& issued, double vectors, size_t inputs) {
    if (issued.total == 0)
        return "the cubin holds no code";
    if (issued.loops)
        return "its code has a loop";
    if (issued.narrow != 0)
        return "an access to global memory is narrower than 16 bytes";
    if (issued.globalStores != vectors ||
        issued.globalLoads != vectors * static_cast<double>(inputs))
        return "operands are not loaded or stored once";
    return nullptr;
}

void Gate::line(const gpu_suite::Case& source, const Sequence& sequence) {
    const gpu_suite::Prepared prepared = gpu_suite::prepareTraffic(source);
    for (const gpu::KernelSet& set : gpu_suite::trafficKernels(prepared)) {
        const gpu::KernelText& kernel = set.kernels[0];
        gpu::CompileOptions options;
        options.arch = "sm_90";
        auto compiled = nvrtc.compile(kernel, options);
        if (!compiled) {
            fail(source.name, compiled.error().text().c_str());
            return;
        }
        const machine_code::Instructions issued = machine_code::count(compiled->cubin);
        const OperandType& shape = prepared.program->outputs[0];
        const double threads =
            1.0 * kernel.grid[0] * kernel.grid[1] * kernel.grid[2] * kernel.block[0];
        const double each = static_cast<double>(*elementCount(shape.extents)) / threads;
        const double lanes = profile.units * profile.clock,
                     bytes = static_cast<double>(sizeOf(shape.dtype));
        const double issue = elements * issued.total / each / (lanes * issueLanes);
        const double special = elements * issued.special / each / (lanes * specialLanes);
        const double memory = elements * bytes * sequence.operands / profile.dramBandwidth;
        std::printf("| %s | %s | %.0f | %u | %.1f | %.2f | %.0f | %.0f | %.0f |\n",
                    source.name.c_str(), set.variant.c_str(), each, compiled->registers,
                    issued.total / each, issued.special / each, issue * 1e6, special * 1e6,
                    memory * 1e6);
        const double vectors = each * bytes / 16; // of one operand
        const char* problem = problemOf(issued, vectors, prepared.program->inputs.size());
        if (problem == nullptr && std::max(issue, special) > memory)
            problem = "issue takes longer than its bytes";
        if (problem != nullptr)
            fail(source.name, problem);
    }
}

gpu_suite::Prepared Gate::prepared(const LoopedRow& row) {
    gpu_suite::Case source;
    source.name = row.name;
    source.bodies = {row.body};
    source.chained = row.second != nullptr;
    if (source.chained)
        source.bodies.emplace_back(row.second);
    if (row.front != nullptr)
        source.bodies.insert(source.bodies.begin(), row.front);
    source.variants = row.variant;
    source.placements = row.placements;
    source.constants = row.front != nullptr ? "in3 in5" : source.chained ? "in1 in3" : "in1";
    source.stored = row.stored;
    source.capability = 90;
    gpu_suite::Prepared out = gpu_suite::prepare(source);
    out.request.profile = &profile;
    return out;
}

Looped Gate::compile(const LoopedRow& row) {
    const std::vector<gpu::KernelSet> sets = gpu_suite::trafficKernels(prepared(row));
    gpu::CompileOptions options;
    options.arch = "sm_90";
    if (sets.size() != 1)
        return {};
    auto compiled = nvrtc.compile(sets[0].kernels[0], options);
    if (!compiled)
        return {};
    return {sets[0].kernels[0].source, machine_code::countParts(compiled->cubin),
            compiled->registers, compiled->log.find("serialized") != std::string::npos};
}

/// How often the loop over `name` goes round, by the literals of its text; 0: there is none.
int tripsOf(const std::string& source, const std::string& name) {
    const std::string head = fmt::format("for (int {0} = 0; {0} < ", name);
    const size_t at = source.find(head);
    if (at == std::string::npos)
        return 0;
    int end = 0, step = 1;
    const std::string form = fmt::format("%d; {} += %d", name);
    std::sscanf(source.c_str() + at + head.size(), form.c_str(), &end, &step);
    return end / step;
}

void Gate::looped(const char* name, double issued, double most, const char* unit) {
    std::printf("| %s | %.0f | %.0f | %s |\n", name, issued, most, unit);
    if (issued <= 0)
        fail(name, "its code is not what the count knows");
    else if (issued > most)
        fail(name, "issue takes longer than it may");
}

/// A thread walks down its rows in one loop. A tap's multiply-add is skipped where the row is not
/// of the result's window, so they are counted as what the results need, all else in each trip.
void Gate::depthwise() {
    constexpr double taps = 7, results = 32.0 * 96 * 56 * 56;
    const LoopedRow row = {"depthwise 7x7 + bias, 32x96x56x56",
                           "(float16[32,96,56,56] x, float16[96,1,7,7] w, float16[96] b) => "
                           "(float16[32,96,56,56] y) { y = Conv<group=96, kernel_shape=[7,7], "
                           "pads=[3,3,3,3]>(x, w, b) }",
                           "depthwise_tiled",
                           {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}}};
    const Looped kernel = compile(row);
    const int trips = tripsOf(kernel.source, "j");
    double perResult = 0;
    if (kernel.code.size() == 2 && trips > 0) {
        const machine_code::Instructions& loop = kernel.code[1];
        const double own = loop.multiplyAdds / taps; // results of a thread
        const double walk = 1.0 * (loop.total - loop.multiplyAdds) * trips;
        perResult = taps * taps + (kernel.code[0].total + walk) / own;
    }
    const double lanes = profile.units * profile.clock * issueLanes;
    looped(row.name, results * perResult / lanes * 1e6, 25, "us of issue, all results");
}

/// While one warpgroup ends a tile the other multiplies the next: what ends it must take less than
/// products do. Those of 8 bits take half as long, which an exact division and a rounding for each
/// result exceed: there issue is the limit, and is held to what it is. The whole kernel is counted
/// once, its loops that store as often as they go round; a unit issues one instruction a clock for
/// each of a warpgroup's four warps. A residual is there before the products are: what ends results
/// reads no memory but what their columns have in common, before its loops.
void Gate::epilogue() {
    constexpr int m = 192, n = 128, k = 768;
    const LoopedRow gelu = {
        "linear + bias + GELU, 6304x768x3072",
        "(float16[6304,768] x, float16[3072,768] w, float16[3072] b) => (float16[6304,3072] y) "
        "<float half = {0.5}, float one = {1.0}, float root = {1.41421356}> "
        "{ h = Cast<to=10>(half) o = Cast<to=10>(one) r = Cast<to=10>(root) "
        "a = Gemm<transB=1>(x, w, b) d = Div(a, r) e = Erf(d) p = Add(e, o) "
        "q = Mul(a, p) y = Mul(q, h) }",
        "tma_192x128",
        {}};
    LoopedRow geluInPairs = gelu;
    geluInPairs.name = "the same by pairs of blocks";
    geluInPairs.variant = "tma_192x128_pair";
    const LoopedRow residual = {"linear + bias + residual, 6304x768x768",
                                "(float16[6304,768] x, float16[768,768] w, float16[768] b, "
                                "float16[6304,768] r) => (float16[6304,768] y) "
                                "{ m = MatMul(x, w) a = Add(m, b) y = Add(a, r) }",
                                "tma_192x128",
                                {},
                                nullptr,
                                nullptr,
                                -1};
    LoopedRow residualInPairs = residual;
    residualInPairs.name = "the same, with a residual, by pairs of blocks";
    residualInPairs.variant = "tma_192x128_pair";
    const double clocks =
        2.0 * m * n * k / (profile.fp16MatrixFlops / profile.units / profile.clock);
    const auto ended = [&](const LoopedRow& row, double most, const std::string& unit) {
        const Looped kernel = compile(row);
        const int trips = tripsOf(kernel.source, "first");
        double issued = 0, stores = 0, reads = 0;
        for (const machine_code::Instructions& part : kernel.code) {
            const bool straight = &part == kernel.code.data();
            const uint32_t stored = straight ? 0 : part.globalStores + part.narrow;
            const int rounds = stored > 0 ? trips : 1;
            issued += 1.0 * part.total * rounds;
            stores += 1.0 * stored * rounds;
            reads += stored > 0 ? part.globalLoads : 0;
        }
        if (reads > 0)
            fail(row.name, "its results wait for reads of memory, a row after the other");
        if (stores * 8 * 128 != 1.0 * m * n) // eight results a store, threads of a warpgroup
            issued = 0;                      // and so without trips
        looped(row.name, issued, most, unit.c_str());
    };
    const std::string beside = "clocks beside a tile's products";
    const std::string few = fmt::format("clocks, a tile's products {:.0f}", clocks);
    ended(gelu, clocks, beside);
    ended(geluInPairs, clocks, beside);
    ended(residual, 2400, few);
    ended(residualInPairs, 2400, few);
    ended({"linear of 8 bits + bias + ReLU, 4096x768x3072",
           "(int8[4096,768] x, int8[768,3072] w, float[3072] ws, float[3072] b) => "
           "(int8[4096,3072] y) <float xs = {0.02}, float ys = {0.05}, int8 z = {0}> "
           "{ dx = DequantizeLinear(x, xs, z) dw = DequantizeLinear<axis=1>(w, ws) "
           "m = MatMul(dx, dw) a = Add(m, b) u = Relu(a) y = QuantizeLinear(u, ys, z) }",
           "tma_192x128",
           {},
           nullptr,
           nullptr,
           1},
          5600, fmt::format("clocks, a tile's products {:.0f}", clocks / 2));
}

/// Two tiles of keys make code that goes straight through. Products of single warps are asked for
/// by each of them, so theirs take more than twice as long: the straight part and the largest loop
/// alone, a trip for each 64 keys.
void Gate::attention() {
    constexpr double batches = 384, tokens = 197, head = 64, warps = 16; // of 256 queries a batch
    LoopedRow row = {"attention of ViT, 384x197x64",
                     "(float16[384,197,64] q, float16[384,197,64] k, float16[384,197,64] v) => "
                     "(float16[384,197,64] y) <float eighth = {0.125}> { h = Cast<to=10>(eighth) "
                     "t = Transpose<perm=[0,2,1]>(k) s = MatMul(q, t) m = Mul(s, h) "
                     "p = Softmax<axis=-1>(m) y = MatMul(p, v) }",
                     "attention_wgmma",
                     {}};
    const double each = batches * warps * 32 / (profile.units * profile.clock * issueLanes) * 1e6;
    const Looped groups = compile(row);
    row.variant = "attention_tensor";
    const Looped single = compile(row);
    double issued = 0, other = 0;
    if (groups.code.size() == 1 && !single.code.empty()) {
        issued = groups.code[0].total * each;
        for (size_t i = 1; i < single.code.size(); ++i)
            other = std::max(other, 1.0 * single.code[i].total);
        other = (single.code[0].total + other * std::ceil(tokens / 64)) * each;
    }
    const double bytes = batches * tokens * head * 2 * 4 / profile.dramBandwidth * 1e6;
    looped(
        row.name, issued, std::min(bytes, other / 2),
        fmt::format("us of issue, its bytes {:.1f}, attention_tensor at least {:.1f}", bytes, other)
            .c_str());
}

/// Two layers of ConvNeXt-T's first stage: the loop over hidden columns with its trips, and what is
/// there once a tile, in as many copies as the compiler made. Slices that stay in shared memory
/// need no other loop. A row in front is counted in the kernel of warpgroups alone.
void Gate::chain(const char* front) {
    constexpr double rows = 100352, hidden = 384, storesOfRows = 6; // for each 16 rows
    LoopedRow row = {front != nullptr ? "LayerNorm and two layers, 100352x96x384x96"
                                      : "two layers, 100352x96x384x96",
                     "(float16[100352,96] x, float16[96,384] w, float16[384] b) => "
                     "(float16[100352,384] y) "
                     "<float half = {0.5}, float one = {1.0}, float root = {1.41421356}> "
                     "{ h = Cast<to=10>(half) o = Cast<to=10>(one) r = Cast<to=10>(root) "
                     "m = MatMul(x, w) a = Add(m, b) d = Div(a, r) e = Erf(d) p = Add(e, o) "
                     "q = Mul(a, p) y = Mul(q, h) }",
                     "chain_wgmma",
                     {},
                     "(float16[100352,384] h, float16[384,96] w, float16[96] b, float16[96] g, "
                     "float16[100352,96] r) => (float16[100352,96] y) { m = MatMul(h, w) "
                     "u = Add(m, b) s = Mul(u, g) y = Add(s, r) }",
                     front};
    const struct {
        const char* variant;
        double rows, columns, most; ///< of a warp, of a trip; us
    } kernels[] = {{"chain_wgmma", 16, 64, front != nullptr ? 30.0 : 26},
                   {"chain_tensor", 32, 16, 30}};
    for (const auto& [variant, rowsOfWarp, columns, most] : kernels) {
        if (front != nullptr && columns < 64)
            continue; // its row is not among what stands once in a tile
        row.variant = variant;
        const Looped kernel = compile(row);
        double longest = 0, loop = 0, loops = 0, tile = 0, stores = 0;
        for (const machine_code::Instructions& part : kernel.code)
            if (part.globalStores == 0)
                longest = std::max(longest, 1.0 * part.total);
        for (const machine_code::Instructions& part : kernel.code) {
            if (part.globalStores > 0) {
                tile += part.total;
                stores += part.globalStores;
            } else if (part.total > longest / 2) { // of each tile its own, the first one waits more
                loop += part.total;
                loops += 1;
            }
        }
        const double copies = stores / (storesOfRows * rowsOfWarp / 16);
        const double issued =
            stores == 0 ? 0
                        : rows / rowsOfWarp * (loop / loops * hidden / columns + tile / copies) *
                              32 / (profile.units * profile.clock * issueLanes) * 1e6;
        looped(fmt::format("{}, {}", row.name, variant).c_str(), issued, most,
               "us of issue, all rows");
    }
}

/// 3x3 convolutions of ResNet-50 at batch 32: the loop over slices of channels with its trips, and
/// in each the loop that stages what a warp brings of the next one, behind it in the code; what is
/// there once a tile is what stores.
void Gate::halo() {
    constexpr int64_t images = 32;
    for (const auto& [channels, width] :
         {std::pair<int64_t, int64_t>{64, 56}, {128, 28}, {256, 14}, {512, 7}}) {
        const std::string body =
            fmt::format("(float16[{0},{1},{2},{2}] x, float16[{1},{1},3,3] w, float16[{1}] b) => "
                        "(float16[{0},{1},{2},{2}] y) "
                        "{{ c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w, b) y = Relu(c) }}",
                        images, channels, width);
        const std::string name = fmt::format("3x3, {0}x{1}x{2}x{2}", images, channels, width);
        const LoopedRow row = {name.c_str(),
                               body.c_str(),
                               "conv_halo",
                               {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}}};
        const Looped kernel = compile(row);
        const gpu_suite::Prepared source = prepared(row);
        auto spec = gpu::convSpec(source.request);
        int perLine = 0;
        const std::string items = "const int items = static_cast<int>(last - first + ";
        if (const size_t at = kernel.source.find(items); at != std::string::npos)
            std::sscanf(kernel.source.c_str() + at + items.size(), "%*du) * %d", &perLine);
        double issued = 0;
        if (auto* conv = std::get_if<gpu::ConvSpec>(&spec); conv && perLine > 0) {
            const auto shape = std::get<gpu::HaloShape>(gpu::haloShape(*conv));
            double tile = 0, loop = 0, stage = 0;
            for (const machine_code::Instructions& part : kernel.code) {
                if (part.globalStores > 0)
                    tile += part.total;
                else if (part.total > loop) {
                    loop = part.total;
                    stage = 0;
                } else
                    stage = std::max(stage, 1.0 * part.total);
            }
            const double warps = 4.0 * static_cast<double>(shape.groups);
            const double trips = std::ceil(static_cast<double>(shape.lines * perLine) / warps);
            issued = warps * static_cast<double>(shape.tiles() * shape.parts()) *
                     (tile + tripsOf(kernel.source, "slice") * (loop + trips * stage)) * 32 /
                     (profile.units * profile.clock * issueLanes) * 1e6;
        }
        const auto results = static_cast<double>(images * channels * width * width);
        const double products =
            2 * 9 * results * static_cast<double>(channels) / profile.fp16MatrixFlops * 1e6;
        looped(row.name, kernel.serialized ? 0 : issued, products,
               fmt::format("us of issue beside products, {} registers", kernel.registers).c_str());
    }
}

/// The loop over k is the largest one. On lanes what a multiply-add takes with its share of
/// unpacked weights and converted rows, which is in the price of core/cost/product_time.cpp; in
/// tiles what beside products makes the next weights elements.
void Gate::fewBits() {
    auto body = [](int rows) {
        return fmt::format("(float16[{0},4096] x, uint8[4096,128,16] b, float16[524288] s) => "
                           "(float16[{0},4096] y) {{ y = com.microsoft.MatMulNBits<K=4096, N=4096, "
                           "bits=4, block_size=32>(x, b, s) }}",
                           rows);
    };
    auto largest = [&](const std::string& text, const char* variant) {
        machine_code::Instructions out;
        const Looped kernel = compile({"few bits", text.c_str(), variant, {}});
        for (size_t i = 1; i < kernel.code.size() && !kernel.serialized; ++i)
            if (kernel.code[i].total > out.total)
                out = kernel.code[i];
        return out;
    };
    struct Lanes {
        const char* name;
        int rows;
        double most;
    };
    for (const Lanes& row : {Lanes{"weights of 4 bits, a row on lanes", 1, 550},
                             Lanes{"weights of 4 bits, 4 rows on lanes", 4, 300}}) {
        const machine_code::Instructions loop = largest(body(row.rows), "gemv_nibbles");
        looped(row.name, 100.0 * loop.total / std::max(1u, loop.multiplyAdds), row.most,
               "instructions for 100 multiply-adds");
    }
    constexpr int m = 128, n = 256, k = 64, warps = 8, schedulers = 4;
    const machine_code::Instructions loop = largest(body(512), "blocked_wgmma_128x256");
    looped("weights of 4 bits, 512 rows in tiles", 1.0 * loop.total * warps / schedulers,
           2.0 * m * n * k / (profile.fp16MatrixFlops / profile.units / profile.clock),
           "clocks beside products of a step of k");
}

} // namespace

int main() {
    auto nvrtc = gpu::Nvrtc::open();
    if (!nvrtc) {
        std::printf("skipped: %s\n", nvrtc.error().text().c_str());
        return skipped;
    }
    Gate gate{**nvrtc, *deviceProfile("h200"), 0};
    std::printf(
        "| sequence | kernel | elements a thread | registers | instructions an element | of "
        "them MUFU | issue us | MUFU us | bytes us |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for (const Sequence& sequence : sequences)
        for (const char* type : {"_half", "_float"})
            for (const gpu_suite::Case& source : gpu_suite::trafficCases())
                if (source.name == std::string(sequence.name) + type)
                    gate.line(source, sequence);
    std::printf("\n| with loops | issued | at most | |\n|---|--:|--:|---|\n");
    gate.depthwise();
    gate.epilogue();
    gate.attention();
    gate.chain(nullptr);
    gate.chain("(float16[100352,96] z, float16[96] g, float16[96] b) => (float16[100352,96] y) "
               "{ y = LayerNormalization<axis=-1, epsilon=1e-6>(z, g, b) }");
    gate.halo();
    gate.fewBits();
    return gate.failures == 0 ? 0 : 1;
}
