// SPDX-License-Identifier: Apache-2.0
// Kernels with tensor maps through the tactic: maps for the addresses of a launch, in a captured
// graph too, made by the stand-in driver, which keeps the rules of the real one's header.
#include "core/ops/reference_value.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/generated_tactic.h"
#include "gpu/runtime/nvrtc.h"
#include "gpu/runtime/tensor_map.h"
#include "tests/fakecuda/fixture.h"
#include "tests/shim/suite.h"

#include <cstring>

namespace {

using namespace fuselage;
using namespace fuselage::gpu;

constexpr int64_t rows = 130, inner = 72, columns = 136;

double x(int64_t row, int64_t k) {
    return static_cast<double>((row * 3 + k) % 5 - 2);
}

double w(int64_t k, int64_t column) {
    return static_cast<double>((k * 2 + column) % 7 - 3);
}

class TensorMaps : public FakeCudaTest {
protected:
    void SetUp() override {
        FakeCudaTest::SetUp();
        auto device = Device::open();
        ASSERT_TRUE(device) << device.error().text();
        m_device = *device;
        auto stream = m_device->stream();
        ASSERT_TRUE(stream);
        m_stream = std::move(*stream);
        gpu_suite::Case source;
        source.bodies = {"(float16[130,72] x, float16[72,136] w) => (float16[130,136] y) "
                         "{ m = MatMul(x, w) y = Relu(m) }"};
        source.constants = "in1";
        source.capability = 90;
        m_prepared = gpu_suite::prepare(source);
        ASSERT_TRUE(m_prepared.program);
    }

    static ReferenceValue weight() {
        ReferenceValue out = ReferenceValue::tensor(DType::Float16, {inner, columns});
        for (int64_t i = 0; i < inner * columns; ++i)
            out.floats[static_cast<size_t>(i)] = w(i / columns, i % columns);
        return out;
    }

    std::unique_ptr<Tactic> tactic(const std::string& name) {
        return tactic(name, m_prepared, weight());
    }

    /// The tactic of that name for a product with this weight, built and loaded.
    std::unique_ptr<Tactic> tactic(const std::string& name, const gpu_suite::Prepared& prepared,
                                   const ReferenceValue& weight) {
        auto compiler = Nvrtc::open();
        EXPECT_TRUE(compiler) << compiler.error().text();
        KernelRequest request;
        request = prepared.request;
        request.constants = {nullptr, std::make_shared<const Tensor>(weight.toTensor())};
        auto source = makeGeneratedSource(std::make_shared<CubinCache>(*compiler, ""));
        Progress progress;
        for (auto& candidate : source->candidates(request).candidates)
            if (candidate->name() == name) {
                EXPECT_TRUE(candidate->build(progress));
                EXPECT_TRUE(candidate->load(*m_device));
                EXPECT_TRUE(m_device->finishUploads());
                return std::move(candidate);
            }
        ADD_FAILURE() << name << " does not accept the program";
        return nullptr;
    }

    DeviceMemory memoryOfX() {
        std::vector<uint16_t> values;
        for (int64_t i = 0; i < rows * inner; ++i)
            values.push_back(floatToHalf(static_cast<float>(x(i / inner, i % inner))));
        auto memory = m_device->allocate(rows * inner * 2);
        EXPECT_TRUE(m_device->upload(memory->address(), values.data(), values.size() * 2));
        EXPECT_TRUE(m_device->finishUploads());
        return std::move(*memory);
    }

    void expectResults(const DeviceMemory& memory) {
        std::vector<uint16_t> out(static_cast<size_t>(rows * columns));
        ASSERT_TRUE(m_stream.copyOut(out.data(), memory.address(), out.size() * 2));
        auto done = m_stream.synchronize();
        ASSERT_TRUE(done) << done.error().text() << fake().message();
        for (int64_t row = 0; row < rows; ++row)
            for (int64_t column = 0; column < columns; ++column) {
                double wanted = 0;
                for (int64_t k = 0; k < inner; ++k)
                    wanted += x(row, k) * w(k, column);
                const float got = halfToFloat(out[static_cast<size_t>(row * columns + column)]);
                ASSERT_EQ(got, std::max(wanted, 0.0)) << "row " << row << ", column " << column;
            }
    }

