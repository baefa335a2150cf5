// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/probes.h"

#include <fmt/format.h>

namespace fuselage::app {

namespace {

Probe elementwise(const char* name, ProbeOf of, const char* nodes, TapeOp op = TapeOp::Exp) {
    return {name,
            of,
            fmt::format("(float[128,512] x, float[512] z) => (float[128,512] y) {{ {} }}", nodes),
            "",
            "",
            op};
}

/// One operation of tapes by the operator that is nothing else.
Probe operation(const char* op, TapeOp of) {
    return elementwise(op, ProbeOf::Tape, fmt::format("y = {}(x)", op).c_str(), of);
}

/// Between two steps: neither reads or writes what the graph shows outside.
Probe convolution(const char* name, ProbeOf of, const char* input, const char* weights,
                  const char* attributes, const char* output) {
    return {
        name, of,
        fmt::format("(float[{}] x, float[{}] w) => (float[{}] y) {{ r = Relu(x) c = Conv{}(r, w) "
                    "y = Relu(c) }}",
                    input, weights, output, attributes),
        "w", "c"};
}

/// Between convolutions of 1x1, with which it shares an order of memory.
Probe depthwise(const char* name, int64_t channels, int64_t size, int64_t kernel) {
    return {
        name, ProbeOf::LaneProduct,
        fmt::format("(float[1,16,{1},{1}] x, float[{0},16,1,1] a, float[{0},1,{2},{2}] w, "
                    "float[16,{0},1,1] b) => (float[1,16,{1},{1}] y) {{ r = Conv(x, a) "
                    "c = Conv<pads = [{3}, {3}, {3}, {3}], group = {0}>(r, w) y = Conv(c, b) }}",
                    channels, size, kernel, kernel / 2),
        "a w b", "c"};
}

/// Behind a product whose weights leave nothing else in a core's cache, as in networks.
Probe product(const char* name, int64_t m, int64_t k, int64_t n, ProbeOf of) {
    return {name, of,
            fmt::format("(float[{0},{1}] x, float[{1},{1}] u, float[{1},{2}] w) => "
                        "(float[{0},{2}] y) {{ r = MatMul(x, u) c = MatMul(r, w) y = Relu(c) }}",
                        m, k, n),
            "u w", "c"};
}

Probe matrixTimesVector(const char* name, int64_t n, ProbeOf of) {
    return {name, of,
            fmt::format("(float[1,{0}] x, float[{0},{0}] w) => (float[1,{0}] y) {{ r = Relu(x) c "
                        "= MatMul(r, w) y = Relu(c) }}",
                        n),
            "w", "c"};
}

/// Of heads that lie side by side in rows, as projections leave them.
Probe attention(const char* name, int64_t heads, int64_t rows) {
    return {name, ProbeOf::Score,
            fmt::format(
                "(float[{1},{2}] q, float[{1},{2}] k, float[{1},{2}] v) => (float[{1},{2}] y) {{ "
                "h = Constant<value = int64[3] {{{1}, {0}, 64}}>() "
                "r = Constant<value = int64[2] {{{1}, {2}}}>() "
                "f = Constant<value = float {{0.125}}>() qr = Reshape(q, h) kr = Reshape(k, h) "
                "vr = Reshape(v, h) qt = Transpose<perm = [1, 0, 2]>(qr) "
                "kt = Transpose<perm = [1, 2, 0]>(kr) vt = Transpose<perm = [1, 0, 2]>(vr) "
                "s = MatMul(qt, kt) t = Mul(s, f) p = Softmax<axis = -1>(t) o = MatMul(p, vt) "
                "ot = Transpose<perm = [1, 0, 2]>(o) y = Reshape(ot, r) }}",
                heads, rows, 64 * heads)};
}

/// Programs of a kind, sizes as networks have them.
std::vector<Probe> structured() {
    constexpr const char* same = "<pads = [1, 1, 1, 1]>";
    return {
        // Behind a step that fills the caches with its own data, as steps of networks are.
        {"launch", ProbeOf::Launch,
         "(float[4194304] x, float[16] z) => (float[16] y) { r = Relu(x) "
         "m = ReduceMax<keepdims = 1>(r) s = Add(m, z) y = Relu(s) }",
         "", "s"},
        {"launch again", ProbeOf::Again, "(float[16] x) => (float[16] y) { y = Relu(x) }"},
        {"share", ProbeOf::Fork, "(float[128,512] x) => (float[128,512] y) { y = Erf(x) }"},
        matrixTimesVector("matrix times vector, 256 MiB", 8192, ProbeOf::Dram),
        matrixTimesVector("matrix times vector, 16 MiB", 2048, ProbeOf::Cache),
        // Between products whose weights leave nothing else in a core's cache.
        {"norm between products", ProbeOf::Wait,
         "(float[197,768] x, float[768,3072] w, float[3072,768] u, float[768] s, float[768] b) => "
         "(float[197,768] y) { c = MatMul(x, w) d = MatMul(c, u) "
         "n = LayerNormalization(d, s, b) y = Relu(n) }",
         "w u s b", "n"},
        {"copy 16 MiB", ProbeOf::Cache,
         "(float[2097152] x) => (float[1] y) { r = Relu(x) c = Neg(r) "
         "y = ReduceMax<keepdims = 1>(c) }",
         "", "c"},
        elementwise("add", ProbeOf::Issue, "y = Add(x, z)"),
        elementwise("hard swish", ProbeOf::Issue, "t = Add(x, z) y = HardSwish(t)"),
        elementwise("chain", ProbeOf::Issue,
                    "a = Add(x, z) b = Mul(a, z) c = Sub(b, x) d = Max(c, z) e = Mul(d, x) "
                    "y = Min(e, z)"),
        {"mean of rows of 1024", ProbeOf::Reduce,
         "(float[64,1024] x) => (float[64] y) { y = ReduceMean<axes = [1], keepdims = 0>(x) }"},
        {"layer norm 64x768", ProbeOf::Reduce,
         "(float[64,768] x, float[768] s, float[768] b) => (float[64,768] y) "
         "{ y = LayerNormalization(x, s, b) }",
         "s b"},
        {"softmax 128x512", ProbeOf::Reduce,
         "(float[128,512] x) => (float[128,512] y) { y = Softmax(x) }"},
        {"mean of rows of 49", ProbeOf::Row,
         "(float[2048,49] x) => (float[2048] y) { y = ReduceMean<axes = [1], keepdims = 0>(x) }"},
        {"layer norm 784x96", ProbeOf::Row,
         "(float[784,96] x, float[96] s, float[96] b) => (float[784,96] y) "
         "{ y = LayerNormalization(x, s, b) }",
         "s b"},
        {"max pool 3x3 64 of 112x112", ProbeOf::Window,
         "(float[1,16,112,112] x, float[64,16,1,1] w, float[16,64,1,1] u) => (float[1,16,56,56] y) "
         "{ c = Conv(x, w) m = MaxPool<kernel_shape = [3, 3], strides = [2, 2], "
         "pads = [1, 1, 1, 1]>(c) y = Conv(m, u) }",
         "w u", "m"},
        {"max pool 2x2 48 of 64x64", ProbeOf::Window,
         "(float[1,16,64,64] x, float[48,16,1,1] w, float[16,48,1,1] u) => (float[1,16,32,32] y) "
         "{ c = Conv(x, w) m = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(c) "
         "y = Conv(m, u) }",
         "w u", "m"},
        {"border around 64 of 56x56", ProbeOf::Run,
         "(float[64,56,56] x) => (float[64,58,58] y) { "
         "p = Constant<value = int64[6] {0, 1, 1, 0, 1, 1}>() r = Relu(x) c = Pad(r, p) "
         "y = Relu(c) }",
         "", "c"},
        // Behind a step whose result the graph shows as well, so that it cannot be written turned.
        {"rows of 64 of 12 heads", ProbeOf::Run,
         "(float[128,12,64] x) => (float[12,128,64] y, float[128,12,64] r) { r = Relu(x) "
         "y = Transpose<perm = [1, 0, 2]>(r) }",
         "", "y"},
        {"matrix 512x512 turned", ProbeOf::Turn,
         "(float[512,512] x) => (float[512,512] y, float[512,512] r) { r = Relu(x) "
         "y = Transpose<perm = [1, 0]>(r) }",
         "", "y"},
        {"64 of 56x56 to channels last", ProbeOf::Turn,
         "(float[64,56,56] x) => (float[56,56,64] y, float[64,56,56] r) { r = Relu(x) "
         "y = Transpose<perm = [1, 2, 0]>(r) }",
         "", "y"},
        {"12 matrices 128x64 turned", ProbeOf::Turn,
         "(float[12,128,64] x) => (float[12,64,128] y, float[12,128,64] r) { r = Relu(x) "
         "y = Transpose<perm = [0, 2, 1]>(r) }",
         "", "y"},
        {"64 of 28x28 twice as large", ProbeOf::Routine,
         "(float[1,64,28,28] x) => (float[1,64,56,56] y) { "
         "f = Constant<value = float[4] {1, 1, 2, 2}>() r = Relu(x) "
         "c = Resize<mode = \"nearest\">(r, , f) y = Relu(c) }",
         "", "c"},
        attention("attention 12x197", 12, 197),
        attention("attention 12x128", 12, 128),
        {"product 784x192x768 with GELU", ProbeOf::Epilogue,
         "(float[784,192] x, float[192,768] w, float[768] b) => (float[784,768] y) { "
         "s = Constant<value = float {0.70710678}>() h = Constant<value = float {0.5}>() "
         "o = Constant<value = float {1}>() c = MatMul(x, w) d = Add(c, b) a = Mul(d, s) "
         "e = Erf(a) p = Add(e, o) m = Mul(d, h) y = Mul(m, p) }",
         "w b"},
        product("product 512x512x512", 512, 512, 512, ProbeOf::Matrix),
        product("product 128x768x3072", 128, 768, 3072, ProbeOf::Matrix),
        product("product 197x768x768", 197, 768, 768, ProbeOf::Matrix),
        convolution("conv 1x1 256 to 64 of 56x56", ProbeOf::Matrix, "1,256,56,56", "64,256,1,1", "",
                    "1,64,56,56"),
        convolution("conv 1x1 1024 to 256 of 14x14", ProbeOf::Matrix, "1,1024,14,14",
                    "256,1024,1,1", "", "1,256,14,14"),
        convolution("conv 1x1 512 to 2048 of 7x7", ProbeOf::Matrix, "1,512,7,7", "2048,512,1,1", "",
                    "1,2048,7,7"),
        convolution("conv 3x3 64 of 56x56", ProbeOf::Filter, "1,64,56,56", "64,64,3,3", same,
                    "1,64,56,56"),
        convolution("conv 3x3 128 of 28x28", ProbeOf::Filter, "1,128,28,28", "128,128,3,3", same,
                    "1,128,28,28"),
        convolution("conv 3x3 256 of 14x14", ProbeOf::Filter, "1,256,14,14", "256,256,3,3", same,
                    "1,256,14,14"),
        {"conv 7x7 3 of 224x224", ProbeOf::Channels,
         "(float[1,3,224,224] x, float[64,3,7,7] w) => (float[1,64,112,112] y) "
         "{ c = Conv<pads = [3, 3, 3, 3], strides = [2, 2]>(x, w) y = Relu(c) }",
         "w", "c"},
        {"conv 3x3 3 of 224x224", ProbeOf::Channels,
         "(float[1,3,224,224] x, float[32,3,3,3] w) => (float[1,32,112,112] y) "
         "{ c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w) y = Relu(c) }",
         "w", "c"},
        convolution("conv 3x3 512 of 7x7", ProbeOf::Mixed, "1,512,7,7", "512,512,3,3", same,
                    "1,512,7,7"),
        convolution("conv 3x3 128 of 56x56, stride 2", ProbeOf::Mixed, "1,128,56,56", "128,128,3,3",
                    "<pads = [1, 1, 1, 1], strides = [2, 2]>", "1,128,28,28"),
        depthwise("depthwise 7x7 96 of 56x56", 96, 56, 7),
        depthwise("depthwise 5x5 120 of 28x28", 120, 28, 5),
        depthwise("depthwise 3x3 64 of 56x56", 64, 56, 3),
        matrixTimesVector("matrix times vector, 64 MiB", 4096, ProbeOf::Mixed),
        {"copy 64 MiB", ProbeOf::Mixed,
         "(float[8388608] x) => (float[1] y) { r = Relu(x) c = Neg(r) "
         "y = ReduceMax<keepdims = 1>(c) }",
         "", "c"},
        elementwise(
            "erf GELU", ProbeOf::Mixed,
            "s = Constant<value = float {0.70710678}>() h = Constant<value = float {0.5}>() "
            "o = Constant<value = float {1}>() g = Add(x, z) a = Mul(g, s) e = Erf(a) "
            "p = Add(e, o) m = Mul(x, h) y = Mul(m, p)"),
        elementwise("sigmoid", ProbeOf::Mixed, "t = Add(x, z) s = Sigmoid(t) y = Mul(t, s)"),
    };
}

} // namespace

const std::vector<Probe>& probes() {
    static const std::vector<Probe> all = [] {
        std::vector<Probe> out = structured();
        out.push_back(elementwise("Div", ProbeOf::Tape, "y = Div(x, z)", TapeOp::Div));
        out.push_back(elementwise("Pow", ProbeOf::Tape, "y = Pow(x, z)", TapeOp::Pow));
        for (auto [op, of] :
             std::initializer_list<std::pair<const char*, TapeOp>>{{"Sqrt", TapeOp::Sqrt},
                                                                   {"Exp", TapeOp::Exp},
                                                                   {"Log", TapeOp::Log},
                                                                   {"Erf", TapeOp::Erf},
                                                                   {"Sin", TapeOp::Sin},
                                                                   {"Cos", TapeOp::Cos},
                                                                   {"Tan", TapeOp::Tan},
                                                                   {"Asin", TapeOp::Asin},
                                                                   {"Acos", TapeOp::Acos},
                                                                   {"Atan", TapeOp::Atan},
                                                                   {"Sinh", TapeOp::Sinh},
                                                                   {"Cosh", TapeOp::Cosh},
                                                                   {"Tanh", TapeOp::Tanh},
                                                                   {"Asinh", TapeOp::Asinh},
                                                                   {"Acosh", TapeOp::Acosh},
                                                                   {"Atanh", TapeOp::Atanh}})
            out.push_back(operation(op, of));
        return out;
    }();
    return all;
}

} // namespace fuselage::app
