// SPDX-License-Identifier: Apache-2.0
// The vector loops around products of 8-bit integers against plain ones, with every table of this
// machine, and bodies whose epilogues they compute.
#include "cpu_integer_support.h"

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

std::vector<uint8_t> drawnBytes(Draw& draw, size_t n) {
    std::vector<uint8_t> out(n);
    for (uint8_t& value : out)
        value = static_cast<uint8_t>(draw.from(0, 255));
    return out;
}

size_t upTo(Draw& draw, int64_t most) {
    return static_cast<size_t>(draw.from(1, most));
}

/// Calls visit(table) for those that have 8-bit dot products; whether there is one.
template <typename Visit> bool forDots(Visit&& visit) {
    bool any = false;
    for (size_t i = 0; i < vectorTableCount(); ++i)
        if (vectorTable(i).integer.dots.products) {
            SCOPED_TRACE(vectorTable(i).name);
            visit(vectorTable(i).integer.dots);
            any = true;
        }
    return any;
}

int64_t dotOf(const uint8_t* x, size_t step, const std::vector<uint8_t>& w, size_t column,
              size_t columns, size_t depth) {
    int64_t sum = 0;
    for (size_t k = 0; k < depth; ++k)
        sum += int64_t{x[k * step]} * static_cast<int8_t>(w[k * columns + column]);
    return sum;
}

} // namespace

TEST(CpuIntegerLoops, ProductsByDots) {
    constexpr size_t columns = ByteDots::columns;
    const bool any = forDots([](const ByteDots& dots) {
        for (uint32_t seed = 0; seed < 200; ++seed) {
            Draw draw(seed);
            const size_t rows = upTo(draw, 40), quads = upTo(draw, 12), n = upTo(draw, 100);
            const size_t step = n + upTo(draw, 3) - 1, depth = 4 * quads;
            const auto a = drawnBytes(draw, rows * depth), b = drawnBytes(draw, depth * n);
            std::vector<int8_t> packed((n + columns - 1) / columns * columns * depth, 0);
            for (size_t k = 0; k < depth; ++k)
                for (size_t j = 0; j < n; ++j)
                    packed[j / columns * columns * depth + k / 4 * columns * 4 + j % columns * 4 +
                           k % 4] = static_cast<int8_t>(b[k * n + j]);
            constexpr int32_t untouched = 77;
            std::vector<int32_t> c(rows * step, untouched);
            dots.products(c.data(), step, a.data(), depth, packed.data(), rows, quads, n);
            for (size_t i = 0; i < c.size(); ++i) {
                const size_t row = i / step, column = i % step;
                ASSERT_EQ(c[i], column < n ? dotOf(a.data() + row * depth, 1, b, column, n, depth)
                                           : untouched);
            }
        }
    });
    if (!any)
        GTEST_SKIP() << "this processor has no 8-bit dot products";
}

TEST(CpuIntegerLoops, CopiesOfAnyLength) {
    for (size_t table = 0; table < vectorTableCount(); ++table)
        for (size_t n = 0; n < 200; ++n)
            for (uint8_t flip : {0x00, 0x80}) {
                Draw draw(static_cast<uint32_t>(n));
                const auto from = drawnBytes(draw, n);
                std::vector<uint8_t> to(n + 1, 7), wanted(from);
                for (uint8_t& value : wanted)
                    value ^= flip;
                wanted.push_back(7);
                vectorTable(table).integer.copy(to.data(), from.data(), n, flip);
                ASSERT_EQ(to, wanted) << vectorTable(table).name << ", " << n << " bytes";
            }
}

TEST(CpuIntegerLoops, QuantisesAsADivisionDoes) {
    // Quotients next to ties, tiny ones, and scales that products with an inverse cannot have.
    for (const float scale : {0.1F, 1.0F / 3, 7.3e-5F, 1e-30F, 3e30F, 1e-44F})
        for (size_t table = 0; table < vectorTableCount(); ++table) {
            std::vector<float> x;
            for (int i = -1; i < 512; ++i) {
                const float tie = (static_cast<float>(i) / 2) * scale;
                x.insert(x.end(), {tie, std::nextafter(tie, 1e38F), std::nextafter(tie, -1e38F)});
            }
            x.insert(x.end(), {0.0F, -0.0F, 1e-45F, NAN});
            std::vector<uint8_t> q(x.size());
            const float zero = 3;
            vectorTable(table).integer.quantise(x.data(), q.data(), x.size(), scale, zero);
            for (size_t i = 0; i < x.size(); ++i) {
                const float steps = std::nearbyint(x[i] / scale) + zero;
                const float wanted = std::isnan(steps) ? 0 : std::clamp(steps, 0.0F, 255.0F);
                ASSERT_EQ(q[i], wanted)
                    << vectorTable(table).name << ": " << x[i] << " / " << scale;
            }
        }
}

namespace {

/// One row of a requantisation in float32, step by step.
double requantised(const RequantisedRow& row, size_t i, size_t column) {
    using Bend = RequantisedRow::Bend;
    const auto sum = static_cast<float>(row.sums[i] + row.correction[column]);
    float value = std::fma(sum, row.scale[column], row.shift[column]);
    value = std::clamp(value, row.low, row.high);
    const float unit = std::clamp(std::fma(row.slope, value, row.offset), 0.0F, 1.0F);
    value = row.bend == Bend::TimesUnit ? value * unit : row.bend == Bend::Unit ? unit : value;
    if (row.to == RequantisedRow::To::Float32)
        return value;
    const float least = row.to == RequantisedRow::To::Int8 ? -128 : 0;
    return std::clamp(std::nearbyint(value / row.step) + row.zero, least, least + 255);
}

} // namespace

