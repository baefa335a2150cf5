// SPDX-License-Identifier: Apache-2.0
// Contractions of 8-bit integers, bit for bit against the body node by node: every combination of
// signs, zero points, groups, padding and shapes that a generator of fixed seeds draws. The same
// program runs a second time with oneDNN held to a processor without 8-bit dot products.
#include "cpu_integer_support.h"

using namespace fuselage;
using namespace fuselage::testing_cpu;

TEST(CpuInteger, MatMulIntegerOfAnyShapeAndZeroPoint) {
    for (uint32_t seed = 0; seed < 60; ++seed) {
        Draw draw(seed);
        const int64_t m = draw.from(1, 70), k = draw.from(1, 90), n = draw.from(1, 50);
        const int64_t batch = draw.from(0, 2);
        const DType a = byteType(draw), b = byteType(draw);
        Extents left = {m, k}, right = {k, n}, result = {m, n};
        if (batch > 0) {
            left.insert(left.begin(), batch);
            result.insert(result.begin(), batch);
            if (draw.coin())
                right.insert(right.begin(), batch);
        }
        Case drawn;
        drawn.add("a", draw.bytes(a, left), false);
        drawn.add("b", draw.bytes(b, right), draw.from(0, 4) > 0);
        if (draw.from(0, 3) > 0) {
            drawn.add("az", draw.bytes(a, {}), draw.coin());
            if (draw.coin())
                drawn.add("bz", draw.bytes(b, draw.coin() ? Extents{n} : Extents{}), draw.coin());
        }
        expectExact(drawn, drawn.body("MatMulInteger", "", DType::Int32, result));
        if (HasFailure())
            return;
    }
}

TEST(CpuInteger, RowsMayHaveZeroPointsOfTheirOwn) {
    Draw draw(1);
    Case drawn;
    drawn.add("a", draw.bytes(DType::UInt8, {5, 7}), false);
    drawn.add("b", draw.bytes(DType::Int8, {7, 3}), true);
    drawn.add("az", draw.bytes(DType::UInt8, {5}), false);
    EXPECT_TRUE(expectExact(drawn, drawn.body("MatMulInteger", "", DType::Int32, {5, 3}))
                    .starts_with("columns "));
}

TEST(CpuInteger, SumsThatFloatsDoNotHold) {
    // Sums of up to 2^28: an odd one would be rounded anywhere on a way through float32.
    Draw draw(2);
    const int64_t m = 33, k = 4611, n = 17;
    Case drawn;
    Tensor a(DType::UInt8, {m, k}), b(DType::Int8, {k, n});
    std::fill_n(a.bytes(), m * k, std::byte{255});
    std::fill_n(b.bytes(), k * n, std::byte{127});
    drawn.add("a", a, false);
    drawn.add("b", b, true);
    const std::string tactic =
        expectExact(drawn, drawn.body("MatMulInteger", "", DType::Int32, {m, n}));
    EXPECT_EQ(tactic.find("onednn"), 0U) << tactic;
}