    std::shared_ptr<Device> m_device;
    Stream m_stream;
    gpu_suite::Prepared m_prepared;
};

TEST_F(TensorMaps, areMadeForTheAddressesOfALaunch) {
    auto tactic = this->tactic("tma_128x128");
    ASSERT_NE(tactic, nullptr);
    for (int launch = 0; launch < 2; ++launch) {
        const DeviceMemory in = memoryOfX();
        auto out = m_device->allocate(rows * columns * 2);
        ASSERT_TRUE(out);
        const DevicePointer inputs[] = {in.address(), 0}, outputs[] = {out->address()};
        ASSERT_TRUE(tactic->enqueue(m_stream, {inputs, outputs, 0}));
        expectResults(*out);
    }
}

TEST_F(TensorMaps, andClustersAreKeptByACapturedGraph) {
    auto tactic = this->tactic("tma_64x128_pair");
    ASSERT_NE(tactic, nullptr);
    const uint64_t before = fake().now().clusterLaunches;
    const DeviceMemory in = memoryOfX();
    auto out = m_device->allocate(rows * columns * 2);
    ASSERT_TRUE(out);
    const DevicePointer inputs[] = {in.address(), 0}, outputs[] = {out->address()};
    auto capture = StreamCapture::begin(m_stream);
    ASSERT_TRUE(capture);
    ASSERT_TRUE(tactic->enqueue(m_stream, {inputs, outputs, 0}));
    auto graph = capture->finish();
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_TRUE(graph->launch(m_stream));
    expectResults(*out);
    EXPECT_EQ(fake().now().clusterLaunches - before, 1U);
}

/// Behind another kernel the launch has both attributes.
TEST_F(TensorMaps, clustersAreLaunchedEarlyToo) {
    auto tactic = this->tactic("tma_128x128_pair");
    ASSERT_NE(tactic, nullptr);
    ASSERT_EQ(tactic->kernels()->kernels[0].clusterBlocks, 2U);
    const DeviceMemory in = memoryOfX();
    auto out = m_device->allocate(rows * columns * 2);
    ASSERT_TRUE(out);
    const DevicePointer inputs[] = {in.address(), 0}, outputs[] = {out->address()};
    const FakeCudaCounts before = fake().now();
    m_stream.launchEarly(true);
    auto capture = StreamCapture::begin(m_stream);
    ASSERT_TRUE(capture);
    for (int launch = 0; launch < 2; ++launch)
        ASSERT_TRUE(tactic->enqueue(m_stream, {inputs, outputs, 0})) << fake().message();
    EXPECT_EQ(m_stream.earlyLaunches(), 1U);
    auto graph = capture->finish();
    ASSERT_TRUE(graph && graph->launch(m_stream));
    expectResults(*out);
    EXPECT_EQ(fake().now().clusterLaunches - before.clusterLaunches, 2U);
    EXPECT_EQ(fake().now().earlyLaunches - before.earlyLaunches, 1U);
}

TEST_F(TensorMaps, gridsThatAreNoMultipleOfAClusterAreRefusedByTheDriver) {
    KernelLaunch launch;
    launch.name = "odd";
    launch.grid = {3, 1, 1};
    launch.clusterBlocks = 2;
    auto launched = m_stream.launch(launch);
    ASSERT_FALSE(launched);
    EXPECT_STREQ(fake().message(), "a grid that is no multiple of its clusters");
}

/// A map of bytes, the packed weight, and the sums of its columns that a zero point wants.
TEST_F(TensorMaps, bytesComeWithTheSumsOfTheWeightsColumns) {
    constexpr int64_t terms = 80, zero = 5;
    gpu_suite::Case source;
    source.bodies = {"(uint8[130,80] x, int8[80,136] w) => (int32[130,136] y) <uint8 z = {5}> "
                     "{ y = MatMulInteger(x, w, z) }"};
    source.constants = "in1";
    source.capability = 90;
    const gpu_suite::Prepared prepared = gpu_suite::prepare(source);
    ASSERT_TRUE(prepared.program);
    ReferenceValue weight = ReferenceValue::tensor(DType::Int8, {terms, columns});
    for (int64_t i = 0; i < terms * columns; ++i)
        weight.ints[static_cast<size_t>(i)] = i * 37 % 251 - 125;
    auto tactic = this->tactic("tma_128x128", prepared, weight);
    ASSERT_NE(tactic, nullptr);
    std::vector<uint8_t> values;
    for (int64_t i = 0; i < rows * terms; ++i)
        values.push_back(static_cast<uint8_t>(i * 29 % 256));
    auto in = m_device->allocate(rows * terms), out = m_device->allocate(rows * columns * 4);
    ASSERT_TRUE(in && out);
    ASSERT_TRUE(m_device->upload(in->address(), values.data(), values.size()));
    ASSERT_TRUE(m_device->finishUploads());
    const DevicePointer inputs[] = {in->address(), 0}, outputs[] = {out->address()};
    ASSERT_TRUE(tactic->enqueue(m_stream, {inputs, outputs, 0}));
    std::vector<int32_t> sums(static_cast<size_t>(rows * columns));
    ASSERT_TRUE(m_stream.copyOut(sums.data(), out->address(), sums.size() * 4));
    auto done = m_stream.synchronize();
    ASSERT_TRUE(done) << done.error().text() << fake().message();
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column) {
            int64_t wanted = 0;
            for (int64_t k = 0; k < terms; ++k)
                wanted += (values[static_cast<size_t>(row * terms + k)] - zero) *
                          weight.ints[static_cast<size_t>(k * columns + column)];
            ASSERT_EQ(sums[static_cast<size_t>(row * columns + column)], wanted)
                << "row " << row << ", column " << column;
        }
}

