// SPDX-License-Identifier: Apache-2.0
// Ranges, scales and histograms of a quantiser, on numbers whose answers are known.
#include "app/quantize/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace fuselage::quantize;

namespace {

std::vector<float> normal(size_t count, uint64_t seed, float deviation = 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> numbers(0, deviation);
    std::vector<float> out(count);
    for (float& number : out)
        number = numbers(random);
    return out;
}

Histogram histogramOf(const std::vector<float>& numbers) {
    Histogram out;
    out.add(numbers);
    return out;
}

} // namespace

TEST(QuantizeScale, ASymmetricTypeHasZeroInTheMiddle) {
    const auto scale = scaleOf(StoredType::Int8, {-1, 2.54});
    ASSERT_TRUE(scale);
    EXPECT_FLOAT_EQ(scale->step, 0.02F);
    EXPECT_EQ(scale->zero, 0);
}

TEST(QuantizeScale, AnAsymmetricTypeStoresZeroExactly) {
    for (const Range range : {Range{-1, 3}, Range{0, 6}, Range{2, 6}, Range{-5, -1}}) {
        const auto scale = scaleOf(StoredType::UInt8, range);
        ASSERT_TRUE(scale);
        EXPECT_EQ(storedValue(0, *scale, StoredType::UInt8), 0);
        const double ends[] = {range.low, range.high};
        for (double end : ends)
            EXPECT_NEAR(storedValue(end, *scale, StoredType::UInt8), end, scale->step);
    }
}

TEST(QuantizeScale, ARangeOfZerosHasNone) {
    for (StoredType type : {StoredType::Int8, StoredType::UInt8}) {
        EXPECT_FALSE(scaleOf(type, {0, 0}));
        EXPECT_FALSE(scaleOf(type, {0, 1e-45})) << "a step that float32 has no number for";
        EXPECT_FALSE(scaleOf(type, {-1e300, 1e300})) << "a step that float32 has no number for";
    }
}

TEST(QuantizeScale, RoundsHalfToEvenAndSaturates) {
    const Scale scale{0.5F, 0};
    EXPECT_EQ(storedValue(0.25, scale, StoredType::Int8), 0);
    EXPECT_EQ(storedValue(0.75, scale, StoredType::Int8), 1);
    EXPECT_EQ(storedValue(1000, scale, StoredType::Int8), 63.5);
    EXPECT_EQ(storedValue(-1000, scale, StoredType::Int8), -64);
}

TEST(QuantizeHistogram, MinMaxIsExactWhateverTheOrder) {
    Histogram grown, whole;
    grown.add(std::vector<float>{0, 0});
    grown.add(std::vector<float>{0.001F, -0.003F});
    grown.add(std::vector<float>{-700, 12});
    whole.add(std::vector<float>{-700, 12, 0.001F, -0.003F, 0, 0});
    const RangeChoice minmax{RangeMethod::MinMax, 0};
    EXPECT_EQ(grown.range(minmax, StoredType::UInt8), (Range{-700, 12}));
    EXPECT_EQ(grown.range(minmax, StoredType::Int8), (Range{-700, 700}));
    for (RangeMethod method : {RangeMethod::Percentile, RangeMethod::Entropy})
        EXPECT_EQ(grown.range({method, 90}, StoredType::UInt8),
                  whole.range({method, 90}, StoredType::UInt8))
            << nameOf(method) << ": bins that grew hold what bins of that width would";
    EXPECT_EQ(grown.count(), 6u);
}

TEST(QuantizeHistogram, AverageIsTheMeanOfTheSets) {
    Histogram seen;
    seen.add(std::vector<float>{-1, 3});
    seen.add(std::vector<float>{-3, 5});
    EXPECT_EQ(seen.range({RangeMethod::Average, 0}, StoredType::UInt8), (Range{-2, 4}));
}

TEST(QuantizeHistogram, PercentileLeavesOutliersOut) {
    std::vector<float> numbers = normal(100000, 1);
    numbers.push_back(1000);
    const Range kept =
        histogramOf(numbers).range({RangeMethod::Percentile, 99.0}, StoredType::UInt8);
    EXPECT_NEAR(kept.high, 2.576, 0.5); // a bin is half wide: the outlier spread them
    const Range whole =
        histogramOf(numbers).range({RangeMethod::Percentile, 100}, StoredType::UInt8);
    EXPECT_EQ(whole.high, 1000);
}

TEST(QuantizeHistogram, EntropyCutsAnOutlierAndKeepsAnEvenSpread) {
    std::vector<float> numbers = normal(200000, 2);
    numbers.push_back(40);
    const Range cut = histogramOf(numbers).range({RangeMethod::Entropy, 0}, StoredType::Int8);
    EXPECT_LT(cut.high, 10);
    EXPECT_GT(cut.high, 2);
    std::vector<float> even;
    for (int i = -50000; i <= 50000; ++i)
        even.push_back(static_cast<float>(i) / 50000);
    const Range all = histogramOf(even).range({RangeMethod::Entropy, 0}, StoredType::Int8);
    EXPECT_GT(all.high, 0.98);
}

TEST(QuantizeHistogram, EntropyOfFewNumbersKeepsThemAll) {
    const Histogram few = histogramOf(normal(2000, 4));
    const Range minmax = few.range({RangeMethod::MinMax, 0}, StoredType::Int8);
    EXPECT_EQ(few.range({RangeMethod::Entropy, 0}, StoredType::Int8), minmax);
}

TEST(QuantizeHistogram, EntropyOfFewBinsKeepsThemAll) {
    EXPECT_EQ(entropyBins(std::vector<double>(100, 1)), 100u);
    EXPECT_EQ(entropyBins(std::vector<double>(200, 5)), 200u) << "an even spread, too";
}

TEST(QuantizeHistogram, OnlyZerosHaveARangeOfZeros) {
    for (RangeMethod method :
         {RangeMethod::MinMax, RangeMethod::Average, RangeMethod::Percentile, RangeMethod::Entropy})
        EXPECT_EQ(histogramOf({0, 0, 0}).range({method, 99}, StoredType::Int8), Range{});
}

TEST(QuantizeHistogram, SignalToNoiseIsThatOfUniformSteps) {
    // 20 log10(127 sqrt(12) sigma / 4 sigma), for steps over four deviations.
    const Histogram seen = histogramOf(normal(200000, 3));
    const auto scale = scaleOf(StoredType::Int8, {-4, 4});
    EXPECT_NEAR(seen.signalToNoise(*scale, StoredType::Int8), 40.8, 0.7);
}
