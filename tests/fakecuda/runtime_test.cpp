// SPDX-License-Identifier: Apache-2.0
// Driver, device, streams and capture against the stand-in driver; and the stand-in itself: what it
// must refuse.
#include "gpu/runtime/clocks.h"
#include "tests/fakecuda/runtime_fixture.h"

#include <cstring>
#include <thread>

namespace {

using namespace fuselage;
using namespace fuselage::gpu;

TEST_F(Runtime, launchesACompiledKernel) {
    const LoadedKernel add = kernel("add_one", addOne);
    EXPECT_EQ(add.registers, 32U);
    const DeviceMemory in = upload({1, 2, 3}), out = upload({0, 0, 0});
    ASSERT_TRUE(launch(add, {in.address(), out.address()}, 3));
    EXPECT_EQ(download(out), (std::vector<float>{2, 3, 4}));
}

TEST_F(Runtime, runsNothingBeforeSomeoneWaits) {
    const LoadedKernel add = kernel("add_one", addOne);
    const DeviceMemory in = upload({1}), out = upload({7});
    ASSERT_TRUE(launch(add, {in.address(), out.address()}, 1));
    auto pinned = m_device->allocatePinned(4);
    ASSERT_TRUE(pinned);
    auto* seen = reinterpret_cast<float*>(pinned->data());
    *seen = 0;
    ASSERT_TRUE(m_stream.copyOut(seen, out.address(), 4));
    EXPECT_EQ(*seen, 0);
    ASSERT_TRUE(m_stream.synchronize());
    EXPECT_EQ(*seen, 2);
}

TEST_F(Runtime, replaysACapturedGraphWithNewData) {
    const uint64_t before = fake().now().graphLaunches;
    const LoadedKernel add = kernel("add_one", addOne);
    const DeviceMemory in = upload({1, 2}), middle = upload({0, 0}), out = upload({0, 0});
    auto capture = StreamCapture::begin(m_stream);
    ASSERT_TRUE(capture);
    ASSERT_TRUE(launch(add, {in.address(), middle.address()}, 2));
    ASSERT_TRUE(capture->mark());
    ASSERT_TRUE(m_stream.fill(out.address(), 0, 8));
    ASSERT_TRUE(launch(add, {middle.address(), out.address()}, 2));
    ASSERT_TRUE(launch(add, {out.address(), middle.address()}, 2));
    ASSERT_TRUE(capture->mark());
    auto graph = capture->finish();
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_EQ(graph->kernelsOfMarks().size(), 2U);
    EXPECT_EQ(graph->kernelsOfMarks()[0].size(), 1U);
    EXPECT_EQ(graph->kernelsOfMarks()[1].size(), 2U);
    EXPECT_EQ(fake().now().graphLaunches, before);
    const std::vector<float> other = {5, 6};
    ASSERT_TRUE(m_device->upload(in.address(), other.data(), 8));
    ASSERT_TRUE(m_device->finishUploads());
    ASSERT_TRUE(graph->launch(m_stream));
    EXPECT_EQ(download(out), (std::vector<float>{7, 8}));
    EXPECT_EQ(download(middle), (std::vector<float>{8, 9}));
}

/// Libraries load their kernels and allocate in their first call, which may be a recorded one.
TEST_F(Runtime, allocationIsLegalInACapture) {
    auto capture = StreamCapture::begin(m_stream);
    ASSERT_TRUE(capture);
    EXPECT_TRUE(m_device->allocate(4));
    EXPECT_TRUE(capture->finish());
}

TEST_F(Runtime, aStricterCaptureForbidsAllocationInItsThread) {
    const ContextPtr& context = m_device->context();
    const DriverFunctions& call = context->call();
    constexpr int threadLocal = 1;
    ASSERT_EQ(call.cuStreamBeginCapture_v2(m_stream.handle(), threadLocal), 0);
    std::thread([&] { EXPECT_TRUE(context->makeCurrent() && m_device->allocate(4)); }).join();
    EXPECT_FALSE(m_device->allocate(4));
    GraphHandle graph = nullptr;
    EXPECT_NE(call.cuStreamEndCapture(m_stream.handle(), &graph), 0);
    EXPECT_TRUE(m_device->allocate(4)) << "the stream is usable again";
}

TEST_F(Runtime, waitingEndsACapture) {
    auto capture = StreamCapture::begin(m_stream);
    ASSERT_TRUE(capture);
    EXPECT_FALSE(m_stream.synchronize());
    EXPECT_FALSE(capture->finish());
}

TEST_F(Runtime, anAbandonedCaptureLeavesTheStreamUsable) {
    {
        auto capture = StreamCapture::begin(m_stream);
        ASSERT_TRUE(capture);
    }
    EXPECT_TRUE(m_stream.synchronize());
}

TEST_F(Runtime, anAccessOutsideOfMemoryIsReported) {
    const LoadedKernel wild = kernel("wild", "    out0[5000] = in0[0];\n");
    const DeviceMemory in = upload({1}), out = upload({0});
    ASSERT_TRUE(launch(wild, {in.address(), out.address()}, 1));
    auto ended = m_stream.synchronize();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, "device.lost");
    EXPECT_NE(ended.error().message.find("illegal memory access"), std::string::npos);
    EXPECT_FALSE(m_stream.synchronize()) << "the context is lost";
    fake().reset();
}