/// A convolution in steps of two, whose pictures TMA reads by im2col mode.
class PixelMaps : public TensorMaps {
protected:
    static constexpr int64_t images = 2, channels = 40, height = 17, width = 15, results = 72;
    static constexpr int64_t down = 9, along = 8;

    static double pixel(int64_t image, int64_t row, int64_t column, int64_t channel) {
        return static_cast<double>((image * 5 + row * 3 + column * 2 + channel) % 5 - 2);
    }

    static double weight(int64_t result, int64_t channel, int64_t tap) {
        return static_cast<double>((result * 3 + channel + tap * 2) % 7 - 3);
    }

    std::unique_ptr<Tactic> convolution(const std::string& name) {
        gpu_suite::Case source;
        source.bodies = {"(float16[2,40,17,15] x, float16[72,40,3,3] w) => (float16[2,72,9,8] y) "
                         "{ y = Conv<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x, w) }"};
        source.constants = "in1";
        source.capability = 90;
        for (const char* operand : {"in0", "out0"})
            source.placements[operand] = {{0, 2, 3, 1}};
        m_convolution = gpu_suite::prepare(source);
        EXPECT_TRUE(m_convolution.program);
        ReferenceValue weights = ReferenceValue::tensor(DType::Float16, {results, channels, 3, 3});
        for (int64_t i = 0; i < results * channels * 9; ++i)
            weights.floats[static_cast<size_t>(i)] =
                weight(i / 9 / channels, i / 9 % channels, i % 9);
        return tactic(name, m_convolution, weights);
    }

    DeviceMemory picture() {
        std::vector<uint16_t> values;
        for (int64_t place = 0; place < images * height * width; ++place)
            for (int64_t channel = 0; channel < channels; ++channel)
                values.push_back(floatToHalf(static_cast<float>(pixel(
                    place / width / height, place / width % height, place % width, channel))));
        auto memory = m_device->allocate(values.size() * 2);
        EXPECT_TRUE(m_device->upload(memory->address(), values.data(), values.size() * 2));
        EXPECT_TRUE(m_device->finishUploads());
        return std::move(*memory);
    }

    static double wanted(int64_t place, int64_t result) {
        double out = 0;
        for (int64_t tap = 0; tap < 9; ++tap) {
            const int64_t row = place / along % down * 2 - 1 + tap / 3;
            const int64_t column = place % along * 2 - 1 + tap % 3;
            if (row < 0 || row >= height || column < 0 || column >= width)
                continue;
            for (int64_t channel = 0; channel < channels; ++channel)
                out += pixel(place / along / down, row, column, channel) *
                       weight(result, channel, tap);
        }
        return out;
    }

    gpu_suite::Prepared m_convolution;
};

TEST_F(PixelMaps, areMadeForTheAddressesOfALaunch) {
    for (const char* name : {"tma_im2col_128x64", "tma_im2col_128x64_pair"}) {
        SCOPED_TRACE(name);
        auto tactic = convolution(name);
        ASSERT_NE(tactic, nullptr);
        const DeviceMemory in = picture();
        auto out = m_device->allocate(images * down * along * results * 2);
        ASSERT_TRUE(out);
        const DevicePointer inputs[] = {in.address(), 0}, outputs[] = {out->address()};
        ASSERT_TRUE(tactic->enqueue(m_stream, {inputs, outputs, 0})) << fake().message();
        std::vector<uint16_t> values(static_cast<size_t>(images * down * along * results));
        ASSERT_TRUE(m_stream.copyOut(values.data(), out->address(), values.size() * 2));
        auto done = m_stream.synchronize();
        ASSERT_TRUE(done) << done.error().text() << fake().message();
        for (int64_t place = 0; place < images * down * along; ++place)
            for (int64_t result = 0; result < results; ++result)
                ASSERT_EQ(halfToFloat(values[static_cast<size_t>(place * results + result)]),
                          wanted(place, result))
                    << "place " << place << ", result " << result;
    }
}

