// SPDX-License-Identifier: Apache-2.0
// Running sums, the best of rows, updates that are combined, sequences, places in images and
// Fourier transforms of the cpu backend against the reference functions of their operators, of
// random shapes, attributes and data.
#include "cpu_library_support.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <random>

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

class SignalCase {
public:
    explicit SignalCase(uint32_t seed) : m_engine(seed) {}

    void runningSums() {
        const Extents x = extents(1 + below(4), 5);
        const std::string type = pick({"float", "double", "int32", "int64"}) + text(x);
        expect(fmt::format("({0} x, int64[1] axis) => ({0} y) {{ y = {1}<exclusive={2}, "
                           "reverse={3}>(x, axis) }}",
                           type, pick({"CumSum", "CumProd"}), below(2), below(2)),
               {{"axis", Tensor::ofInts({axisOf(x)})}}, 1e-6);
    }

    /// Few values, so that many are alike; no numbers among them; all that are there are wanted now
    /// and then.
    void bestOfRows() {
        Extents x = extents(1 + below(3), 6);
        const int64_t axis = axisOf(x);
        int64_t& extent = x[static_cast<size_t>(axis < 0 ? axis + rank(x) : axis)];
        extent = 1 + below(below(4) == 0 ? 900 : 12);
        const int64_t k = below(4) == 0 ? extent : 1 + below(extent);
        const std::string type = pick({"float", "double", "int32", "int64", "int8", "uint8"});
        const bool isFloat = type == "float" || type == "double";
        const std::string from = type + text(x);
        extent = k;
        expect(fmt::format("({0} x, int64[1] k) => ({1} v, int64{2} i) {{ v, i = TopK<axis={3}, "
                           "largest={4}>(x, k) }}",
                           from, type + text(x), text(x), axis, below(2)),
               {{"k", Tensor::ofInts({k})}}, 0, [&](auto& inputs) {
                   for (double& value : inputs[0].floats)
                       value = isFloat && below(9) == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                        : static_cast<double>(below(5)) - 2;
                   for (int64_t& value : inputs[0].ints)
                       value = below(5) + (type == "uint8" ? 0 : -2);
               });
    }

    /// Points in the image, at its edges, outside, far outside and nowhere.
    void placesInImages() {
        const int64_t spatial = 1 + below(3);
        Extents x = extents(2 + spatial, 7), grid = {x[0]}, y = {x[0], x[1]};
        for (int64_t d = 0; d < spatial; ++d) {
            grid.push_back(1 + below(d == 0 ? 60 : 9));
            y.push_back(grid.back());
        }
        grid.push_back(spatial);
        expect(fmt::format("(float{} x, float{} g) => (float{} y) {{ y = GridSample<mode=\"{}\", "
                           "padding_mode=\"{}\", align_corners={}>(x, g) }}",
                           text(x), text(grid), text(y), pick({"linear", "nearest", "cubic"}),
                           pick({"zeros", "border", "reflection"}), below(2)),
               {}, 1e-5, [&](auto& inputs) {
                   constexpr std::array<double, 8> odd{
                       -1, 1, 0, 1.5, -40, 3e30, std::numeric_limits<double>::quiet_NaN(), 0.25};
                   for (double& place : inputs[1].floats)
                       place =
                           below(4) == 0
                               ? static_cast<float>(odd[static_cast<size_t>(below(8))])
                               : static_cast<float>(static_cast<double>(below(2600)) / 1000 - 1.3);
               });
    }

    /// Several updates for one place, which are combined in any of the ways.
    void combined() {
        const Extents data = extents(1 + below(3), 4);
        const bool byTuples = below(2) == 0;
        const std::string type = pick({"float", "double", "int32", "int64"});
        Extents index = data, updates = data;
        const int64_t axis = below(rank(data)), width = 1 + below(rank(data));
        if (byTuples) {
            index = {1 + below(9), width};
            updates = {index[0]};
            updates.insert(updates.end(), data.begin() + width, data.end());
        } else {
            index[static_cast<size_t>(axis)] = 1 + below(9);
            updates = index;
        }
        const std::string attributes =
            fmt::format("reduction=\"{}\"", pick({"none", "add", "mul", "min", "max"}));
        expect(fmt::format("({0}{1} t, int64{2} i, {0}{3} u) => ({0}{1} y) {{ y = {4}(t, i, u) }}",
                           type, text(data), text(index), text(updates),
                           byTuples
                               ? "ScatterND<" + attributes + ">"
                               : fmt::format("ScatterElements<axis={}, {}>", axis, attributes)),
               {}, 1e-6, [&](auto& inputs) {
                   for (size_t k = 0; k < inputs[1].ints.size(); ++k) {
                       const auto along =
                           byTuples ? k % static_cast<size_t>(width) : static_cast<size_t>(axis);
                       inputs[1].ints[k] = below(2 * data[along]) - data[along];
                   }
               });
    }

