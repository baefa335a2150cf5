// SPDX-License-Identifier: Apache-2.0
// Products between DequantizeLinear and QuantizeLinear, whose sums are integers. With scales that
// are powers of two nothing on the way is rounded, so that they are what the body gives node by
// node to the last bit.
#include "cpu_integer_support.h"

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

Tensor powers(Draw& draw, const Extents& extents, int64_t least, int64_t most) {
    std::vector<float> values;
    for (int64_t i = 0; i < *elementCount(extents); ++i)
        values.push_back(std::ldexp(1.0F, static_cast<int>(draw.from(least, most))));
    return Tensor::ofFloats(extents, values);
}

/// Statements of a body, and its operands.
struct StoredChain {
    Case drawn;
    std::string statements;

    void say(const std::string& statement) { statements += " " + statement; }

    /// A stored operand with a scale and perhaps a zero point; its dequantised name.
    std::string stored(Draw& draw, const std::string& name, Tensor value, bool constant,
                       const Extents& perIndex = {}, const std::string& axis = "") {
        const DType type = value.dtype();
        drawn.add(name, std::move(value), constant);
        drawn.add(name + "s", powers(draw, perIndex, -6, -3), true);
        std::string arguments = name + ", " + name + "s";
        if (draw.coin()) {
            drawn.add(name + "z", draw.bytes(type, perIndex), true);
            arguments += ", " + name + "z";
        }
        say(name + "d = DequantizeLinear" + axis + "(" + arguments + ")");
        return name + "d";
    }

    /// What stands behind a product, up to the result `y`; its type.
    DType finish(Draw& draw, std::string at, const Extents& result) {
        const int64_t residual = draw.from(0, 2);
        if (residual > 0) {
            const std::string r = stored(draw, "r", draw.bytes(byteType(draw), result), false);
            say("u = Add(" + (residual == 1 ? at + ", " + r : r + ", " + at) + ")");
            at = "u";
        }
        const int64_t activation = draw.from(0, 3);
        if (activation == 1)
            say("e = Relu(" + at + ")");
        if (activation == 2) {
            drawn.add("low", Tensor::ofFloats({}, {-0.75F}), true);
            drawn.add("high", Tensor::ofFloats({}, {6.0F}), true);
            say("e = Clip(" + at + ", low, high)");
        }
        if (activation == 3)
            say("e = Abs(" + at + ")"); // no clamp: on tiles
        at = activation > 0 ? "e" : at;
        if (draw.from(0, 3) == 0) {
            say("y = Identity(" + at + ")");
            return DType::Float32;
        }
        const DType type = byteType(draw);
        drawn.add("ys", powers(draw, {}, -2, 1), true);
        drawn.add("yz", draw.bytes(type, {}), true);
        say("y = QuantizeLinear(" + at + ", ys, yz)");
        return type;
    }

    std::string body(DType type, const Extents& result) const {
        return "(" + drawn.parameters + ") => (" + typed(type, result, "y") + ") {" + statements +
               " }";
    }
};

void expectIntegerSums(const StoredChain& chain, const std::string& body) {
    const KernelProgram program = programOf(bodyFrom(body, chain.drawn.constants));
    const auto* code = std::get_if<Contraction>(&program.code);
    ASSERT_TRUE(code) << body;
    EXPECT_EQ(code->accumulate, DType::Int32) << body;
    EXPECT_EQ(program.numeric, NumericClass::Reassociated);
    expectExact(chain.drawn, body);
}

} // namespace

