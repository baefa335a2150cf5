// SPDX-License-Identifier: Apache-2.0
// Library routines of the cpu backend against the reference functions of their operators, in both
// layouts, with one and two threads.
#include "core/cpu/library.h"
#include "core/cpu/pool.h"
#include "cpu_library_support.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <limits>
#include <random>

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

const Tensor none = Tensor::ofFloats({0}, {});

/// A Resize of float[...] x to `sizes`.
void expectResize(const std::string& from, const std::string& to, const std::vector<int64_t>& sizes,
                  const std::string& attributes, const std::string& dtype = "float") {
    expectLibrary("(" + dtype + from + " x, float[0] roi, float[0] scales, int64[" +
                      std::to_string(sizes.size()) + "] sizes) => (" + dtype + to +
                      " y) { y = Resize<" + attributes + ">(x, roi, scales, sizes) }",
                  {{"roi", none}, {"scales", none}, {"sizes", Tensor::ofInts(sizes)}});
}

} // namespace

TEST(CpuResize, LinearInEveryCoordinateSystem) {
    for (const char* mode : {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                             "half_pixel_symmetric"}) {
        std::string attributes =
            std::string("mode=\"linear\", coordinate_transformation_mode=\"") + mode + "\"";
        expectResize("[2,5,7,9]", "[2,5,17,20]", {2, 5, 17, 20}, attributes);
        expectResize("[1,3,17,20]", "[1,3,5,7]", {1, 3, 5, 7}, attributes);
        expectResize("[1,33,1,1]", "[1,33,6,7]", {1, 33, 6, 7}, attributes);
        expectResize("[1,3,6,7]", "[1,3,1,1]", {1, 3, 1, 1}, attributes);
    }
}

TEST(CpuResize, LinearAlongOneAndThreeAxes) {
    expectResize("[3,4,11]", "[3,4,29]", {3, 4, 29}, "mode=\"linear\"");
    expectResize("[1,2,3,4,5]", "[1,2,6,7,11]", {1, 2, 6, 7, 11}, "mode=\"linear\"");
    expectResize("[1,6,4,5]", "[1,6,9,5]", {1, 6, 9, 5}, "mode=\"linear\"");
    expectResize("[2,3,4,5]", "[2,7,4,5]", {2, 7, 4, 5}, "mode=\"linear\"");
}

TEST(CpuResize, ChannelsLastOperandAndRowMajorResultRunAlongTheResult) {
    OperandLayout from{DType::Float32, {1, 21, 8, 8}, channelsLast({1, 21, 8, 8}), nullptr};
    OperandLayout to{DType::Float32, {1, 21, 32, 32}, rowMajorStrides({1, 21, 32, 32}), nullptr};
    EXPECT_FALSE(rowDim(from, to)) << "the batch of one is no row";
    EXPECT_EQ(rowDim({DType::Float32, {1, 21, 8, 8}, rowMajorStrides({1, 21, 8, 8}), nullptr}, to),
              std::optional<size_t>(3));
}

TEST(CpuResize, CubicAndAntialias) {
    expectResize("[1,3,7,9]", "[1,3,15,22]", {1, 3, 15, 22}, "mode=\"cubic\"");
    expectResize("[1,3,7,9]", "[1,3,15,22]", {1, 3, 15, 22}, "mode=\"cubic\", exclude_outside=1");
    expectResize("[1,3,16,19]", "[1,3,5,6]", {1, 3, 5, 6}, "mode=\"cubic\", antialias=1");
    expectResize("[1,3,16,19]", "[1,3,5,6]", {1, 3, 5, 6}, "mode=\"linear\", antialias=1");
}

TEST(CpuResize, NearestOfEveryElementSize) {
    for (const char* dtype : {"float", "double", "float16", "uint8", "int64"}) {
        expectResize("[2,5,7,9]", "[2,5,14,27]", {2, 5, 14, 27}, "mode=\"nearest\"", dtype);
        expectResize("[1,3,7,9]", "[1,3,4,4]", {1, 3, 4, 4},
                     "mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\", "
                     "nearest_mode=\"floor\"",
                     dtype);
    }
}