TEST(CpuInteger, ConvIntegerOfAnyGeometry) {
    for (uint32_t seed = 0; seed < 60; ++seed) {
        Draw draw(1000 + seed);
        const int64_t spatial = draw.from(1, 3), groups = draw.coin() ? 1 : draw.from(1, 3);
        const bool depthwise = draw.from(0, 3) == 0;
        const int64_t channels = depthwise ? draw.from(2, 40) : groups * draw.from(1, 9);
        const int64_t results = depthwise ? channels : groups * draw.from(1, 20);
        const int64_t split = depthwise ? channels : groups;
        const DType x = byteType(draw), w = byteType(draw);
        Extents image = {draw.from(1, 2), channels}, filter = {results, channels / split};
        Extents result = {image[0], results};
        std::string kernels, strides, dilations, pads, ends;
        for (int64_t d = 0; d < spatial; ++d) {
            const int64_t extent = draw.from(4, spatial == 3 ? 7 : 19), kernel = draw.from(1, 3);
            const int64_t stride = draw.from(1, 2), dilation = draw.from(1, 2);
            const int64_t begin = draw.from(0, kernel - 1), end = draw.from(0, kernel);
            image.push_back(extent);
            filter.push_back(kernel);
            const int64_t reach = (kernel - 1) * dilation + 1;
            result.push_back((extent + begin + end - reach) / stride + 1);
            auto append = [d](std::string& list, int64_t value) {
                list += (d ? "," : "") + std::to_string(value);
            };
            append(kernels, kernel);
            append(strides, stride);
            append(dilations, dilation);
            append(pads, begin);
            append(ends, end);
        }
        const std::string attributes = "<kernel_shape=[" + kernels + "],strides=[" + strides +
                                       "],dilations=[" + dilations + "],pads=[" + pads + "," +
                                       ends + "],group=" + std::to_string(split) + ">";
        Case drawn;
        drawn.add("x", draw.bytes(x, image), false);
        drawn.add("w", draw.bytes(w, filter), true);
        if (draw.from(0, 3) > 0) {
            drawn.add("xz", draw.bytes(x, {}), draw.coin());
            if (draw.coin())
                drawn.add("wz", draw.bytes(w, draw.coin() ? Extents{results} : Extents{}), true);
        }
        const bool more = draw.coin();
        expectExact(drawn,
                    drawn.body("ConvInteger", attributes, more ? DType::Float32 : DType::Int32,
                               result, more ? "f = Cast<to=1>(c) y = Relu(f)" : ""));
        if (HasFailure())
            return;
    }
}

TEST(CpuInteger, QLinearMatMulAndConv) {
    for (uint32_t seed = 0; seed < 60; ++seed) {
        Draw draw(2000 + seed);
        const bool isConv = draw.coin();
        const DType a = byteType(draw), b = byteType(draw), y = byteType(draw);
        const int64_t k = draw.from(1, 40), n = draw.from(1, 40), m = draw.from(1, 20);
        const bool columns = draw.coin();
        const Extents perColumn = columns ? Extents{n} : Extents{};
        Case drawn;
        drawn.add("a", draw.bytes(a, isConv ? Extents{1, k, m, 5} : Extents{m, k}), false);
        drawn.add("as", draw.scales({}), true);
        drawn.add("az", draw.bytes(a, {}), true);
        drawn.add("b", draw.bytes(b, isConv ? Extents{n, k, 3, 3} : Extents{k, n}), true);
        drawn.add("bs", draw.scales(perColumn), true);
        drawn.add("bz", draw.bytes(b, perColumn), true);
        drawn.add("ys", draw.scales({}), true);
        drawn.add("yz", draw.bytes(y, {}), true);
        if (isConv && draw.coin()) {
            Tensor bias(DType::Int32, {n});
            for (int32_t& value : bias.as<int32_t>())
                value = static_cast<int32_t>(draw.from(-9999, 9999));
            drawn.add("c", bias, true);
        }
        expectExact(drawn, isConv ? drawn.body("QLinearConv", "<kernel_shape=[3,3],pads=[1,1,1,1]>",
                                               y, {1, n, m, 5})
                                  : drawn.body("QLinearMatMul", "", y, {m, n}));
        if (HasFailure())
            return;
    }
}

TEST(CpuInteger, AQLinearConvolutionTakesOnePassOverItsSums) {
    Draw draw(4);
    Case drawn;
    drawn.add("x", draw.bytes(DType::Int8, {1, 32, 9, 9}), false);
    drawn.add("xs", draw.scales({}), true);
    drawn.add("xz", draw.bytes(DType::Int8, {}), true);
    drawn.add("w", draw.bytes(DType::Int8, {48, 32, 3, 3}), true);
    drawn.add("ws", draw.scales({48}), true);
    drawn.add("wz", draw.bytes(DType::Int8, {48}), true);
    drawn.add("ys", draw.scales({}), true);
    drawn.add("yz", draw.bytes(DType::UInt8, {}), true);
    Tensor bias(DType::Int32, {48});
    for (int32_t& value : bias.as<int32_t>())
        value = static_cast<int32_t>(draw.from(-99999, 99999));
    drawn.add("b", bias, true);
    const std::string tactic =
        expectExact(drawn, drawn.body("QLinearConv", "<kernel_shape=[3,3],pads=[1,1,1,1]>",
                                      DType::UInt8, {1, 48, 9, 9}));
    EXPECT_NE(tactic.find("requantisation"), std::string::npos) << tactic;
}

