// SPDX-License-Identifier: Apache-2.0
// Writes the single sequences of the benchmark as ONNX files: memory-bound rows of 4096, a linear
// layer bare and with GELU, depthwise convolution, the stem of a ResNet.
#include "app/pipeline/compiled.h"
#include "core/onnx/model_file.h"

#include <cstdio>
#include <filesystem>
#include <string>

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

/// Numbers between 1/1024 and 1: positive, since some are variances.
Tensor weightOf(const Type& type, uint64_t seed) {
    Tensor out(type.dtype, *type.extents());
    for (int64_t i = 0; i < out.elementCount(); ++i) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        out.set(i, static_cast<double>((seed >> 40) % 1024 + 1) / 1024);
    }
    return out;
}

Result<Graph> made(const Model& model) {
    auto graph = model_io::loadText(model.text);
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

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: gpu_models FOLDER\n");
        return 2;
    }
    std::error_code ignored;
    std::filesystem::create_directories(argv[1], ignored);
    for (const Model& model : models) {
        auto graph = made(model);
        if (!graph) {
            std::fprintf(stderr, "%s: %s\n", model.name, graph.error().text().c_str());
            return 1;
        }
        const std::string path = std::string(argv[1]) + "/" + model.name + ".onnx";
        if (auto saved = model_io::save(*graph, path); !saved) {
            std::fprintf(stderr, "%s\n", saved.error().text().c_str());
            return 1;
        }
    }
    return 0;
}