TEST(CpuResize, UpsampleByScales) {
    Tensor scales = Tensor::ofFloats({4}, {1, 1, 2, 3});
    for (const char* mode : {"nearest", "linear"})
        expectLibrary(std::string("(float[2,3,5,7] x, float[4] s) => (float[2,3,10,21] y) "
                                  "{ y = Upsample<mode=\"") +
                          mode + "\">(x, s) }",
                      {{"s", scales}});
}

namespace {

struct RecurrentCase {
    std::string op;
    int gates;
    std::string attributes;
    int64_t length, batch, inputs, hidden;
    bool states;
};

/// Constant and varying weights, one and two directions.
void expectRecurrent(const RecurrentCase& c) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
        auto n = [](int64_t value) { return std::to_string(value); };
        int64_t d = std::string(direction) == "bidirectional" ? 2 : 1, rows = c.gates * c.hidden;
        std::string state = "float[" + n(d) + "," + n(c.batch) + "," + n(c.hidden) + "]";
        bool lstm = c.op == "LSTM";
        std::string text =
            "(float[" + n(c.length) + "," + n(c.batch) + "," + n(c.inputs) + "] x, float[" + n(d) +
            "," + n(rows) + "," + n(c.inputs) + "] w, float[" + n(d) + "," + n(rows) + "," +
            n(c.hidden) + "] r, float[" + n(d) + "," + n(2 * rows) + "] b" +
            (c.states ? ", int32[" + n(c.batch) + "] omitted, " + state + " h0" +
                            (lstm ? ", " + state + " c0" : "")
                      : "") +
            ") => (float[" + n(c.length) + "," + n(d) + "," + n(c.batch) + "," + n(c.hidden) +
            "] y, " + state + " h" + (lstm ? ", " + state + " c" : "") + ") { y, h" +
            (lstm ? ", c" : "") + " = " + c.op + "<hidden_size=" + n(c.hidden) + ", direction=\"" +
            direction + "\"" + c.attributes + ">(x, w, r, b" +
            (c.states ? std::string(", omitted, h0") + (lstm ? ", c0" : "") : "") + ") }";
        auto constants = std::map<std::string, Tensor>{{"w", weights({d, rows, c.inputs}, 1)},
                                                       {"r", weights({d, rows, c.hidden}, 2)},
                                                       {"b", weights({d, 2 * rows}, 3)}};
        expectLibrary(text, constants, 2e-5);
        expectLibrary(text, {}, 1e-4);
    }
}

} // namespace

TEST(CpuRecurrent, LstmOfEveryDirection) {
    expectRecurrent({"LSTM", 4, "", 5, 3, 7, 9, true});
    expectRecurrent({"LSTM", 4, "", 3, 1, 16, 33, false});
}

TEST(CpuRecurrent, LstmByLoopsOfOurOwn) {
    expectRecurrent({"LSTM", 4, "", 6, 1, 32, 16, true});
    expectRecurrent({"LSTM", 4, "", 4, 17, 5, 32, true}); // more sequences than rows of a product
    expectRecurrent({"LSTM", 4, "", 33, 2, 40, 48, false});
}

TEST(CpuRecurrent, GruResetsBeforeAndAfterTheProduct) {
    expectRecurrent({"GRU", 3, "", 5, 3, 7, 9, true});
    expectRecurrent({"GRU", 3, ", linear_before_reset=1", 4, 1, 16, 33, false});
    expectRecurrent({"GRU", 3, ", linear_before_reset=1", 5, 3, 7, 9, true});
}

TEST(CpuRecurrent, GruByLoopsOfOurOwn) {
    for (const char* reset : {"", ", linear_before_reset=1"}) {
        expectRecurrent({"GRU", 3, reset, 6, 1, 32, 32, true});
        expectRecurrent({"GRU", 3, reset, 4, 17, 5, 64, true}); // more than rows of a product
        expectRecurrent({"GRU", 3, reset, 3, 2, 40, 96, false});
    }
}