    void turned() {
        const Extents x = extents(2 + below(3), 6);
        const bool isTimeFirst = below(2) == 0;
        const std::string type = pick({"float", "double", "int64", "uint8", "float16"}) + text(x);
        const int64_t batch = x[isTimeFirst ? 1 : 0], time = x[isTimeFirst ? 0 : 1];
        expect(fmt::format("({0} x, int64[{1}] l) => ({0} y) {{ y = ReverseSequence<time_axis={2}, "
                           "batch_axis={3}>(x, l) }}",
                           type, batch, isTimeFirst ? 0 : 1, isTimeFirst ? 1 : 0),
               {}, 0, [&](auto& inputs) {
                   for (int64_t& length : inputs[1].ints)
                       length = below(time + 1);
               });
    }

    /// Regions in the image, partly and wholly outside, turned and without area.
    void regions() {
        const Extents x = extents(4, 9);
        const int64_t count = 1 + below(4), rows = 1 + below(4), columns = 1 + below(4);
        expect(fmt::format("(float{0} x, float[{1},4] r, int64[{1}] b) => (float[{1},{2},{3},{4}] "
                           "y) {{ y = RoiAlign<output_height={3}, output_width={4}, "
                           "sampling_ratio={5}, spatial_scale={6}, "
                           "coordinate_transformation_mode=\"{7}\">(x, r, b) }}",
                           text(x), count, x[1], rows, columns, below(4), pick({"1.0", "0.25"}),
                           pick({"half_pixel", "output_half_pixel"})),
               {}, 1e-5, [&](auto& inputs) {
                   for (double& place : inputs[1].floats)
                       place = static_cast<float>(static_cast<double>(below(160)) / 10 - 3);
                   for (int64_t& batch : inputs[2].ints)
                       batch = below(x[0]);
               });
    }

    /// Windows torn apart: offsets within a pixel and far away.
    void deformed() {
        const int64_t group = 1 + below(2), offsetGroup = 1 + below(2), images = 1 + below(2);
        const int64_t rows = 1 + below(3), columns = 1 + below(3), stride = 1 + below(2);
        const int64_t pad = below(2), height = 4 + below(18), width = 4 + below(18);
        const int64_t channels = group * offsetGroup * (1 + below(3)), results = group * 3;
        const int64_t high = (height + 2 * pad - rows) / stride + 1;
        const int64_t wide = (width + 2 * pad - columns) / stride + 1;
        const int64_t each = offsetGroup * rows * columns;
        const bool hasBias = below(2) == 0, hasMask = hasBias && below(2) == 0;
        expect(fmt::format(
                   "(float[{0},{1},{2},{3}] x, float[{4},{5},{6},{7}] w, "
                   "float[{0},{8},{9},{10}] o{11}{12}) => (float[{0},{4},{9},{10}] y) {{ y = "
                   "DeformConv<group={13}, offset_group={14}, strides=[{15},{15}], "
                   "pads=[{16},{16},{16},{16}]>(x, w, o{17}{18}) }}",
                   images, channels, height, width, results, channels / group, rows, columns,
                   2 * each, high, wide, hasBias ? fmt::format(", float[{}] b", results) : "",
                   hasMask ? fmt::format(", float[{},{},{},{}] m", images, each, high, wide) : "",
                   group, offsetGroup, stride, pad, hasBias ? ", b" : "", hasMask ? ", m" : ""),
               {}, 1e-5, [&](auto& inputs) {
                   for (double& offset : inputs[2].floats)
                       offset = static_cast<float>(static_cast<double>(below(4000)) / 1000 - 2) *
                                (below(9) == 0 ? 20.0F : 1.0F);
               });
    }