TEST_F(Runtime, aWriteJustBehindMemoryIsReported) {
    const LoadedKernel wild = kernel("behind", "    out0[65] = in0[0];\n");
    const DeviceMemory in = upload({1}), out = upload(std::vector<float>(65));
    ASSERT_TRUE(launch(wild, {in.address(), out.address()}, 1));
    EXPECT_FALSE(m_stream.synchronize());
    fake().reset();
}

TEST_F(Runtime, freedMemoryIsNotUsedUnnoticed) {
    const LoadedKernel add = kernel("add_one", addOne);
    const DeviceMemory in = upload({1});
    DevicePointer stale = 0;
    {
        const DeviceMemory out = upload({0});
        stale = out.address();
    }
    ASSERT_TRUE(launch(add, {in.address(), stale}, 1));
    EXPECT_FALSE(m_stream.synchronize());
    fake().reset();
}

TEST_F(Runtime, divergentBarriersAreReported) {
    const LoadedKernel bad =
        kernel("diverges", "    if (threadIdx.x == 0)\n        __syncthreads();\n"
                           "    out0[threadIdx.x] = in0[threadIdx.x];\n");
    const DeviceMemory in = upload({1, 2}), out = upload({0, 0});
    ASSERT_TRUE(launch(bad, {in.address(), out.address()}, 2));
    EXPECT_FALSE(m_stream.synchronize());
    EXPECT_NE(std::string(fake().message()).find("barrier"), std::string::npos) << fake().message();
    fake().reset();
}

TEST_F(Runtime, newMemoryIsPoisoned) {
    auto memory = m_device->allocate(16);
    ASSERT_TRUE(memory);
    for (float value : download(*memory))
        EXPECT_NE(value, value) << "not NaN";
}

TEST_F(Runtime, muchSharedMemoryIsAskedForBeforeTheLaunch) {
    const std::string body = "    sharedMemory[60000] = 1;\n" + std::string(addOne);
    const DeviceMemory in = upload({1}), out = upload({0});
    const LoadedKernel unasked = kernel("uses_shared", body);
    EXPECT_FALSE(launch(unasked, {in.address(), out.address()}, 1, 61440));
    const LoadedKernel asked = kernel("uses_shared", body, 61440);
    EXPECT_TRUE(launch(asked, {in.address(), out.address()}, 1, 61440));
    EXPECT_TRUE(m_stream.synchronize());
}

TEST_F(Runtime, theSameCodeIsLoadedOnce) {
    (void)kernel("add_one", addOne);
    const uint64_t loads = fake().now().moduleLoads;
    (void)kernel("add_one", addOne);
    EXPECT_EQ(fake().now().moduleLoads, loads);
}

TEST_F(Runtime, outOfMemoryNamesTheBytes) {
    setenv("FAKECUDA_MEMORY_MIB", "1", 1);
    auto memory = m_device->allocate(int64_t{1} << 30);
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.error().code, "device.memory");
    EXPECT_NE(memory.error().message.find("1073741824 bytes"), std::string::npos);
}

TEST_F(Runtime, everythingIsGivenBack) {
    const FakeCudaCounts before = fake().now();
    {
        auto device = Device::open();
        ASSERT_TRUE(device);
        auto memory = (*device)->allocate(64);
        auto pinned = (*device)->allocatePinned(64);
        auto stream = (*device)->stream();
        ASSERT_TRUE(memory && pinned && stream);
        ASSERT_TRUE((*device)->upload(memory->address(), "abcd", 4));
        ASSERT_TRUE((*device)->finishUploads());
        EXPECT_GT(fake().now().allocations, before.allocations);
    }
    const FakeCudaCounts after = fake().now();
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_EQ(after.streams, before.streams);
    EXPECT_EQ(after.primaryContexts, before.primaryContexts);
}

class Opening : public FakeCudaTest {};

TEST_F(Opening, saysThatNoDeviceIsThere) {
    setenv("FAKECUDA_DEVICES", "0", 1);
    auto device = Device::open();
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code, "device.absent");
}

TEST_F(Opening, saysThatTheDriverIsTooOld) {
    setenv("FAKECUDA_VERSION", "11040", 1);
    auto device = Device::open();
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code, "device.driver");
    EXPECT_NE(device.error().message.find("11.4"), std::string::npos);
}