TEST(CpuRecurrent, PlainRnn) {
    expectRecurrent({"RNN", 1, "", 5, 3, 7, 9, true});
    expectRecurrent({"RNN", 1, "", 6, 1, 32, 32, true}); // by loops of our own
    expectRecurrent({"RNN", 1, "", 3, 17, 5, 64, false});
}

TEST(CpuGather, AcceptsAnyMemoryOrder) {
    expectLibrary(
        "(float[2,3,4,5] t, int64[2] i) => (float[2,2,4,5] y) { y = Gather<axis=1>(t, i) }", {}, 0,
        [](auto& inputs) {
            inputs[1].ints = {-1, 0};
        });
}

TEST(CpuScatter, LaterUpdatesOfAnElementStay) {
    const CpuRun run = expectLibrary("(float[3,4,2,2] t, int64[2,4,1,2] i, float[2,4,1,2] u) => "
                                     "(float[3,4,2,2] y) { y = ScatterElements<axis=1>(t, i, u) }",
                                     {}, 0, [](auto& inputs) {
                                         for (size_t k = 0; k < inputs[1].ints.size(); ++k)
                                             inputs[1].ints[k] = static_cast<int64_t>(k % 3) - 2;
                                     });
    EXPECT_NE(run.tactic.find("scatter"), std::string::npos) << run.tactic;
}

TEST(CpuScatter, WhatIsNoNumberStays) {
    for (const char* type : {"float", "double"})
        for (const char* reduction : {"min", "max"})
            expectLibrary(fmt::format("({0}[3] t, int64[5] i, {0}[5] u) => ({0}[3] y) {{ y = "
                                      "ScatterElements<reduction = \"{1}\">(t, i, u) }}",
                                      type, reduction),
                          {}, 0, [](auto& inputs) {
                              const double nan = std::numeric_limits<double>::quiet_NaN();
                              inputs[0].floats = {0, nan, 2};
                              inputs[1].ints = {0, 0, 0, 1, 2};
                              inputs[2].floats = {-9, nan, 9, 1, 2};
                          });
}

TEST(CpuScatter, OfHalvesByNarrowIndices) {
    expectLibrary("(float16[5] t, int32[3] i, float16[3] u) => (float16[5] y) "
                  "{ y = ScatterElements(t, i, u) }",
                  {}, 0, [](auto& inputs) {
                      inputs[1].ints = {4, -5, 4};
                  });
}

namespace {

/// Shapes and indices at random for the operators that move blocks which indices choose.
class TupleCase {
public:
    explicit TupleCase(uint32_t seed) : m_engine(seed) {
        for (int64_t rank = 1 + below(4); rank > 0; --rank)
            m_data.push_back(1 + below(4));
        m_type = std::array{"float", "double", "float16", "uint8"}[static_cast<size_t>(below(4))];
        m_sameAlongRows = below(2) == 0;
    }

    void gatherElements() {
        const int64_t axis = below(static_cast<int64_t>(m_data.size()));
        Extents index;
        for (int64_t extent : m_data)
            index.push_back(1 + below(extent));
        index[static_cast<size_t>(axis)] = 1 + below(6);
        expect(
            fmt::format("({0} t, {1} i) => ({2} y) {{ y = GatherElements<axis={3}>(t, i) }}",
                        type(m_data), indexType(index), type(index), axis),
            [&](size_t) { return m_data[static_cast<size_t>(axis)]; },
            m_sameAlongRows ? index.back() : 1);
    }

    void gatherND() {
        const int64_t batch = below(static_cast<int64_t>(m_data.size()));
        const Extents index = tuples(static_cast<size_t>(batch));
        Extents result(index.begin(), index.end() - 1);
        result.insert(result.end(), m_data.begin() + batch + index.back(), m_data.end());
        expect(fmt::format("({0} t, {1} i) => ({2} y) {{ y = GatherND<batch_dims={3}>(t, i) }}",
                           type(m_data), indexType(index), type(result), batch),
               tupleExtents(index, batch));
    }

