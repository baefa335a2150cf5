// SPDX-License-Identifier: Apache-2.0
// The tile interpreter's vector functions against the plain tape interpreter: every operation and
// lane type, special values included, for every instruction set that this machine has.
#include "core/cpu/tile_code.h"
#include "core/cpu/tile_space.h"
#include "core/kernel/loops.h"
#include "core/ops/tape_interpreter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <set>

using namespace fuselage;
using namespace fuselage::cpu;

namespace {

constexpr size_t lanes = 256;

struct Values {
    std::vector<double> floats = std::vector<double>(lanes);
    std::vector<int64_t> ints = std::vector<int64_t>(lanes);
};

Values randomValues(DType type, uint32_t seed, double range) {
    std::mt19937 random(seed);
    Values out;
    const double special[] = {0.0,  -0.0,  1.0, -1.0, INFINITY, -INFINITY, NAN, 1e-40,
                              3e38, -3e38, 0.5, 88.8, -88.0,    -103.0,    2.0, 3.0};
    for (size_t i = 0; i < lanes; ++i) {
        double x = std::uniform_real_distribution<double>(-range, range)(random);
        if (i % 8 == 3)
            x = special[random() % std::size(special)];
        out.floats[i] = roundTo(type, x);
        const bool isLarge = type == DType::UInt64 && i % 8 == 3; // beyond what int64 has
        out.ints[i] = wrapTo(type, static_cast<int64_t>(random() % 23) -
                                       (type == DType::UInt64 && !isLarge ? 0 : 11));
    }
    return out;
}

/// Distance in units of the last place of T.
template <typename T> double ulps(double actual, double expected) {
    if (std::isnan(expected))
        return std::isnan(actual) ? 0 : INFINITY;
    auto rounded = static_cast<T>(expected);
    if (static_cast<T>(actual) == rounded)
        return 0;
    if (std::isinf(rounded) || std::isinf(actual))
        return INFINITY;
    using Limits = std::numeric_limits<T>;
    int exponent = 0;
    std::frexp(expected, &exponent);
    return std::abs(actual - expected) /
           std::ldexp(1.0, std::max(exponent, Limits::min_exponent) - Limits::digits);
}

/// Of double lanes: the C library computes all but these, here and in the interpreter.
double allowedDoubleUlps(TapeOp op) {
    return op == TapeOp::Exp || op == TapeOp::Log || op == TapeOp::Log1p || op == TapeOp::Tanh ? 3
                                                                                               : 0;
}

double allowedUlps(TapeOp op) {
    switch (op) {
    case TapeOp::Exp:
    case TapeOp::Log:
    case TapeOp::Log1p:
    case TapeOp::Erf:
    case TapeOp::Tanh:
        return 3;
    case TapeOp::Pow:
    case TapeOp::Sin:
    case TapeOp::Cos:
    case TapeOp::Tan:
    case TapeOp::Asin:
    case TapeOp::Acos:
    case TapeOp::Atan:
    case TapeOp::Sinh:
    case TapeOp::Cosh:
    case TapeOp::Asinh:
    case TapeOp::Acosh:
    case TapeOp::Atanh:
        return 3; // of the C library
    default:
        return 0.5;
    }
}

void writeLanes(void* target, Lane lane, const Values& values) {
    for (size_t i = 0; i < lanes; ++i) {
        if (lane == Lane::F32)
            static_cast<float*>(target)[i] = static_cast<float>(values.floats[i]);
        else if (lane == Lane::F64)
            static_cast<double*>(target)[i] = values.floats[i];
        else if (lane == Lane::I64)
            static_cast<int64_t*>(target)[i] = values.ints[i];
        else
            static_cast<uint8_t*>(target)[i] = static_cast<uint8_t>(values.ints[i]);
    }
}

struct Allowed {
    double floats = 0, doubles = 0;
};

void expectLane(const void* lanesOut, Lane lane, size_t i, double number, int64_t integer,
                Allowed allowed, const std::string& what) {
    switch (lane) {
    case Lane::F32:
        EXPECT_LE(ulps<float>(static_cast<const float*>(lanesOut)[i], number), allowed.floats)
            << what << " lane " << i << ": " << static_cast<const float*>(lanesOut)[i] << " for "
            << number;
        return;
    case Lane::F64: {
        double actual = static_cast<const double*>(lanesOut)[i];
        EXPECT_LE(ulps<double>(actual, number), allowed.doubles)
            << what << " lane " << i << ": " << actual << " for " << number;
        return;
    }
    case Lane::I64:
        EXPECT_EQ(static_cast<const int64_t*>(lanesOut)[i], integer) << what << " lane " << i;
        return;
    case Lane::Bool:
        EXPECT_EQ(static_cast<const uint8_t*>(lanesOut)[i] != 0, integer != 0)
            << what << " lane " << i;
    }
}

/// Runs a tape both ways on random inputs, input k uniform where the mask says so.
void compare(const Tape& tape, const std::vector<bool>& uniform, const VectorTable& table,
             double range, Allowed allowed, const std::string& what) {
    TileCode code(tape, uniform, table, false);
    std::vector<std::byte> memory(code.frameBytes(lanes) + 64);
    auto* aligned =
        reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
    TileCode::Frame frame = code.bind(aligned, lanes);
    TapeBlock block(tape);
    std::vector<Values> inputs;
    for (size_t k = 0; k < tape.inputs.size(); ++k) {
        Values values = randomValues(tape.inputs[k], static_cast<uint32_t>(k + 1), range);
        if (uniform[k])
            for (size_t i = 1; i < lanes; ++i) {
                values.floats[i] = values.floats[0];
                values.ints[i] = values.ints[0];
            }
        Lane lane = laneOf(tape.inputs[k]);
        if (uniform[k]) { // a uniform slot has room for one group only
            std::vector<std::byte> whole(lanes * 8);
            writeLanes(whole.data(), lane, values);
            std::memcpy(frame.slots[k], whole.data(), laneGroup * laneBytes(lane));
        } else {
            writeLanes(frame.slots[k], lane, values);
        }
        inputs.push_back(std::move(values));
    }
    for (size_t reg = 0; reg < tape.code.size(); ++reg)
        if (tape.code[reg].op == TapeOp::Input)
            for (size_t i = 0; i < lanes; ++i) {
                const Values& values = inputs[tape.code[reg].index];
                block.floats(static_cast<uint16_t>(reg))[i] = values.floats[i];
                block.ints(static_cast<uint16_t>(reg))[i] = values.ints[i];
            }
    code.run(frame, lanes);
    block.run(lanes);
    for (size_t k = 0; k < tape.outputs.size(); ++k)
        for (size_t i = 0; i < lanes && !testing::Test::HasFailure(); ++i)
            expectLane(code.output(frame, k), code.outputLane(k), i,
                       block.floats(tape.outputs[k])[i], block.ints(tape.outputs[k])[i], allowed,
                       what);
}

Tape tapeOf(TapeOp op, DType operandType, DType resultType) {
    TapeBuilder builder;
    int operands = operandCount(op);
    Scalar a = builder.input(op == TapeOp::Select ? DType::Bool : operandType);
    if (operands == 1)
        return builder.finish({builder.apply(op, resultType, {a})});
    Scalar b = builder.input(operandType);
    if (operands == 2)
        return builder.finish({builder.apply(op, resultType, {a, b})});
    Scalar c = builder.input(operandType);
    return builder.finish({builder.apply(op, resultType, {a, b, c})});
}

} // namespace