TEST_F(PixelMaps, whatTheDriverRefusesIsAnErrorOfTheLaunch) {
    auto tactic = convolution("tma_im2col_128x64");
    ASSERT_NE(tactic, nullptr);
    auto out = m_device->allocate(images * down * along * results * 2);
    const DeviceMemory in = picture();
    ASSERT_TRUE(out);
    const DevicePointer inputs[] = {in.address() + 16, 0}, outputs[] = {out->address()};
    auto launched = tactic->enqueue(m_stream, {inputs, outputs, 0});
    ASSERT_FALSE(launched);
    EXPECT_EQ(launched.error().code, "device.call");
    EXPECT_STREQ(fake().message(), "the tensor lies outside of the device's memory");
}

TEST_F(PixelMaps, aDriverWithoutThemRunsNoKernelThatNeedsThem) {
    auto tactic = convolution("tma_im2col_128x64");
    ASSERT_NE(tactic, nullptr);
    setenv("FUSELAGE_CUDA_LIBRARIES", FAKECUDA_FOLDER "/plain", 1);
    auto plain = Device::open();
    ASSERT_TRUE(plain) << plain.error().text();
    const TensorMapText& pixels = tactic->kernels()->kernels[0].maps[0];
    const TensorMapText& boxes = tactic->kernels()->kernels[0].maps[1];
    ASSERT_TRUE(pixels.pixels && !boxes.pixels);
    EXPECT_TRUE(requireTensorMap(*(*plain)->context(), boxes));
    auto missing = requireTensorMap(*(*plain)->context(), pixels);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, "library-missing");
    EXPECT_NE(missing.error().message.find("cuTensorMapEncodeIm2col"), std::string::npos);
}

/// A third map, of float32, and the results take the residual's place.
TEST_F(TensorMaps, aResidualLandsBeforeTheResultsReplaceIt) {
    gpu_suite::Case source;
    source.bodies = {"(float16[130,72] x, float16[72,136] w, float[130,136] r) => "
                     "(float[130,136] y) { m = MatMul(x, w) c = Cast<to=1>(m) y = Add(c, r) }"};
    source.constants = "in1";
    source.capability = 90;
    const gpu_suite::Prepared prepared = gpu_suite::prepare(source);
    ASSERT_TRUE(prepared.program);
    auto tactic = this->tactic("tma_128x128", prepared, weight());
    ASSERT_NE(tactic, nullptr);
    ASSERT_EQ(tactic->kernels()->kernels[0].maps.size(), 3U);
    std::vector<float> numbers;
    for (int64_t i = 0; i < rows * columns; ++i)
        numbers.push_back(static_cast<float>(i % 1009));
    const DeviceMemory in = memoryOfX();
    auto both = m_device->allocate(rows * columns * 4);
    ASSERT_TRUE(both);
    ASSERT_TRUE(m_device->upload(both->address(), numbers.data(), numbers.size() * 4));
    ASSERT_TRUE(m_device->finishUploads());
    const DevicePointer inputs[] = {in.address(), 0, both->address()},
                        outputs[] = {both->address()};
    ASSERT_TRUE(tactic->enqueue(m_stream, {inputs, outputs, 0}));
    std::vector<float> results(numbers.size());
    ASSERT_TRUE(m_stream.copyOut(results.data(), both->address(), results.size() * 4));
    auto done = m_stream.synchronize();
    ASSERT_TRUE(done) << done.error().text() << fake().message();
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column) {
            const auto i = static_cast<size_t>(row * columns + column);
            double wanted = numbers[i];
            for (int64_t k = 0; k < inner; ++k)
                wanted += x(row, k) * w(k, column);
            ASSERT_EQ(results[i], wanted) << "row " << row << ", column " << column;
        }
}

TEST_F(TensorMaps, whatTheDriverRefusesIsAnErrorOfTheLaunch) {
    auto tactic = this->tactic("tma_64x128");
    ASSERT_NE(tactic, nullptr);
    auto out = m_device->allocate(rows * columns * 2);
    auto in = m_device->allocate(rows * inner * 2);
    ASSERT_TRUE(out && in);
    const DevicePointer inputs[] = {in->address() + 8, 0}, outputs[] = {out->address()};
    auto launched = tactic->enqueue(m_stream, {inputs, outputs, 0});
    ASSERT_FALSE(launched);
    EXPECT_EQ(launched.error().code, "device.call");
    EXPECT_NE(launched.error().message.find("make a tensor map"), std::string::npos);
    EXPECT_STREQ(fake().message(), "the tensor must lie at a multiple of 16 bytes");
}

} // namespace