    void transforms() {
        Extents x = extents(1 + below(3), 4);
        const int64_t axis = below(rank(x));
        const bool inverse = below(2) == 0, half = below(3) == 0;
        const bool toReal = inverse && half;
        int64_t& extent = x[static_cast<size_t>(axis)];
        extent = lengths();
        const int64_t length = toReal         ? 2 * extent - below(2)
                               : below(3) > 0 ? extent
                                              : std::max<int64_t>(extent + below(5) - 2, 1);
        Extents y = x;
        y[static_cast<size_t>(axis)] = half && !toReal ? length / 2 + 1 : length;
        x.push_back(toReal || below(2) == 0 ? 2 : 1);
        y.push_back(toReal ? 1 : 2);
        expect(fmt::format("(float{} x, int64[1] n, int64[1] a) => (float{} y) {{ y = "
                           "DFT<inverse={}, onesided={}>(x, n, a) }}",
                           text(x), text(y), inverse ? 1 : 0, half ? 1 : 0),
               {{"n", Tensor::ofInts({length})}, {"a", Tensor::ofInts({axis})}}, 2e-5);
    }

    void frames() {
        const int64_t length = lengths(), step = 1 + below(length + 2), parts = 1 + below(2);
        const int64_t rows = 1 + below(3), samples = length + below(3 * length + 1);
        const int64_t count = (samples - length) / step + 1;
        const bool half = parts == 1 && below(2) == 0, hasWindow = below(2) == 0;
        expect(fmt::format("(float[{0},{1},{2}] x, int64[1] s, float[{3}] {4}, int64[1] n) => "
                           "(float[{0},{5},{6},2] y) {{ y = STFT<onesided={7}>(x, s, {4}, n) }}",
                           rows, samples, parts, length, hasWindow ? "w" : "omitted", count,
                           half ? length / 2 + 1 : length, half ? 1 : 0),
               {{"s", Tensor::ofInts({step})}, {"n", Tensor::ofInts({length})}}, 2e-5);
    }

private:
    int64_t below(int64_t bound) {
        return static_cast<int64_t>(m_engine() % static_cast<uint32_t>(bound));
    }

    static int64_t rank(const Extents& extents) { return static_cast<int64_t>(extents.size()); }

    std::string pick(const std::vector<std::string>& texts) {
        return texts[static_cast<size_t>(below(static_cast<int64_t>(texts.size())))];
    }

    Extents extents(int64_t rank, int64_t most) {
        Extents out;
        for (; rank > 0; --rank)
            out.push_back(1 + below(most));
        return out;
    }

    int64_t axisOf(const Extents& x) { return below(2 * rank(x)) - rank(x); }

    /// Of one factor and of many, prime ones too.
    int64_t lengths() {
        constexpr std::array<int64_t, 12> some{1, 2, 3, 4, 5, 8, 30, 49, 60, 64, 97, 400};
        return below(3) == 0 ? 1 + below(40) : some[static_cast<size_t>(below(12))];
    }

    void expect(const std::string& body, const std::map<std::string, Tensor>& constants,
                double tolerance, const Change& change = {}) {
        const CpuRun run = expectLibrary(body, constants, tolerance, change);
        EXPECT_EQ(run.tactic.find("reference"), std::string::npos) << run.tactic << body;
    }

    std::mt19937 m_engine;
};

void atRandom(uint32_t seeds, void (SignalCase::*run)()) {
    for (uint32_t seed = 0; seed < seeds && !testing::Test::HasFailure(); ++seed) {
        SignalCase drawn(seed);
        (drawn.*run)();
    }
}

} // namespace

TEST(CpuSignal, RunningSums) {
    atRandom(100, &SignalCase::runningSums);
}

TEST(CpuSignal, BestOfRows) {
    atRandom(200, &SignalCase::bestOfRows);
}

TEST(CpuSignal, PlacesInImages) {
    atRandom(150, &SignalCase::placesInImages);
}

TEST(CpuSignal, UpdatesThatAreCombined) {
    atRandom(200, &SignalCase::combined);
}

TEST(CpuSignal, SequencesTurnedAround) {
    atRandom(60, &SignalCase::turned);
}

TEST(CpuSignal, Regions) {
    atRandom(150, &SignalCase::regions);
}

TEST(CpuSignal, DeformedWindows) {
    atRandom(100, &SignalCase::deformed);
}

TEST(CpuSignal, Transforms) {
    atRandom(150, &SignalCase::transforms);
}

TEST(CpuSignal, Frames) {
    atRandom(100, &SignalCase::frames);
}