TEST_F(Opening, doesWithoutTheClocksOfAVirtualDevice) {
    setenv("FAKECUDA_NO_CLOCKS", "1", 1);
    auto device = Device::open();
    ASSERT_TRUE(device) << device.error().text();
    EXPECT_EQ((*device)->facts().clockKilohertz, 0);
    EXPECT_GT(profileOf((*device)->facts()).clock, 0) << "the profile has one";
}

TEST_F(Opening, takesNoLibraryOfANewerToolkitThanTheDriver) {
    EXPECT_EQ(fileNamesOf("libnvrtc").front(), "libnvrtc.so.13");
    setenv("FAKECUDA_VERSION", "12040", 1);
    EXPECT_EQ(fileNamesOf("libnvrtc"), std::vector<std::string>{"libnvrtc.so.12"});
    EXPECT_EQ(fileNamesOf("libcublasLt"), std::vector<std::string>{"libcublasLt.so.12"});
    EXPECT_EQ(fileNamesOf("libcudnn"), std::vector<std::string>{"libcudnn.so.9"});
    auto compiler = Nvrtc::open(); // the stand-in of 13 lies there
    ASSERT_FALSE(compiler);
    EXPECT_NE(compiler.error().message.find("libnvrtc.so.12"), std::string::npos);
}

TEST_F(Opening, saysThatTheDriverDoesNotStart) {
    fake().fail("cuInit", 100, 0);
    auto device = Device::open();
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code, "device.driver");
    EXPECT_NE(device.error().message.find("no CUDA-capable device"), std::string::npos);
}

TEST_F(Opening, saysThatThereIsNoDriver) {
    setenv("FUSELAGE_CUDA_LIBRARIES", "/nonexistent", 1);
    auto device = Device::open();
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code, "device.driver");
}

TEST_F(Opening, namesTheFunctionThatADriverLacks) {
    setenv("FUSELAGE_CUDA_LIBRARIES", FAKECUDA_FOLDER "/lacking", 1);
    auto device = Device::open();
    ASSERT_FALSE(device);
    EXPECT_NE(device.error().message.find("cuDriverGetVersion"), std::string::npos)
        << device.error().message;
}

TEST(Clock, aStepOfTheBoostClockIsNoChange) {
    ClockReading boost, idle;
    boost.megahertz = 1980;
    idle.megahertz = 345;
    ClockReading step = boost;
    step.megahertz = 1965;
    EXPECT_TRUE(boost.sameRate(step) && step.sameRate(boost));
    EXPECT_FALSE(boost.sameRate(idle) || idle.sameRate(boost));
    EXPECT_TRUE(ClockReading{}.sameRate(ClockReading{})) << "without NVML nothing is dropped";
}

TEST(Profile, takesTheQueriedFiguresOfTheSameDevice) {
    DeviceFacts facts;
    facts.name = "NVIDIA H200";
    facts.arch = "sm_90";
    facts.multiprocessors = 130;
    const DeviceProfile profile = profileOf(facts);
    EXPECT_EQ(profile.name, "h200");
    EXPECT_EQ(profile.units, 130);
    EXPECT_EQ(profile.sources.at("units"), "queried");
    EXPECT_EQ(profile.dramBandwidth, deviceProfile("h200")->dramBandwidth);
}

TEST(Profile, aNameWithItsMemoryIsTheSameDevice) {
    DeviceFacts facts;
    facts.arch = "sm_90";
    for (const char* name : {"NVIDIA H100 80GB HBM3", "NVIDIA H100"}) {
        facts.name = name;
        EXPECT_EQ(profileOf(facts).name, "h100") << name;
    }
    for (const char* name : {"NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA GH200 480GB"}) {
        facts.name = name;
        EXPECT_EQ(profileOf(facts).name, "this-gpu") << name;
    }
}

TEST(Profile, scalesTheNearestForAnUnknownDevice) {
    DeviceFacts facts;
    facts.name = "NVIDIA Something";
    facts.arch = "sm_89";
    facts.multiprocessors = 10;
    facts.clockKilohertz = 1000000;
    facts.memoryClockKilohertz = 1000000;
    facts.memoryBusBits = 256;
    const DeviceProfile profile = profileOf(facts);
    EXPECT_EQ(profile.title, "NVIDIA Something");
    EXPECT_NEAR(profile.dramBandwidth, 56.3e9, 1e9);
    EXPECT_LT(profile.fp32Flops, deviceProfile("l4")->fp32Flops);
}

TEST(Profile, aNameThatOnlyBeginsAlikeIsAnotherDevice) {
    DeviceFacts facts;
    facts.name = "NVIDIA L40S"; // no "NVIDIA L4"
    facts.arch = "sm_89";
    EXPECT_EQ(profileOf(facts).name, "this-gpu");
    facts.name = "NVIDIA L4";
    EXPECT_EQ(profileOf(facts).name, "l4");
    facts.name = "NVIDIA Something";
    facts.arch = "sm_103"; // nearest: sm_100
    EXPECT_EQ(profileOf(facts).sources.at("fp32_flops"), "derived: b200 scaled by units and clock");
}

} // namespace
