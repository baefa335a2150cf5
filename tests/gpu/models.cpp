// SPDX-License-Identifier: Apache-2.0
// Writes the single sequences of the benchmark as ONNX files: memory-bound rows of 4096, a linear
// layer bare and with GELU, depthwise convolution, the stem of a ResNet. `small`: the same ones
// small, and sequences in place of the networks, for a rehearsal without a device.
#include "app/pipeline/compiled.h"
#include "core/onnx/model_file.h"

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

using namespace fuselage;

namespace {

struct Model {
    const char* name;
    const char* text;
};

// Every input but the first becomes a weight. Stored in float16 throughout, so that no conversion
// is part of what is measured.
constexpr Model models[] = {
    {"gelu", "g (float16[65536,4096] x, float16[4096] b) => (float16[65536,4096] y)"
             " <float root = {1.41421356}, float one = {1}, float half = {0.5}> {"
             " r = Cast<to=10>(root) o = Cast<to=10>(one) h = Cast<to=10>(half)"
             " a = Add(x, b) d = Div(a, r) e = Erf(d) p = Add(e, o) q = Mul(a, p) y = Mul(q, h) }"},
    {"layer_norm",
     "g (float16[65536,4096] x, float16[4096] s, float16[4096] b) => (float16[65536,4096] y) {"
     " y = LayerNormalization<axis=-1>(x, s, b) }"},
    {"softmax", "g (float16[65536,4096] x) => (float16[65536,4096] y) { y = Softmax<axis=-1>(x) }"},
    {"linear", "g (float16[6304,768] x, float16[768,3072] w) => (float16[6304,3072] y) {"
               " y = MatMul(x, w) }"},
    {"linear_gelu",
     "g (float16[6304,768] x, float16[768,3072] w, float16[3072] b) => (float16[6304,3072] y)"
     " <float root = {1.41421356}, float one = {1}, float half = {0.5}> {"
     " r = Cast<to=10>(root) o = Cast<to=10>(one) h = Cast<to=10>(half)"
     " m = MatMul(x, w) a = Add(m, b) d = Div(a, r) e = Erf(d) p = Add(e, o) q = Mul(a, p)"
     " y = Mul(q, h) }"},
    // Channels last on both sides, as networks have it between their layers.
    {"depthwise", "g (float16[32,56,56,96] x, float16[96,1,7,7] w, float16[96] b)"
                  " => (float16[32,56,56,96] y) { t = Transpose<perm=[0,3,1,2]>(x)"
                  " c = Conv<group=96,pads=[3,3,3,3]>(t, w, b) y = Transpose<perm=[0,2,3,1]>(c) }"},
    {"stem",
     "g (float16[32,3,224,224] x, float16[64,3,7,7] w, float16[64] s, float16[64] b, float16[64] m,"
     " float16[64] v) => (float16[32,64,56,56] y) {"
     " c = Conv<pads=[3,3,3,3],strides=[2,2]>(x, w)"
     " n = BatchNormalization(c, s, b, m, v) r = Relu(n)"
     " y = MaxPool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]>(r) }"},
};

/// What stands for the networks in a rehearsal: one step each, of different kinds.
constexpr Model smallNetworks[] = {
    {"resnet50", "g (float[N,4,2,2] x, float[8,4,1,1] w, float[8] b) => (float[N,8,2,2] y) {"
                 " c = Conv(x, w, b) y = Relu(c) }"},
    {"convnext_tiny", "g (float[N,4,32] x, float[32] s, float[32] b) => (float[N,4,32] y) {"
                      " y = LayerNormalization<axis=-1>(x, s, b) }"},
    {"vit_b_16", "g (float[N,4,16] x) => (float[N,4,16] y) { y = Softmax<axis=-1>(x) }"},
    {"bert_base", "g (float[N,16] x, float[16,16] w, float[16] b) => (float[N,16] y) {"
                  " m = MatMul(x, w) y = Add(m, b) }"},
};

/// Extents of the sequences and what they are in a rehearsal.
constexpr std::pair<std::string_view, std::string_view> smallExtents[] = {
    {"65536", "8"},
    {"4096", "64"},
    {"6304", "16"},
    {"768", "32"},
    {"3072", "64"},
    {"32,56,56,96", "1,8,8,8"},
    {"96,1,7,7", "8,1,7,7"},
    {"[96]", "[8]"},
    {"group=96", "group=8"},
    {"32,3,224,224", "1,3,8,8"},
    {"32,64,56,56", "1,64,2,2"}};

std::string smallText(std::string text) {
    for (const auto& [large, small] : smallExtents)
        for (size_t at = 0; (at = text.find(large, at)) != std::string::npos; at += small.size())
            text.replace(at, large.size(), small);
    return text;
}

/// Numbers between 1/1024 and 1: positive, since some are variances.
Tensor weightOf(const Type& type, uint64_t seed) {
    Tensor out(type.dtype, *type.extents());
    for (int64_t i = 0; i < out.elementCount(); ++i) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        out.set(i, static_cast<double>((seed >> 40) % 1024 + 1) / 1024);
    }
    return out;
}

Result<Graph> made(const std::string& text) {
    auto graph = model_io::loadText(text);
    if (!graph)
        return graph;
    while (graph->inputs().size() > 1) {
        const Value& input = graph->value(graph->inputs()[1]);
        const std::string name = input.name;
        if (auto bound = bindInput(*graph, name, weightOf(input.type, graph->inputs().size()));
            !bound)
            return failure(bound.error());
    }
    return graph;
}

bool write(const std::string& folder, const char* name, const std::string& text) {
    auto graph = made(text);
    auto saved = graph ? model_io::save(*graph, folder + "/" + name + ".onnx")
                       : Result<model_io::SavedFiles>(failure(graph.error()));
    if (!saved)
        std::fprintf(stderr, "%s: %s\n", name, saved.error().text().c_str());
    return static_cast<bool>(saved);
}

} // namespace

int main(int argc, char** argv) {
    const bool small = argc == 3 && std::string_view(argv[2]) == "small";
    if (argc != 2 && !small) {
        std::fprintf(stderr, "usage: gpu_models FOLDER [small]\n");
        return 2;
    }
    std::error_code ignored;
    std::filesystem::create_directories(argv[1], ignored);
    bool all = true;
    for (const Model& model : models)
        all = write(argv[1], model.name, small ? smallText(model.text) : model.text) && all;
    if (small)
        for (const Model& model : smallNetworks)
            all = write(argv[1], model.name, model.text) && all;
    return all ? 0 : 1;
}
