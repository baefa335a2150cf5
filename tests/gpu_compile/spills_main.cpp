// SPDX-License-Identifier: Apache-2.0
// Registers of tiles that a kernel chooses by cost: conv_halo's for ordinary convolutions, with the
// ends that these have, through NVRTC for sm_90. What the choice took a thread to need must be what
// it got: no spills, and no fewer blocks on a multiprocessor. Whole suites of other kernels:
// main.cpp. Needs no GPU. Exit status 77: NVRTC is not here.
#include "gpu/kernels/conv_halo.h"
#include "gpu/kernels/variant_table.h"
#include "gpu/runtime/nvrtc.h"
#include "tests/shim/suite.h"

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

using namespace fuselage;

namespace {

constexpr int skipped = 77;
constexpr int64_t allRegisters = 65536; ///< of a multiprocessor

struct Layer {
    const char* name;
    int64_t channels, width, results;
};

/// What follows the products of x and w; the text of what it reads beside them.
struct End {
    const char* name;
    const char* reads; ///< {0}: channels, {1}: the type of the results
    const char* body;
};

gpu_suite::Prepared prepared(const Layer& layer, const End& end, int64_t images) {
    const std::string y =
        fmt::format("float16[{},{},{},{}]", images, layer.results, layer.width, layer.width);
    gpu_suite::Case source;
    source.name = fmt::format("{}, batch {}, {}", layer.name, images, end.name);
    source.bodies = {fmt::format(
        "(float16[{0},{1},{2},{2}] x, float16[{3},{1},3,3] w, {4}) => ({5} y) {{ {6} }}", images,
        layer.channels, layer.width, layer.results,
        fmt::format(fmt::runtime(end.reads), layer.results, y), y, end.body)};
    source.variants = "conv_halo";
    source.constants = "in1";
    source.capability = 90;
    for (const char* operand : {"in0", "out0"})
        source.placements[operand] = {{0, 2, 3, 1}};
    if (std::string_view(end.reads).ends_with("r"))
        source.placements["in3"] = {{0, 2, 3, 1}};
    return gpu_suite::prepare(source);
}

struct Gate {
    gpu::Nvrtc& nvrtc;
    std::set<std::string> seen; ///< texts
    int compiled = 0, failures = 0;

    void fail(const std::string& name, const std::string& problem) {
        std::printf("FAILED %s: %s\n", name.c_str(), problem.c_str());
        ++failures;
    }

    void compile(const Layer& layer, const End& end, int64_t images, const DeviceProfile& profile) {
        gpu_suite::Prepared source = prepared(layer, end, images);
        const std::string& name = source.source.name;
        if (!source.program)
            return fail(name, "it is not lowered");
        source.request.profile = &profile;
        auto made = gpu::convSpec(source.request);
        auto* spec = std::get_if<gpu::ConvSpec>(&made);
        if (spec == nullptr)
            return fail(name, "no convolution");
        auto chosen = gpu::haloShape(*spec);
        auto* shape = std::get_if<gpu::HaloShape>(&chosen);
        if (shape == nullptr)
            return; // left to other kernels
        gpu::EmitResult emitted = gpu::emitConvHalo(source.request);
        auto* set = std::get_if<gpu::KernelSet>(&emitted);
        if (set == nullptr)
            return fail(name, "a tile and no kernel");
        const gpu::KernelText& kernel = set->kernels[0];
        if (!seen.insert(kernel.source).second)
            return;
        gpu::CompileOptions options;
        options.arch = "sm_90";
        auto code = nvrtc.compile(kernel, options);
        if (!code)
            return fail(name, code.error().text());
        ++compiled;
        const std::string figures =
            fmt::format("{} warpgroups, {} results of {} down, slices of {}, {} resident: {} "
                        "registers taken for {}, {} bytes of local memory",
                        shape->groups, shape->results, shape->down, shape->channels,
                        shape->residents, code->registers, shape->registers(), code->localBytes);
        std::printf("%s: %s\n", name.c_str(), figures.c_str());
        if (code->localBytes != 0)
            fail(name, "it spills");
        if (code->registers * shape->threads() * shape->residents > allRegisters)
            fail(name, "fewer blocks on a multiprocessor than the tile was chosen for");
    }
};

} // namespace

int main() {
    auto nvrtc = gpu::Nvrtc::open();
    if (!nvrtc) {
        std::printf("skipped: %s\n", nvrtc.error().text().c_str());
        return skipped;
    }
    auto profile = deviceProfile("h200");
    if (!profile) {
        std::printf("FAILED: %s\n", profile.error().text().c_str());
        return 1;
    }
    const Layer layers[] = {
        {"resnet 64", 64, 56, 64},      {"resnet 128", 128, 28, 128}, {"resnet 256", 256, 14, 256},
        {"resnet 512", 512, 7, 512},    {"vgg 64", 64, 224, 64},      {"vgg 128", 128, 112, 128},
        {"vgg 256", 256, 56, 256},      {"vgg 512", 512, 28, 512},    {"unet 64, 32", 64, 128, 32},
        {"unet 320", 320, 64, 320},     {"unet 640", 640, 32, 640},   {"unet 16", 16, 96, 16},
        {"dense 128, 32", 128, 28, 32}, {"odd 72, 80", 72, 15, 80},   {"head 96", 96, 40, 96},
    };
#define BIASED "a = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w, b) "
    const End ends[] = {
        {"relu", "float16[{0}] b", BIASED "y = Relu(a)"},
        {"norm", "float16[{0}] g, float16[{0}] b, float16[{0}] m, float16[{0}] v",
         "a = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) "
         "s = BatchNormalization(a, g, b, m, v) y = Relu(s)"},
        {"residual", "float16[{0}] b, {1} r", BIASED "s = Add(a, r) y = Relu(s)"},
        {"gelu", "float16[{0}] b", BIASED "y = Gelu(a)"},
        {"silu", "float16[{0}] b", BIASED "s = Sigmoid(a) y = Mul(a, s)"},
    };
#undef BIASED
    Gate gate{**nvrtc, {}};
    // Relu and a normalisation at the largest batch, which takes the largest tiles, and at each one
    // of the others in turn.
    size_t turn = 0;
    for (const Layer& layer : layers)
        for (const int64_t images : {1, 8, 32}) {
            if (images == 32)
                for (const End& end : {ends[0], ends[1]})
                    gate.compile(layer, end, images, *profile);
            gate.compile(layer, ends[2 + turn++ % (std::size(ends) - 2)], images, *profile);
        }
    std::printf("%d kernels of conv_halo\n", gate.compiled);
    if (gate.compiled == 0)
        gate.fail("all", "no convolution takes the kernel");
    return gate.failures == 0 ? 0 : 1;
}
