// SPDX-License-Identifier: Apache-2.0
// Types of fewer than 16 bits, every code of each: against tables written from ONNX's documents
// ("Float stored in 8 bits", "Float stored in 4 bits", "2 bit integer types"), not from dtype.cpp.
#include "core/graph/tensor.h"
#include "core/onnx/model_file.h"
#include "core/plan/backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

using namespace fuselage;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float none = std::numeric_limits<float>::quiet_NaN();

/// A row of the documents' tables.
struct FloatRow {
    DType type;
    int bits, exponentBits, bias;
    bool hasInfinity, hasSignedZero;
    float largest, least;
};

const std::vector<FloatRow> floatRows{
    {DType::Float8E4M3FN, 8, 4, 7, false, true, 448, 0x1p-9F},
    {DType::Float8E4M3FNUZ, 8, 4, 8, false, false, 240, 0x1p-10F},
    {DType::Float8E5M2, 8, 5, 15, true, true, 57344, 0x1p-16F},
    {DType::Float8E5M2FNUZ, 8, 5, 16, false, false, 57344, 0x1p-17F},
    {DType::Float4E2M1, 4, 2, 1, false, true, 6, 0.5F},
};

/// The documents' formula and their lists of codes that are no numbers.
float numberOf(const FloatRow& row, int code) {
    const int mantissaBits = row.bits - 1 - row.exponentBits;
    const int mantissa = code % (1 << mantissaBits);
    const int exponent = code >> mantissaBits & ((1 << row.exponentBits) - 1);
    const bool negative = (code >> (row.bits - 1)) != 0;
    if (!row.hasSignedZero && negative && exponent == 0 && mantissa == 0)
        return none;
    const bool ones = exponent == (1 << row.exponentBits) - 1;
    if (row.hasInfinity && ones)
        return mantissa == 0 ? (negative ? -inf : inf) : none;
    if (row.type == DType::Float8E4M3FN && ones && mantissa == 7)
        return none;
    const double fraction = mantissa / std::pow(2.0, mantissaBits);
    const double magnitude = exponent == 0 ? std::pow(2.0, 1 - row.bias) * fraction
                                           : std::pow(2.0, exponent - row.bias) * (1 + fraction);
    return static_cast<float>(negative ? -magnitude : magnitude);
}

/// By looking at all codes: the nearest number, of two as near the one whose code is even.
float nearest(const FloatRow& row, float value) {
    float best = none;
    for (int code = 0; code < 1 << row.bits; ++code) {
        const float number = numberOf(row, code);
        if (!std::isfinite(number) || std::signbit(number) != std::signbit(value))
            continue;
        const double distance = std::fabs(static_cast<double>(number) - value);
        const double least = std::fabs(static_cast<double>(best) - value);
        if (std::isnan(best) || distance < least || (distance == least && code % 2 == 0))
            best = number;
    }
    return best;
}

void expectSame(float a, float b, const std::string& what) {
    if (std::isnan(b))
        EXPECT_TRUE(std::isnan(a)) << what << ": " << a;
    else
        EXPECT_TRUE(a == b && std::signbit(a) == std::signbit(b))
            << what << ": " << a << ", not " << b;
}

std::vector<float> results(const std::string& text, const std::vector<float>& x) {
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    ReferenceValue value =
        ReferenceValue::from(Tensor::ofFloats({static_cast<int64_t>(x.size())}, x));
    ThreadPool threads(1);
    Progress progress;
    auto out = interpret(*graph, {value}, threads, progress);
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    std::vector<float> numbers;
    for (int64_t i = 0; out && i < (*out)[0].count(); ++i)
        numbers.push_back(static_cast<float>((*out)[0].at(i)));
    return numbers;
}

std::string casting(DType type, bool saturates) {
    const std::string n = std::to_string(onnxNumber(type));
    return "g (float[N] x) => (float[N] y) { q = Cast<to = " + n +
           ", saturate = " + std::to_string(saturates ? 1 : 0) + ">(x)  y = Cast<to = 1>(q) }";
}

std::string storing(DType type, const std::string& scale) {
    return "g (float[N] x) => (float[N] y) <float s = {" + scale +
           "}> { q = QuantizeLinear<output_dtype = " + std::to_string(onnxNumber(type)) +
           ">(x, s)  y = DequantizeLinear(q, s) }";
}

/// Every number of the type, what lies between two, and their neighbours in float32.
std::vector<float> between(const FloatRow& row) {
    std::vector<float> out;
    for (int code = 0; code + 1 < 1 << row.bits; ++code) {
        const float low = numberOf(row, code), high = numberOf(row, code + 1);
        if (!std::isfinite(low) || !std::isfinite(high) || std::signbit(low) != std::signbit(high))
            continue;
        const float middle = (low + high) / 2;
        for (float x :
             {low, high, middle, std::nextafter(middle, -inf), std::nextafter(middle, inf)})
            out.push_back(x);
    }
    return out;
}

} // namespace