TEST(CpuDequantised, ConvolutionsOfAnyGeometry) {
    for (uint32_t seed = 0; seed < 80; ++seed) {
        Draw draw(seed);
        const bool depthwise = draw.from(0, 3) == 0;
        const int64_t channels = draw.from(2, 40), k = depthwise ? channels : draw.from(1, 40);
        const int64_t height = draw.from(3, 15), width = draw.from(3, 15), kernel = draw.from(1, 3);
        const int64_t stride = draw.from(1, 2), pad = draw.from(0, kernel - 1);
        StoredChain chain;
        const std::string x = chain.stored(
            draw, "x", draw.bytes(byteType(draw), {1, channels, height, width}), false);
        const Extents filter = {k, depthwise ? 1 : channels, kernel, kernel};
        const std::string w = chain.stored(draw, "w", draw.bytes(byteType(draw), filter), true,
                                           draw.coin() ? Extents{k} : Extents{}, "<axis=0>");
        std::string operands = x + ", " + w;
        if (draw.coin()) {
            Tensor bias(DType::Int32, {k});
            for (int32_t& value : bias.as<int32_t>())
                value = static_cast<int32_t>(draw.from(-999, 999));
            chain.drawn.add("b", bias, true);
            chain.drawn.add("bs", powers(draw, {k}, -6, -4), true);
            chain.say("bd = DequantizeLinear<axis=0>(b, bs)");
            operands += ", bd";
        }
        const auto text = [](int64_t number) { return std::to_string(number); };
        chain.say("c = Conv<kernel_shape=[" + text(kernel) + "," + text(kernel) + "],strides=[" +
                  text(stride) + "," + text(stride) + "],pads=[" + text(pad) + "," + text(pad) +
                  "," + text(pad) + "," + text(pad) + "],group=" + text(depthwise ? channels : 1) +
                  ">(" + operands + ")");
        const Extents result = {1, k, (height + 2 * pad - kernel) / stride + 1,
                                (width + 2 * pad - kernel) / stride + 1};
        const DType type = chain.finish(draw, "c", result);
        expectIntegerSums(chain, chain.body(type, result));
        if (HasFailure())
            return;
    }
}

TEST(CpuDequantised, ProductsOfAnyShape) {
    for (uint32_t seed = 0; seed < 80; ++seed) {
        Draw draw(500 + seed);
        const int64_t m = draw.from(1, 70), k = draw.from(1, 90), n = draw.from(1, 50);
        const bool gemm = draw.coin(), transposed = draw.coin();
        Extents left = {m, k}, result = {m, n};
        if (!gemm && draw.coin()) {
            left.insert(left.begin(), 2);
            result.insert(result.begin(), 2);
        }
        StoredChain chain;
        const std::string a = chain.stored(draw, "a", draw.bytes(byteType(draw), left), false);
        const bool columns = draw.coin();
        std::string b = chain.stored(
            draw, "b", draw.bytes(byteType(draw), transposed ? Extents{n, k} : Extents{k, n}), true,
            columns ? Extents{n} : Extents{}, transposed ? "<axis=0>" : "<axis=1>");
        if (transposed && !gemm) {
            chain.say("t = Transpose<perm=[1,0]>(" + b + ")");
            b = "t";
        }
        if (gemm)
            chain.say(std::string("c = Gemm<transB=") + (transposed ? "1" : "0") + ">(" + a + ", " +
                      b + ")");
        else
            chain.say("c = MatMul(" + a + ", " + b + ")");
        const DType type = chain.finish(draw, "c", result);
        expectIntegerSums(chain, chain.body(type, result));
        if (HasFailure())
            return;
    }
}

TEST(CpuDequantised, ScalesAlongWhatIsSummedStayFloat) {
    Draw draw(1);
    StoredChain chain;
    const std::string a = chain.stored(draw, "a", draw.bytes(DType::UInt8, {9, 20}), false);
    const std::string b =
        chain.stored(draw, "b", draw.bytes(DType::Int8, {20, 7}), true, {20}, "<axis=0>");
    chain.say("y = MatMul(" + a + ", " + b + ")");
    const std::string body = chain.body(DType::Float32, {9, 7});
    const KernelProgram program = programOf(bodyFrom(body, chain.drawn.constants));
    EXPECT_EQ(std::get<Contraction>(program.code).accumulate, DType::Float32);
    const std::string tactic = expectExact(chain.drawn, body);
    EXPECT_EQ(tactic.find("onednn"), 0U) << tactic;
}