    void scatterND() {
        const Extents index = tuples(0);
        Extents updates(index.begin(), index.end() - 1);
        updates.insert(updates.end(), m_data.begin() + index.back(), m_data.end());
        expect(fmt::format("({0} t, int64{1} i, {2} u) => ({0} y) {{ y = ScatterND(t, i, u) }}",
                           type(m_data), text(index), type(updates)),
               tupleExtents(index, 0));
    }

private:
    int64_t below(int64_t bound) {
        return static_cast<int64_t>(m_engine() % static_cast<uint32_t>(bound));
    }

    std::string type(const Extents& extents) const {
        return extents.empty() ? m_type : m_type + text(extents);
    }

    std::string indexType(const Extents& extents) {
        return (below(2) == 0 ? "int64" : "int32") + text(extents);
    }

    Extents tuples(size_t batch) {
        Extents out(m_data.begin(), m_data.begin() + static_cast<std::ptrdiff_t>(batch));
        for (int64_t more = below(3); more > 0; --more)
            out.push_back(1 + below(3));
        out.push_back(1 + below(static_cast<int64_t>(m_data.size() - batch)));
        return out;
    }

    std::function<int64_t(size_t)> tupleExtents(const Extents& index, int64_t batch) const {
        return [this, width = static_cast<size_t>(index.back()), batch](size_t k) {
            return m_data[static_cast<size_t>(batch) + k % width];
        };
    }

    /// `extentAt`: what the k-th index must be below; it may count from the end. `alike`: of so
    /// many side by side all are the first.
    void expect(const std::string& body, const std::function<int64_t(size_t)>& extentAt,
                int64_t alike = 1) {
        const CpuRun run = expectLibrary(body, {}, 0, [&](auto& inputs) {
            for (size_t k = 0; k < inputs[1].ints.size(); ++k)
                inputs[1].ints[k] = k % static_cast<size_t>(alike) != 0
                                        ? inputs[1].ints[k - 1]
                                        : below(2 * extentAt(k)) - extentAt(k);
        });
        EXPECT_EQ(run.tactic.find("reference"), std::string::npos) << run.tactic;
    }

    std::mt19937 m_engine;
    Extents m_data;
    std::string m_type;
    bool m_sameAlongRows = false;
};

} // namespace

TEST(CpuTuples, RandomShapesAsTheReferenceFunctions) {
    for (uint32_t seed = 0; seed < 60; ++seed) {
        TupleCase(seed).gatherElements();
        TupleCase(seed).gatherND();
        TupleCase(seed).scatterND();
        if (HasFailure())
            return;
    }
}

TEST(CpuPool, PartOfALargerValueIsPooledByTheFastPrimitive) {
    const int64_t channels = 16, whole = 48; // of every pixel the first 16 channels are pooled
    Tensor data = weights({8 * 8 * whole}, 5);
    SlidingWindow window{{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false};
    Extents to = {1, channels, 4, 4};
    auto engine = makePoolEngine(PoolKind::Max, window, {1, channels, 8, 8},
                                 {8 * 8 * whole, 1, 8 * whole, whole}, to, channelsLast(to));
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->implementation.find("ref"), std::string::npos) << engine->implementation;
    std::vector<float> out(static_cast<size_t>(4 * 4 * channels));
    Scratch scratch;
    engine->run(data.bytes(), reinterpret_cast<std::byte*>(out.data()),
                scratch.reserve(engine->scratchBytes + 64));
    auto x = data.as<float>();
    for (int64_t i = 0; i < 4 * 4 * channels; ++i) {
        int64_t c = i % channels, column = i / channels % 4, row = i / channels / 4;
        auto at = [&](int64_t dy, int64_t dx) {
            return x[static_cast<size_t>(((2 * row + dy) * 8 + 2 * column + dx) * whole + c)];
        };
        EXPECT_EQ(out[static_cast<size_t>(i)], std::max({at(0, 0), at(0, 1), at(1, 0), at(1, 1)}));
    }
}