TEST(SmallFloats, EveryCodeIsTheDocumentsNumber) {
    for (const FloatRow& row : floatRows) {
        float largest = 0, least = inf;
        for (int code = 0; code < 1 << row.bits; ++code) {
            const float number = float8ToFloat(row.type, static_cast<uint8_t>(code));
            expectSame(number, numberOf(row, code),
                       std::string(nameOf(row.type)) + " code " + std::to_string(code));
            if (std::isfinite(number) && number > 0) {
                largest = std::max(largest, number);
                least = std::min(least, number);
            }
            if (std::isnan(number))
                continue;
            EXPECT_EQ(floatToFloat8(row.type, number, false), code) << nameOf(row.type);
        }
        EXPECT_EQ(largest, row.largest) << nameOf(row.type);
        EXPECT_EQ(least, row.least) << nameOf(row.type);
    }
    const float e2m1[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    for (int code = 0; code < 8; ++code)
        EXPECT_EQ(float8ToFloat(DType::Float4E2M1, static_cast<uint8_t>(code)), e2m1[code]);
}

TEST(SmallFloats, CastTakesTheNearestAndOfTwoTheEven) {
    for (const FloatRow& row : floatRows) {
        const std::vector<float> x = between(row);
        ASSERT_GT(x.size(), 50U / (row.bits == 4 ? 2 : 1));
        const std::vector<float> y = results(casting(row.type, true), x);
        for (size_t i = 0; i < x.size(); ++i) {
            float wanted = nearest(row, x[i]);
            if (wanted == 0 && !row.hasSignedZero)
                wanted = 0; // minus zero is NaN's code
            expectSame(y[i], wanted, std::string(nameOf(row.type)) + " of " + std::to_string(x[i]));
        }
    }
}

TEST(SmallFloats, WhatIsBeyondIsAsTheTablesSay) {
    struct Row {
        float x;
        bool saturates;
        std::vector<float> wanted; ///< in the order of floatRows
    };
    const Row table[] = {
        {0.0F, true, {0.0F, 0.0F, 0.0F, 0.0F, 0.0F}},
        {-0.0F, true, {-0.0F, 0.0F, -0.0F, 0.0F, -0.0F}},
        {none, true, {none, none, none, none, 6}},
        {inf, true, {448, none, 57344, none, 6}},
        {-inf, true, {-448, none, -57344, none, -6}},
        {1e9F, true, {448, 240, 57344, 57344, 6}},
        {-1e9F, true, {-448, -240, -57344, -57344, -6}},
        {0.0F, false, {0.0F, 0.0F, 0.0F, 0.0F, 0.0F}},
        {-0.0F, false, {-0.0F, 0.0F, -0.0F, 0.0F, -0.0F}},
        {none, false, {none, none, none, none, 6}},
        {inf, false, {none, none, inf, none, 6}},
        {-inf, false, {none, none, -inf, none, -6}},
        {1e9F, false, {none, none, inf, none, 6}},
        {-1e9F, false, {none, none, -inf, none, -6}},
    };
    for (size_t type = 0; type < floatRows.size(); ++type)
        for (const Row& row : table)
            expectSame(results(casting(floatRows[type].type, row.saturates), {row.x})[0],
                       row.wanted[type],
                       std::string(nameOf(floatRows[type].type)) + " of " + std::to_string(row.x) +
                           (row.saturates ? "" : " without saturation"));
}

TEST(SmallFloats, WhatRoundsBackToTheLargestIsNotBeyond) {
    // Half a step above the largest number still rounds to it, more does not.
    EXPECT_EQ(
        float8ToFloat(DType::Float8E4M3FNUZ, floatToFloat8(DType::Float8E4M3FNUZ, 247, false)),
        240);
    EXPECT_TRUE(std::isnan(
        float8ToFloat(DType::Float8E4M3FNUZ, floatToFloat8(DType::Float8E4M3FNUZ, 249, false))));
}

TEST(SmallFloats, AllCodesPassAPairUnchanged) {
    for (const FloatRow& row : floatRows) {
        std::vector<float> x;
        for (int code = 0; code < 1 << row.bits; ++code)
            if (const float number = numberOf(row, code); std::isfinite(number))
                x.push_back(number * 0.5F);
        const std::string type = nameOf(row.type);
        const std::vector<float> y = results(storing(row.type, "0.5"), x);
        ASSERT_EQ(y.size(), x.size());
        for (size_t i = 0; i < x.size(); ++i)
            EXPECT_EQ(y[i], x[i]) << type;
    }
}

TEST(SmallIntegers, QuantizeSaturatesAndCastCuts) {
    struct Row {
        DType type;
        int low, high;
    };
    for (const Row& row : {Row{DType::Int2, -2, 1}, Row{DType::UInt2, 0, 3},
                           Row{DType::Int4, -8, 7}, Row{DType::UInt4, 0, 15}}) {
        std::vector<float> x;
        for (int i = -80; i <= 80; ++i)
            x.push_back(static_cast<float>(i) / 4);
        const std::string type = nameOf(row.type);
        const auto stored = results(storing(row.type, "1"), x);
        const auto cast = results(casting(row.type, true), x);
        const int count = row.high - row.low + 1;
        for (size_t i = 0; i < x.size(); ++i) {
            const int rounded = static_cast<int>(std::nearbyint(x[i]));
            EXPECT_EQ(stored[i], static_cast<float>(std::clamp(rounded, row.low, row.high)))
                << type << " of " << x[i];
            const int cut = ((rounded - row.low) % count + count) % count + row.low;
            EXPECT_EQ(cast[i], static_cast<float>(cut)) << type << " of " << x[i];
        }
    }
}

TEST(SmallTypes, ScalesArePowersOfTwoRoundedUp) {
    constexpr DType scale = DType::Float8E8M0;
    for (int code = 0; code < 255; ++code) {
        const float value = float8ToFloat(scale, static_cast<uint8_t>(code));
        EXPECT_EQ(value, std::ldexp(1.0F, code - 127));
        EXPECT_EQ(floatToFloat8(scale, value), code);
        if (code < 254) {
            EXPECT_EQ(floatToFloat8(scale, value * 1.5F), code + 1) << value;
        }
    }
    EXPECT_TRUE(std::isnan(float8ToFloat(scale, 255)));
    EXPECT_EQ(floatToFloat8(scale, 0), 0);
    EXPECT_EQ(floatToFloat8(scale, 3e38F), 254);
    EXPECT_EQ(floatToFloat8(scale, 3e38F, false), 255);
    EXPECT_EQ(floatToFloat8(scale, INFINITY), 255);
    EXPECT_EQ(floatToFloat8(scale, NAN), 255);
}

TEST(SmallTypes, FilesPackThemFromTheLowBitsOn) {
    const std::string path =
        (std::filesystem::path(testing::TempDir()) / "small_types.onnx").string();
    struct Row {
        DType type;
        std::vector<double> numbers;
        std::vector<unsigned char> bytes;
    };
    for (const Row& row :
         {Row{DType::Int2, {-2, -1, 0, 1, 1}, {0b01001110, 0b01}},
          Row{DType::UInt2, {0, 1, 2, 3, 2}, {0b11100100, 0b10}},
          Row{DType::Float4E2M1, {0.5, -6, 1.5, 0, -0.5}, {0xf1, 0x03, 0x09}},
          Row{DType::Float8E4M3FNUZ, {240, -0.5, 0, 1, 2}, {0x7f, 0xb8, 0, 0x40, 0x48}},
          Row{DType::Float8E5M2FNUZ, {57344, -0.5, 0, 1, 2}, {0x7f, 0xbc, 0, 0x40, 0x44}}}) {
        auto weights = std::make_shared<Tensor>(row.type, Extents{5});
        for (int64_t i = 0; i < 5; ++i)
            weights->set(i, row.numbers[static_cast<size_t>(i)]);
        Graph graph("g");
        const ValueId w = graph.addConstant("w", weights);
        const ValueId s = graph.addConstant("s", std::make_shared<Tensor>(Tensor::scalar(2)));
        const NodeId load = graph.addNode({Op::DequantizeLinear, "load", {w, s}, {"y"}, {}, {}});
        graph.addOutput(graph.node(load).outputs[0]);
        Progress progress;
        ASSERT_TRUE(model_io::save(graph, path)) << nameOf(row.type);
        std::ifstream file(path, std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(file)), {});
        EXPECT_NE(bytes.find(std::string(row.bytes.begin(), row.bytes.end())), std::string::npos)
            << nameOf(row.type);
        auto again = model_io::load(path, {}, progress);
        ASSERT_TRUE(again) << again.error().text();
        ThreadPool threads(1);
        auto out = interpret(*again, {}, threads, progress);
        ASSERT_TRUE(out) << out.error().text();
        for (int64_t i = 0; i < 5; ++i)
            EXPECT_EQ((*out)[0].at(i), 2 * row.numbers[static_cast<size_t>(i)]) << nameOf(row.type);
    }
    std::filesystem::remove(path);
}