namespace {

float floatOf(uint32_t bits) {
    float out = 0;
    std::memcpy(&out, &bits, sizeof out);
    return out;
}

uint32_t bitsOf(float x) {
    uint32_t out = 0;
    std::memcpy(&out, &x, sizeof out);
    return out;
}

/// Any of the floats, most of them of usual size and some next to where a quotient by `divisor`
/// rounds the other way.
float dividend(std::mt19937& random, float divisor) {
    const auto bits = static_cast<uint32_t>(random());
    const float usual = floatOf((bits & 0x807fffffU) | ((110U + bits % 31U) << 23U));
    switch (random() % 16) {
    case 0:
        return floatOf(bits);
    case 1:
        return floatOf(bits & 0x80000000U);
    case 2:
        return std::ldexp(usual, static_cast<int>(bits % 260) - 130);
    case 3:
    case 4: {
        const double between = (static_cast<double>(usual) + std::nextafter(usual, INFINITY)) * 0.5;
        return static_cast<float>(between * divisor);
    }
    default:
        return usual;
    }
}

} // namespace

TEST(TileCode, DivisionByOneNumberRoundsAsADivision) {
    const float special[] = {0.0F,
                             -0.0F,
                             INFINITY,
                             NAN,
                             1e-40F,
                             3e38F,
                             0x1p-40F,
                             0x1p-41F,
                             0x1p40F,
                             0x1p41F,
                             0x1p-100F,
                             0x1p100F,
                             1.0F,
                             3.0F,
                             0.1F,
                             -0.1F,
                             floatOf(0x3fffffff),
                             floatOf(0x3f800001)};
    std::mt19937 random(7);
    for (size_t level = 0; level < vectorTableCount(); ++level) {
        const VectorTable& table = vectorTable(level);
        const auto divide =
            table.op[static_cast<size_t>(TapeOp::Div)][static_cast<size_t>(Lane::F32)][1];
        for (size_t round = 0; round < 600; ++round) {
            const float divisor =
                round < std::size(special)
                    ? special[round]
                    : floatOf(static_cast<uint32_t>(random()) % 0x01000000U + 0x3e800000U);
            // All usual, or one vector that is not, or a few.
            std::vector<float> x(70 * laneGroup), y = x;
            for (float& value : x)
                do
                    value = dividend(random, divisor);
                while (round % 3 == 0 && !(std::fabs(value) < 1e9F && std::fabs(value) > 1e-9F));
            y = x;
            divide(y.data(), y.data(), &divisor, nullptr, y.size()); // in place, as tapes do
            for (size_t i = 0; i < x.size(); ++i) {
                const volatile float numerator = x[i], denominator = divisor;
                const float wanted = numerator / denominator;
                ASSERT_TRUE(std::isnan(wanted) ? std::isnan(y[i]) : bitsOf(y[i]) == bitsOf(wanted))
                    << table.name << ": " << x[i] << " / " << divisor << " is " << wanted
                    << ", not " << y[i];
            }
        }
    }
}