TEST(CpuIntegerLoops, RowsAreRequantisedTogether) {
    using To = RequantisedRow::To;
    using Bend = RequantisedRow::Bend;
    for (uint32_t seed = 0; seed < 300; ++seed) {
        Draw draw(seed);
        RequantisedRow row;
        const size_t period = 16 * upTo(draw, 4), n = upTo(draw, 300);
        std::vector<int32_t> sums(n), correction(period);
        std::vector<float> scale(period), shift(period);
        for (int32_t& value : sums)
            value = static_cast<int32_t>(draw.from(-30000, 30000));
        for (size_t i = 0; i < period; ++i) {
            correction[i] = static_cast<int32_t>(draw.from(-500, 500));
            scale[i] = std::ldexp(1.0F, static_cast<int>(draw.from(-14, -10)));
            shift[i] = static_cast<float>(draw.from(-8, 8)) / 4;
        }
        row.sums = sums.data();
        row.correction = correction.data();
        row.scale = scale.data();
        row.shift = shift.data();
        row.period = period;
        row.low = draw.coin() ? -3e38F : static_cast<float>(draw.from(-9, 9)) / 8;
        row.high = draw.coin() ? 3e38F : row.low + static_cast<float>(draw.from(0, 40)) / 8;
        row.bend = std::array{Bend::None, Bend::TimesUnit, Bend::Unit}[draw.from(0, 2)];
        row.slope = 0.25F; // exact, so that the order of operations shows nowhere
        row.offset = 0.5F;
        row.to = std::array{To::Float32, To::UInt8, To::Int8}[draw.from(0, 2)];
        row.step = std::ldexp(1.0F, static_cast<int>(draw.from(-6, 0)));
        row.zero = static_cast<float>(draw.from(0, 20));
        row.n = n;
        for (size_t table = 0; table < vectorTableCount(); ++table) {
            std::vector<float> floats(n);
            std::vector<uint8_t> bytes(n);
            row.out = row.to == To::Float32 ? static_cast<void*>(floats.data()) : bytes.data();
            vectorTable(table).integer.requantise(row);
            for (size_t i = 0; i < n; ++i) {
                const double made = row.to == To::Float32 ? floats[i]
                                    : row.to == To::UInt8
                                        ? bytes[i]
                                        : static_cast<double>(static_cast<int8_t>(bytes[i]));
                ASSERT_NEAR(made, requantised(row, i, i % period), 1e-6)
                    << vectorTable(table).name << ", seed " << seed << ", element " << i;
            }
        }
    }
}

TEST(CpuIntegerLoops, DynamicallyQuantisedProducts) {
    for (uint32_t seed = 0; seed < 60; ++seed) {
        Draw draw(3000 + seed);
        const int64_t m = draw.from(1, 70), k = draw.from(1, 90), n = draw.from(1, 70);
        const DType a = byteType(draw), b = byteType(draw);
        const bool columns = draw.coin();
        Case drawn;
        drawn.add("a", draw.bytes(a, {m, k}), false);
        drawn.add("b", draw.bytes(b, {k, n}), true);
        drawn.add("az", draw.bytes(a, {}), draw.coin());
        const std::string product = drawn.arguments;
        drawn.add("s", draw.scales({}), false);
        drawn.add("ws", draw.scales(columns ? Extents{n} : Extents{}), true);
        std::string more = "f = Cast<to=1>(c) t = Mul(s, ws) g = Mul(f, t)", at = "g";
        if (draw.coin()) {
            drawn.add("bias", draw.scales({n}), draw.coin());
            more += " h = Add(g, bias)";
            at = "h";
        }
        const int64_t behind = draw.from(0, 3);
        if (behind == 3)
            drawn.add("r", draw.scales({m, n}), false);
        more += behind == 0   ? " y = Identity(" + at + ")"
                : behind == 1 ? " y = Relu(" + at + ")"
                : behind == 2 ? " y = Tanh(" + at + ")"
                              : " y = Add(r, " + at + ")";
        drawn.arguments = product;
        const std::string tactic =
            expectExact(drawn, drawn.body("MatMulInteger", "", DType::Float32, {m, n}, more), 2e-6);
        EXPECT_NE(tactic.find("+ scales"), std::string::npos) << tactic;
        if (HasFailure())
            return;
    }
}

TEST(CpuIntegerLoops, ActivationsOfMobileNetworksTakeOnePass) {
    for (const char* activation : {"HardSwish", "HardSigmoid<alpha=0.125>"}) {
        Draw draw(5);
        Case drawn;
        drawn.add("x", draw.bytes(DType::UInt8, {1, 24, 9, 9}), false);
        drawn.add("w", draw.bytes(DType::Int8, {40, 24, 1, 1}), true);
        const std::string product = drawn.arguments;
        drawn.add("s", Tensor::ofFloats({}, {0.0009765625F}), true);
        drawn.arguments = product;
        const std::string tactic = expectExact(
            drawn,
            drawn.body("ConvInteger", "", DType::Float32, {1, 40, 9, 9},
                       "f = Cast<to=1>(c) g = Mul(f, s) y = " + std::string(activation) + "(g)"),
            4e-6);
        EXPECT_NE(tactic.find("+ requantisation"), std::string::npos) << tactic;
    }
}