TEST(CpuDequantised, AResidualAndAClampTakeOnePassOverTheSums) {
    Draw draw(3);
    StoredChain chain;
    const std::string x = chain.stored(draw, "x", draw.bytes(DType::UInt8, {1, 64, 14, 14}), false);
    const std::string w =
        chain.stored(draw, "w", draw.bytes(DType::Int8, {64, 64, 3, 3}), true, {64}, "<axis=0>");
    chain.say("c = Conv<kernel_shape=[3,3],pads=[1,1,1,1]>(" + x + ", " + w + ")");
    const std::string r = chain.stored(draw, "r", draw.bytes(DType::Int8, {1, 64, 14, 14}), false);
    chain.drawn.add("ys", powers(draw, {}, -1, -1), true);
    chain.say("a = Add(c, " + r + ") e = Relu(a) y = QuantizeLinear(e, ys)");
    const std::string tactic = expectExact(chain.drawn, chain.body(DType::UInt8, {1, 64, 14, 14}));
    EXPECT_NE(tactic.find("requantisation"), std::string::npos) << tactic;
}

TEST(CpuDequantised, EveryTableRequantisesAsDivisionsDo) {
    // 37 columns: whole vectors and a rest of each width.
    constexpr size_t n = 37;
    Draw draw(11);
    for (int round = 0; round < 200; ++round) {
        std::vector<int32_t> sums, correction;
        std::vector<float> scale, shift(n, 0);
        std::vector<uint8_t> residual;
        for (size_t i = 0; i < n; ++i) {
            sums.push_back(static_cast<int32_t>(draw.from(-400000, 400000)));
            correction.push_back(static_cast<int32_t>(draw.from(-5000, 5000)));
            scale.push_back(static_cast<float>(draw.from(1, 4000)) * 1e-6F);
            residual.push_back(static_cast<uint8_t>(draw.from(0, 255)));
        }
        RequantisedRow row;
        row.sums = sums.data();
        row.correction = correction.data();
        row.scale = scale.data();
        row.shift = shift.data();
        const bool adds = draw.coin(), isSigned = draw.coin();
        row.addend = adds ? residual.data() : nullptr;
        row.addendScale = 0.5F;
        row.addendZero = 7;
        row.low = draw.coin() ? 0.0F : -3e38F;
        row.high = 3e38F;
        row.to = isSigned ? RequantisedRow::To::Int8 : RequantisedRow::To::UInt8;
        row.step = static_cast<float>(draw.from(1, 999)) * 1e-3F;
        row.zero = static_cast<float>(isSigned ? draw.from(-128, 127) : draw.from(0, 255));
        row.n = n;
        for (size_t table = 0; table < vectorTableCount(); ++table) {
            std::vector<uint8_t> out(n + 1, 99);
            row.out = out.data();
            vectorTable(table).integer.requantise(row);
            for (size_t i = 0; i < n; ++i) {
                float value = static_cast<float>(sums[i] + correction[i]) * scale[i];
                if (adds) // half of a whole number
                    value += (static_cast<float>(residual[i]) - 7) * 0.5F;
                value = std::max(value, row.low);
                const float least = isSigned ? -128.0F : 0.0F;
                const float steps = std::nearbyint(value / row.step) + row.zero;
                const auto wanted = static_cast<int>(std::clamp(steps, least, least + 255));
                EXPECT_EQ(isSigned ? static_cast<int>(static_cast<int8_t>(out[i])) : out[i], wanted)
                    << vectorTable(table).name << " " << i << " " << value << " " << row.step;
            }
            EXPECT_EQ(out[n], 99);
        }
        if (HasFailure())
            return;
    }
}