TEST(TileCode, EveryOperationAgreesWithThePlainInterpreter) {
    const DType types[] = {DType::Float32, DType::Float64, DType::Int64, DType::Int32,
                           DType::UInt8,   DType::UInt64,  DType::Bool};
    std::set<std::string> tested{"cast"}; // has a test of its own
    for (size_t t = 0; t < vectorTableCount(); ++t)
        for (size_t o = static_cast<size_t>(TapeOp::Add); o < tapeOpCount; ++o)
            for (DType type : types) {
                auto op = static_cast<TapeOp>(o);
                DType result = op >= TapeOp::Equal && op <= TapeOp::IsInf ? DType::Bool : type;
                if (op == TapeOp::Cast)
                    continue;
                Tape tape = tapeOf(op, type, result);
                if (TileCode::unsupported(tape))
                    continue;
                size_t inputs = tape.inputs.size();
                std::string what =
                    std::string(vectorTable(t).name) + " " + nameOf(op) + " " + nameOf(type);
                for (size_t mask = 0; mask < (size_t{1} << inputs); ++mask) {
                    std::vector<bool> uniform;
                    for (size_t k = 0; k < inputs; ++k)
                        uniform.push_back((mask >> k & 1) != 0);
                    bool wrapsRange = type == DType::UInt8 && op == TapeOp::Pow;
                    if (!wrapsRange)
                        compare(tape, uniform, vectorTable(t), mask == 0 ? 90 : 3,
                                {allowedUlps(op), allowedDoubleUlps(op)}, what);
                    if (HasFailure())
                        return;
                    tested.insert(nameOf(op));
                }
            }
    for (size_t o = static_cast<size_t>(TapeOp::Add); o < tapeOpCount; ++o)
        EXPECT_TRUE(tested.count(nameOf(static_cast<TapeOp>(o))))
            << nameOf(static_cast<TapeOp>(o)) << " has no vector function of any type";
}

TEST(TileCode, EveryCastAgreesWithThePlainInterpreter) {
    const DType types[] = {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64,
                           DType::Int8,    DType::Int16,   DType::Int32,    DType::Int64,
                           DType::UInt8,   DType::UInt16,  DType::UInt32,   DType::UInt64,
                           DType::Bool};
    for (size_t t = 0; t < vectorTableCount(); ++t)
        for (DType from : types)
            for (DType to : types) {
                Tape tape = tapeOf(TapeOp::Cast, from, to);
                // Non-finite floats to integers are undefined in ONNX: keep the values in range.
                TapeBuilder builder;
                Scalar x = builder.input(from);
                if (isFloat(from))
                    x = select(builder.apply(TapeOp::Less, DType::Bool,
                                             {unary(TapeOp::Abs, x), builder.constant(from, 100)}),
                               x, builder.constant(from, 1));
                Tape safe = builder.finish({cast(x, to)});
                compare(isInteger(to) ? safe : tape, {false}, vectorTable(t), 50, {0.5},
                        std::string(nameOf(from)) + " to " + nameOf(to));
                if (HasFailure())
                    return;
            }
}

TEST(TileCode, LongChainsReuseSlots) {
    TapeBuilder builder;
    Scalar x = builder.input(DType::Float32);
    Scalar y = x;
    for (int i = 0; i < 40; ++i)
        y = unary(TapeOp::Tanh, y * 1.5 + x);
    TileCode code(builder.finish({y}), {false}, vectorTable(), false);
    EXPECT_LE(code.bytesPerLane(), 4U * 4U);
}

TEST(TileCode, AnOutputThatIsReadAgainIsNotOverwritten) {
    TapeBuilder builder;
    Scalar x = builder.input(DType::Float32);
    Scalar a = unary(TapeOp::Exp, x * 0.01);
    Scalar b = a * 2.0 + x;
    compare(builder.finish({a, b, x}), {false}, vectorTable(), 10, {1000}, "two outputs");
}

