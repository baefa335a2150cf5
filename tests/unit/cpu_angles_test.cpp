// SPDX-License-Identifier: Apache-2.0
// sin, cos and atan of the tile interpreter over all magnitudes, beside double precision: near
// multiples of a quarter turn, where the polynomials end, where arguments grow too large for them.
#include "core/cpu/vector_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace fuselage;
using namespace fuselage::cpu;

namespace {

constexpr double quarter = 1.5707963267948966;

/// Groups of lanes, each of one magnitude: one argument that is too large slows down its tile.
std::vector<float> angles() {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> unit(-1, 1);
    std::vector<float> out;
    for (int exponent = -140; exponent <= 127; ++exponent)
        for (size_t i = 0; i < laneGroup; ++i)
            out.push_back(std::ldexp(unit(random), exponent));
    for (int group = 0; group < 400; ++group) {
        const auto turns = static_cast<double>(random() % 630000);
        auto at = static_cast<float>(turns * quarter * (group % 2 == 0 ? 1 : -1));
        for (size_t i = 0; i < laneGroup; ++i, at = std::nextafter(at, 0.0F))
            out.push_back(at);
    }
    for (float edge : {0.785398163F, 1e6F, 0.414213562F, 2.41421356F}) {
        float at = edge;
        for (size_t i = 0; i < laneGroup / 2; ++i)
            at = std::nextafter(at, 0.0F);
        for (size_t i = 0; i < laneGroup; ++i, at = std::nextafter(at, 2e9F))
            out.push_back(at);
    }
    for (float special : {0.0F, -0.0F, NAN, INFINITY, -INFINITY, 1e-45F, 3.4e38F, -1.0F})
        out.push_back(special);
    out.resize(roundUpToGroup(out.size()), 1.0F);
    return out;
}

/// In units of the last place of the result.
double errorOf(float actual, double expected) {
    if (std::isnan(expected) || std::isnan(actual))
        return std::isnan(expected) == std::isnan(actual) ? 0 : INFINITY;
    const auto rounded = static_cast<float>(expected);
    if (actual == rounded)
        return std::signbit(actual) == std::signbit(rounded) ? 0 : INFINITY;
    int exponent = 0;
    std::frexp(expected, &exponent);
    return std::abs(actual - expected) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

} // namespace

TEST(CpuAngles, AreThoseOfDoublePrecision) {
    struct Case {
        TapeOp op;
        double (*exact)(double);
        double mostUlps;
    };
    const std::vector<float> x = angles();
    std::vector<float> y(x.size());
    for (const Case& c : {Case{TapeOp::Sin, std::sin, 1.1}, Case{TapeOp::Cos, std::cos, 1.1},
                          Case{TapeOp::Atan, std::atan, 3}})
        for (size_t i = 0; i < vectorTableCount(); ++i) {
            const VectorTable& table = vectorTable(i);
            double most = 0;
            for (size_t at = 0; at < x.size(); at += laneGroup) {
                table.op[static_cast<size_t>(c.op)][static_cast<size_t>(Lane::F32)][0](
                    y.data() + at, x.data() + at, nullptr, nullptr, laneGroup);
                for (size_t k = at; k < at + laneGroup; ++k) {
                    const double error = errorOf(y[k], c.exact(x[k]));
                    most = std::max(most, error);
                    ASSERT_LE(error, c.mostUlps)
                        << table.name << ", operation " << static_cast<int>(c.op) << " of " << x[k];
                }
            }
            RecordProperty(table.name, std::to_string(most));
        }
}