TEST(CpuInteger, BytesInTheModelsOrderAreTurnedBehindTheOnePass) {
    for (int64_t group : {1, 16}) {
        Draw draw(51);
        Case drawn;
        const Tensor zero(DType::UInt8, {});
        drawn.add("x", draw.bytes(DType::UInt8, {1, 16, 9, 7}), false);
        drawn.add("sx", draw.scales({}), true);
        drawn.add("zx", zero.clone(), true);
        drawn.add("w", draw.bytes(DType::Int8, {16, 16 / group, 3, 3}), true);
        drawn.add("sw", draw.scales({}), true);
        drawn.add("zw", Tensor(DType::Int8, {}), true);
        drawn.add("sy", draw.scales({}), true);
        drawn.add("zy", zero.clone(), true);
        const std::string body = drawn.body(
            "QLinearConv", "<group = " + std::to_string(group) + ">", DType::UInt8, {1, 16, 7, 5});
        expectExact(drawn, body);
        const LowerRequest request = bodyFrom(body, drawn.constants);
        const KernelProgram program = programOf(request);
        auto tacticIn = [&](testing_cpu::Order order) {
            std::vector<ReferenceValue> inputs;
            for (ValueId id : request.body->inputs()) {
                const std::string& name = request.body->value(id).name;
                const auto known = drawn.constants.find(name);
                inputs.push_back(ReferenceValue::from(
                    known == drawn.constants.end() ? drawn.inputs.at(name) : known->second));
            }
            return runOnCpu(program, inputs, request.constants, order, 1, prepareKernel,
                            vectorTable(0))
                .tactic;
        };
        EXPECT_NE(tacticIn(testing_cpu::Order::RowMajor).find("turned"), std::string::npos);
        EXPECT_EQ(tacticIn(testing_cpu::Order::ChannelsLast).find("turned"), std::string::npos);
    }
}

TEST(CpuInteger, StripsWithAnEpilogueAndAResidual) {
    // Several strips, the last one smaller, and operands of every broadcast shape behind them.
    for (int64_t height : {37, 64}) {
        Draw draw(7);
        Case drawn;
        drawn.add("x", draw.bytes(DType::UInt8, {1, 24, height, 41}), false);
        drawn.add("w", draw.bytes(DType::Int8, {48, 24, 3, 3}), true);
        drawn.add("xz", draw.bytes(DType::UInt8, {}), false);
        const std::string arguments = drawn.arguments;
        drawn.add("s", draw.scales({48, 1, 1}), true);
        drawn.add("p", draw.scales({1, 1, height, 1}), true);
        drawn.add("r", draw.scales({1, 48, height, 41}), false);
        drawn.arguments = arguments;
        const std::string tactic = expectExact(
            drawn, drawn.body("ConvInteger", "<kernel_shape=[3,3],pads=[1,1,1,1]>", DType::Float32,
                              {1, 48, height, 41},
                              "f = Cast<to=1>(c) g = Mul(f, s) h = Mul(g, p) y = Add(h, r)"));
        EXPECT_NE(tactic.find("strips"), std::string::npos) << tactic;
    }
}

// Rows of a length that is no multiple of four are no reason for another way to multiply.
TEST(CpuInteger, RowsThatEndInsideAQuadTakeTheSameWay) {
    for (int64_t k : {27, 64}) {
        std::string even;
        for (int64_t more : {0, 1, 2, 3}) {
            Draw draw(static_cast<uint32_t>(k + more));
            Case drawn;
            drawn.add("a", draw.bytes(DType::UInt8, {24, k / 4 * 4 + more}), false);
            drawn.add("b", draw.bytes(DType::Int8, {k / 4 * 4 + more, 40}), true);
            const std::string tactic =
                expectExact(drawn, drawn.body("MatMulInteger", "", DType::Int32, {24, 40}));
            if (more == 0)
                even = tactic;
            EXPECT_EQ(tactic, even) << k / 4 * 4 + more;
        }
    }
}