TEST(TileCode, InPlaceNeedsEveryInputReadBefore) {
    TapeBuilder builder;
    Scalar x = builder.input(DType::Float32);
    Scalar a = unary(TapeOp::Exp, x);
    Scalar b = a + x;
    TileCode code(builder.finish({a, b}), {false}, vectorTable(), false);
    EXPECT_FALSE(code.redirectableInPlace(0));
    EXPECT_TRUE(code.redirectableInPlace(1));
}

namespace {

/// Of float32 results that are row-major, and of an operand with these strides.
TileSpace pointwiseTiles(const Extents& extents, const Extents& operand) {
    TileSpace out = tileSpace(extents, {{0, rowMajorStrides(extents)}, {0, operand}}, 0, 1024);
    addPlanes(out, 1024);
    return out;
}

} // namespace

TEST(TileSpace, TilesThatAreTurnedReadWholeLines) {
    const TileSpace rows = pointwiseTiles({128, 24}, {1, 128});
    EXPECT_EQ(rows.tileCols, 24);
    EXPECT_EQ(rows.tileRows % 16, 0);
    // Pairs that lie beside each other go on in the outermost loop, not in the one around them.
    const Extents extents = {32, 2, 6, 50};
    const TileSpace pairs = tileSpace(
        extents, {{0, rowMajorStrides(extents)}, {0, {2, 1, 64, 384}}, {0, {1, 0, 0, 0}}}, 0, 1024);
    TileSpace more = pairs;
    addPlanes(more, 1024);
    EXPECT_EQ(pairs.tileRows, 2);
    EXPECT_EQ(more.planes.extent, 32);
    EXPECT_EQ(more.tilePlanes * more.tileRows % 16, 0);
    EXPECT_EQ(more.tileCols, 50);
}

/// A few elements a plane are no reason to walk another loop: planes fill the tile, as they lie.
TEST(TileSpace, PlanesFillTilesOfShortRows) {
    const Extents extents = {31, 32, 24, 2};
    TileSpace tiles = tileSpace(
        extents, {{0, rowMajorStrides(extents)}, {0, {0, 24, 1, 0}}, {0, {0, 0, 2, 1}}}, 0, 1024);
    EXPECT_EQ(tiles.rows.extent, 24);
    addPlanes(tiles, 1024);
    EXPECT_EQ(tiles.planes.extent, 32);
    EXPECT_EQ(tiles.steps(0).planes, 48);
}

TEST(TileSpace, MostOperandsLead) {
    const Extents extents = {96, 500};
    const StridedAccess along{0, {500, 1}}, across{0, {1, 96}}, row{0, {0, 1}};
    EXPECT_EQ(leaderOf(mergedLoops(extents, {across, along, row})), 0U);
    EXPECT_EQ(leaderOf(mergedLoops(extents, {across, along, along})), 1U);
    EXPECT_EQ(leaderOf(mergedLoops(extents, {across, across, along, along})), 0U);
    EXPECT_EQ(leaderOf(mergedLoops(extents, {along})), 0U);
    EXPECT_EQ(leaderOf(mergedLoops({}, {{0, {}}})), 0U);
    // Whole lines of what lies along the rows, in long pieces of the others.
    const TileSpace tiles = tileSpace(extents, {across, along, along}, 1, 1024);
    EXPECT_EQ(tiles.tileCols, 64);
    EXPECT_EQ(tiles.tileRows, 16);
}

/// Memory that ends within a group of lanes is read and written where it lies.
TEST(TileCode, ElementsBehindTheEndAreLeftAlone) {
    TapeBuilder builder;
    Scalar x = builder.input(DType::Float32);
    const Tape tape = builder.finish({unary(TapeOp::Tanh, x / 3.0)});
    for (size_t t = 0; t < vectorTableCount(); ++t) {
        const TileCode code(tape, {false}, vectorTable(t), false);
        for (size_t n : {1, 7, 17, 40, 63}) {
            std::vector<float> from(n, 2), to(n + 16, -1);
            std::vector<std::byte> memory(code.frameBytes(64) + 64);
            void* start = memory.data();
            size_t room = memory.size();
            std::align(64, code.frameBytes(64), start, room);
            TileCode::Frame frame = code.bind(static_cast<std::byte*>(start), 64);
            frame.slots[0] = from.data();
            code.redirect(frame, 0, to.data());
            frame.endsInside = true;
            code.run(frame, n);
            for (size_t i = 0; i < to.size(); ++i)
                ASSERT_NEAR(to[i], i < n ? std::tanh(2.0 / 3) : -1, 1e-6) << n << ", " << i;
        }
    }
}
