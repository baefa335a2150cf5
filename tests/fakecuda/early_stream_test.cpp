// SPDX-License-Identifier: Apache-2.0
// What a stream launches early, and what the stand-in driver sees of kernels that do not wait.
#include "gpu/backend/plan_graphs.h"
#include "tests/fakecuda/runtime_fixture.h"

#include <functional>

namespace {

using namespace fuselage;
using namespace fuselage::gpu;

class RuntimeEarly : public Runtime {
protected:
    static constexpr const char* waits = "    hostWaitForKernelsBefore();\n";

    Result<void> launchWaiting(const LoadedKernel& kernel, std::vector<DevicePointer> arguments) {
        KernelLaunch launch{kernel.function, "k", {1, 1, 1}, {2, 1, 1}, 0, arguments};
        launch.waits = true;
        return m_stream.launch(launch);
    }

    /// Adds one twice, from `in` to `out`; how the second kernel, launched early, ends.
    Result<void> runBehindAnother(const std::string& body, const DeviceMemory& in,
                                  const DeviceMemory& out) {
        const LoadedKernel first = kernel("first", waits + std::string(addOne));
        const LoadedKernel second = kernel("second", body);
        const DeviceMemory middle = upload({0, 0});
        m_stream.launchEarly(true);
        auto capture = StreamCapture::begin(m_stream);
        EXPECT_TRUE(launchWaiting(first, {in.address(), middle.address()}));
        EXPECT_TRUE(launchWaiting(second, {middle.address(), out.address()}));
        auto graph = capture->finish();
        EXPECT_TRUE(graph) << graph.error().text();
        EXPECT_EQ(m_stream.earlyLaunches(), 1U);
        EXPECT_TRUE(graph->launch(m_stream));
        return m_stream.synchronize();
    }
};

TEST_F(RuntimeEarly, aKernelThatWaitsMayStartBeforeTheOneInFrontHasEnded) {
    EXPECT_TRUE(canLaunchEarly(*m_device));
    const DeviceMemory in = upload({1, 2}), out = upload({0, 0});
    const uint64_t before = fake().now().earlyLaunches;
    ASSERT_TRUE(runBehindAnother(waits + std::string(addOne), in, out));
    EXPECT_EQ(download(out), (std::vector<float>{3, 4}));
    EXPECT_EQ(fake().now().earlyLaunches - before, 1U);
}

TEST_F(RuntimeEarly, aKernelThatDoesNotWaitIsSeen) {
    const DeviceMemory in = upload({1, 2}), out = upload({0, 0});
    EXPECT_FALSE(runBehindAnother("", in, out));
    EXPECT_NE(std::string(fake().message()).find("ends without having waited"), std::string::npos)
        << fake().message();
}

TEST_F(RuntimeEarly, aKernelThatReadsBeforeItWaitsIsSeen) {
    const DeviceMemory in = upload({1, 2}), out = upload({0, 0});
    EXPECT_FALSE(runBehindAnother("    const float x = in0[threadIdx.x];\n" + std::string(waits) +
                                      "    out0[threadIdx.x] = x + 1.0f;\n",
                                  in, out));
    EXPECT_NE(std::string(fake().message()).find("without having waited for them"),
              std::string::npos)
        << fake().message();
}

TEST_F(RuntimeEarly, onlyWhatStandsRightBehindAKernelIsLaunchedSo) {
    const LoadedKernel add = kernel("add_one", waits + std::string(addOne));
    const DeviceMemory in = upload({1, 2}), out = upload({0, 0});
    auto event = Event::create(m_device->context());
    ASSERT_TRUE(event);
    auto earlyAfter = [&](const std::function<Result<void>()>& work) {
        const uint64_t before = m_stream.earlyLaunches();
        auto capture = StreamCapture::begin(m_stream);
        EXPECT_TRUE(launchWaiting(add, {in.address(), out.address()}));
        EXPECT_TRUE(work());
        EXPECT_TRUE(launchWaiting(add, {in.address(), out.address()})) << fake().message();
        EXPECT_TRUE(capture->finish());
        return m_stream.earlyLaunches() - before;
    };
    const auto nothing = [] { return Result<void>(); };
    EXPECT_EQ(earlyAfter(nothing), 0U); // not asked for
    m_stream.launchEarly(true);
    EXPECT_EQ(earlyAfter(nothing), 1U);
    m_stream.launchEarly(true);
    EXPECT_EQ(earlyAfter([&] { return m_stream.fill(out.address(), 0, 8); }), 0U);
    m_stream.launchEarly(true);
    EXPECT_EQ(earlyAfter([&] { return m_stream.copyWithin(out.address(), in.address(), 8); }), 0U);
    m_stream.launchEarly(true);
    EXPECT_EQ(earlyAfter([&] { return m_stream.waitFor(*event); }), 0U);
    m_stream.launchEarly(true);
    EXPECT_EQ(earlyAfter([&] { return m_stream.addedByOthers(), Result<void>(); }), 0U);
    m_stream.launchEarly(true);
    EXPECT_EQ(earlyAfter([&] { // a text without the wait, and what stands behind it
                  return launch(add, {in.address(), out.address()}, 2);
              }),
              1U);
    m_stream.launchEarly(false);
    EXPECT_EQ(earlyAfter(nothing), 0U);
}

TEST_F(RuntimeEarly, aPlansGraphsWaitInFullForLibrariesAndTheHost) {
    const LoadedKernel add = kernel("add_one", waits + std::string(addOne));
    const DeviceMemory in = upload({1, 2}), out = upload({0, 0});
    using Place = PlanGraphs::Place;
    PlanGraphs::Steps steps;
    steps.places = {Place::Graph,  Place::Graph, Place::Graph, Place::Between,
                    Place::Before, Place::Graph, Place::Graph};
    steps.hasOwnKernels = [](size_t step) { return step != 1; };
    std::vector<size_t> added;
    steps.add = [&](size_t step) -> Result<void> {
        added.push_back(step);
        if (steps.hasOwnKernels(step))
            return launchWaiting(add, {in.address(), out.address()});
        DevicePointer addresses[] = {in.address(), out.address()};
        void* arguments[] = {&addresses[0], &addresses[1]};
        const DeviceContext& context = *m_device->context();
        return context.check(context.call().cuLaunchKernel(add.function, 1, 1, 1, 2, 1, 1, 0,
                                                           m_stream.handle(), arguments, nullptr),
                             "launch as a library does");
    };
    PlanGraphs graphs;
    ASSERT_TRUE(graphs.capture(m_stream, steps));
    ASSERT_EQ(graphs.segments().size(), 3U);
    EXPECT_EQ(graphs.segments()[0].end, 3U);
    EXPECT_FALSE(graphs.segments()[1].graph);
    EXPECT_EQ(graphs.segments()[2].begin, 5U);
    EXPECT_EQ(m_stream.earlyLaunches(), 0U);
    auto early = graphs.captureEarly(m_stream, steps);
    ASSERT_TRUE(early) << early.error().text();
    EXPECT_TRUE(*early);
    EXPECT_EQ(m_stream.earlyLaunches(), 1U); // the last step's alone
    EXPECT_EQ(added, (std::vector<size_t>{0, 1, 2, 5, 6, 0, 1, 2, 5, 6}));
    for (const bool which : {false, true}) {
        const uint64_t before = fake().now().earlyLaunches;
        for (const size_t segment : {0, 2})
            ASSERT_TRUE(PlanGraphs::launch(graphs.segments()[segment], m_stream, which));
        ASSERT_TRUE(m_stream.synchronize()) << fake().message();
        EXPECT_EQ(fake().now().earlyLaunches - before, which ? 1U : 0U);
    }
    graphs.dropEarly();
    EXPECT_FALSE(graphs.segments()[2].early);
}

} // namespace