namespace {

/// A QuantizeLinear or DequantizeLinear of types that the textual syntax has no word for.
KernelProgram storing(Op op, DType from, DType to, const Extents& extents, const Extents& scales,
                      int64_t saturate = 1) {
    Graph graph;
    NodeSpec spec{op,
                  "node",
                  {graph.addInput("x", tensorType(from, toShape(extents))),
                   graph.addInput("s", tensorType(DType::Float32, toShape(scales)))},
                  {"y"},
                  {},
                  {}};
    spec.attributes.set("axis", int64_t{0});
    if (op == Op::QuantizeLinear) {
        spec.attributes.set("output_dtype", onnxNumber(to));
        spec.attributes.set("saturate", saturate);
    }
    const ValueId y = graph.node(graph.addNode(std::move(spec))).outputs[0];
    graph.setType(y, tensorType(to, toShape(extents)));
    graph.addOutput(y);
    LowerRequest request;
    request.body = std::make_shared<const Graph>(std::move(graph));
    return libraryProgram(request);
}

} // namespace

// Every exponent with every mantissa of 7 bits, and what lies beside and between them: all numbers
// of an 8-bit float, all ties, infinities and NaN.
TEST(CpuLibrary, EightBitFloatsAreStoredAndLoadedAsTheyAreDefined) {
    std::vector<float> numbers;
    for (uint32_t high = 0; high < 0x10000; ++high)
        for (uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
            numbers.push_back(std::bit_cast<float>(high << 16 | low));
    const auto count = static_cast<int64_t>(numbers.size());
    const ReferenceValue x = ReferenceValue::from(Tensor::ofFloats({3, count / 3}, numbers));
    const std::vector<float> steps = {1, 0.37F, 1e-3F};
    const ReferenceValue scale = ReferenceValue::from(Tensor::ofFloats({3}, steps));
    for (DType type : {DType::Float8E4M3FN, DType::Float8E5M2})
        for (int64_t saturates : {0, 1}) {
            const std::string name = nameOf(type);
            const KernelProgram program =
                storing(Op::QuantizeLinear, DType::Float32, type, {3, count / 3}, {3}, saturates);
            const CpuRun ran = runOnCpu(program, {x, scale}, {}, Order::RowMajor, 2);
            EXPECT_EQ(ran.tactic, "stores " + name);
            ASSERT_EQ(ran.bytes[0].size(), numbers.size());
            for (size_t i = 0; i < numbers.size(); ++i) {
                const float step = steps[i / (numbers.size() / 3)];
                ASSERT_EQ(static_cast<uint8_t>(ran.bytes[0][i]),
                          floatToFloat8(type, numbers[i] / step, saturates != 0))
                    << name << " of " << numbers[i] << " / " << step;
            }
        }
    for (DType type : {DType::Float8E4M3FN, DType::Float8E5M2}) {
        Tensor stored(type, {256});
        for (size_t i = 0; i < 256; ++i)
            stored.bytes()[i] = static_cast<std::byte>(i);
        const ReferenceValue step = ReferenceValue::from(Tensor::scalar(0.37F));
        const CpuRun ran = runOnCpu(storing(Op::DequantizeLinear, type, DType::Float32, {256}, {}),
                                    {ReferenceValue::from(stored), step}, {});
        EXPECT_EQ(ran.tactic, std::string("loads ") + nameOf(type));
        for (size_t i = 0; i < 256; ++i) {
            const float wanted = float8ToFloat(type, static_cast<uint8_t>(i)) * 0.37F;
            float found = 0;
            std::memcpy(&found, ran.bytes[0].data() + i * sizeof found, sizeof found);
            ASSERT_TRUE(found == wanted || (std::isnan(found) && std::isnan(wanted))) << i;
        }
    }
}
