// SPDX-License-Identifier: Apache-2.0
// Functions of double lanes over all magnitudes, beside the C library's of 80 bits: where
// polynomials end, where results begin to overflow and to lose digits, and what is no number.
#include "core/cpu/vector_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace fuselage;
using namespace fuselage::cpu;

namespace {

std::vector<double> arguments() {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> unit(-1, 1);
    std::vector<double> out;
    for (int exponent = -1074; exponent <= 1023; ++exponent)
        for (size_t i = 0; i < 4; ++i)
            out.push_back(std::ldexp(unit(random), exponent));
    for (double reach : {1.0, 40.0, 760.0})
        for (size_t i = 0; i < 20000; ++i)
            out.push_back(unit(random) * reach);
    for (double edge : {0.0, 0.5, 1.0, 2.0, 0.34657359027997264, 0.70710678118654757,
                        1.4142135623730951, 20.0, 709.782712893384, -708.3964185322641,
                        -745.1332191019411, -1.0, 2.2250738585072014e-308}) {
        double below = edge, above = edge;
        for (size_t i = 0; i < 40; ++i) {
            out.push_back(below = std::nextafter(below, -1e300));
            out.push_back(above = std::nextafter(above, 1e300));
        }
        out.push_back(edge);
    }
    const double infinity = std::numeric_limits<double>::infinity();
    for (double special : {0.0, -0.0, std::numeric_limits<double>::quiet_NaN(), infinity, -infinity,
                           5e-324, 1.7976931348623157e308, -1.7976931348623157e308})
        out.push_back(special);
    out.resize(roundUpToGroup(out.size()), 1.0);
    return out;
}

/// In units of the last place of the result.
double lastPlacesOf(double actual, long double expected) {
    if (std::isnan(expected) || std::isnan(actual))
        return std::isnan(expected) == std::isnan(actual) ? 0 : INFINITY;
    const auto rounded = static_cast<double>(expected);
    if (actual == rounded)
        return std::signbit(actual) == std::signbit(rounded) ? 0 : INFINITY;
    int exponent = 0;
    std::frexp(expected, &exponent);
    return static_cast<double>(std::abs(static_cast<long double>(actual) - expected) /
                               std::ldexp(1.0L, std::max(exponent, -1021) - 53));
}

} // namespace

TEST(CpuDoubleFunctions, AreThoseOfMoreDigits) {
    struct Case {
        TapeOp op;
        long double (*exact)(long double);
        double mostUlps;
    };
    const std::vector<double> x = arguments();
    std::vector<double> y(x.size());
    for (const Case& c : {Case{TapeOp::Exp, std::exp, 1.5}, Case{TapeOp::Log, std::log, 1.5},
                          Case{TapeOp::Log1p, std::log1p, 3}, Case{TapeOp::Tanh, std::tanh, 3}})
        for (size_t i = 0; i < vectorTableCount(); ++i) {
            const VectorTable& table = vectorTable(i);
            table.op[static_cast<size_t>(c.op)][static_cast<size_t>(Lane::F64)][0](
                y.data(), x.data(), nullptr, nullptr, x.size());
            double most = 0;
            for (size_t k = 0; k < x.size(); ++k) {
                const double error = lastPlacesOf(y[k], c.exact(x[k]));
                most = std::max(most, error);
                ASSERT_LE(error, c.mostUlps)
                    << table.name << ", operation " << static_cast<int>(c.op) << " of " << x[k];
            }
            RecordProperty(table.name, std::to_string(most));
        }
}
