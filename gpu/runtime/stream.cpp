// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/stream.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace fuselage::gpu {

DeviceContext::~DeviceContext() {
    if (handle != nullptr && !abandoned())
        (void)driver->call().cuDevicePrimaryCtxRelease_v2(ordinal);
}

Result<void> DeviceContext::makeCurrent() const {
    return check(call().cuCtxSetCurrent(handle), "use the device's context");
}

Result<Event> Event::create(const ContextPtr& context) {
    EventHandle handle = nullptr;
    if (auto made = context->check(context->call().cuEventCreate(&handle, 0), "make an event");
        !made)
        return failure(made.error());
    return Event(context, handle);
}

Result<void> Event::synchronize() const {
    return context()->check(context()->call().cuEventSynchronize(handle()), "wait for an event");
}

Result<void> Event::synchronize(double deadline) const {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    // The driver has no wait with a limit, so the event is asked: at first without a pause, as most
    // kernels are short, then with pauses that are short against what is waited for.
    for (uint32_t asked = 0;; ++asked) {
        const DriverCode code = context()->call().cuEventQuery(handle());
        if (code != CUDA_ERROR_NOT_READY)
            return context()->check(code, "finish the work on the device");
        const double waited = std::chrono::duration<double>(Clock::now() - begin).count();
        if (waited > deadline) {
            context()->abandon();
            return failure("device.hung",
                           fmt::format("a kernel does not end: it ran for {:.0f} s", waited));
        }
        if (asked > 100)
            std::this_thread::sleep_for(std::chrono::microseconds(waited < 0.01 ? 20 : 500));
    }
}

Result<double> Event::secondsBetween(const Event& begin, const Event& end) {
    float milliseconds = 0;
    const ContextPtr& context = begin.context();
    auto asked = context->check(
        context->call().cuEventElapsedTime(&milliseconds, begin.handle(), end.handle()),
        "read the time between events");
    if (!asked)
        return failure(asked.error());
    return static_cast<double>(milliseconds) * 1e-3;
}

Result<Stream> Stream::create(const ContextPtr& context) {
    StreamHandle handle = nullptr;
    auto made = context->check(context->call().cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING),
                               "make a stream");
    if (!made)
        return failure(made.error());
    return Stream(context, handle);
}

Result<void> requireClusters(const DeviceContext& context) {
    if (context.call().cuLaunchKernelEx != nullptr)
        return {};
    return failure("library-missing", "the CUDA driver has no `cuLaunchKernelEx`", {},
                   "install a driver for CUDA 12 or newer");
}

Result<void> Stream::launch(const KernelLaunch& launch) {
    std::vector<DevicePointer> values(launch.arguments.begin(), launch.arguments.end());
    std::vector<void*> pointers;
    for (DevicePointer& value : values)
        pointers.push_back(&value);
    std::vector<TensorMapValue> maps(launch.maps.begin(), launch.maps.end());
    for (TensorMapValue& map : maps)
        pointers.push_back(&map);
    const DriverFunctions& call = context()->call();
    const bool early =
        std::exchange(m_behindKernel, true) && m_early && launch.waits && call.cuLaunchKernelEx;
    const auto& [gx, gy, gz] = launch.grid;
    const auto& [bx, by, bz] = launch.block;
    std::vector<LaunchAttribute> attributes;
    if (early)
        attributes.push_back({CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 0, {1}});
    if (launch.clusterBlocks > 1)
        attributes.push_back({CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                              0,
                              {static_cast<int>(launch.clusterBlocks), 1, 1}});
    m_earlyLaunches += early ? 1 : 0;
    DriverCode code = 0;
    if (!attributes.empty()) {
        const LaunchConfig config{{gx, gy, gz},       {bx, by, bz},
                                  launch.sharedBytes, handle(),
                                  attributes.data(),  static_cast<unsigned>(attributes.size())};
        code = call.cuLaunchKernelEx(&config, launch.function, pointers.data(), nullptr);
    } else {
        code = call.cuLaunchKernel(launch.function, gx, gy, gz, bx, by, bz, launch.sharedBytes,
                                   handle(), pointers.data(), nullptr);
    }
    if (code == 0)
        return {};
    return context()->check(code, fmt::format("launch `{}`", launch.name));
}

Result<void> Stream::copyIn(DevicePointer to, const void* from, size_t bytes) {
    if (bytes == 0)
        return {};
    m_behindKernel = false;
    return context()->check(context()->call().cuMemcpyHtoDAsync_v2(to, from, bytes, handle()),
                            "copy to the device");
}

Result<void> Stream::copyOut(void* to, DevicePointer from, size_t bytes) {
    if (bytes == 0)
        return {};
    m_behindKernel = false;
    return context()->check(context()->call().cuMemcpyDtoHAsync_v2(to, from, bytes, handle()),
                            "copy from the device");
}

Result<void> Stream::copyWithin(DevicePointer to, DevicePointer from, size_t bytes) {
    if (bytes == 0)
        return {};
    m_behindKernel = false;
    return context()->check(context()->call().cuMemcpyDtoDAsync_v2(to, from, bytes, handle()),
                            "copy on the device");
}

Result<void> Stream::fill(DevicePointer at, unsigned char byte, size_t bytes) {
    if (bytes == 0)
        return {};
    m_behindKernel = false;
    return context()->check(context()->call().cuMemsetD8Async(at, byte, bytes, handle()),
                            "fill device memory");
}

Result<void> Stream::record(const Event& event) {
    m_behindKernel = false;
    return context()->check(context()->call().cuEventRecord(event.handle(), handle()),
                            "record an event");
}

Result<void> Stream::waitFor(const Event& event) {
    m_behindKernel = false;
    return context()->check(context()->call().cuStreamWaitEvent(handle(), event.handle(), 0),
                            "let a stream wait for an event");
}

Result<void> Stream::synchronize() {
    return context()->check(context()->call().cuStreamSynchronize(handle()),
                            "finish the work on the device");
}

Result<void> CapturedGraph::launch(Stream& stream) const {
    stream.addedByOthers();
    return context()->check(context()->call().cuGraphLaunch(handle(), stream.handle()),
                            "launch the captured graph");
}

namespace {

/// The nodes of the graph that is being captured, in no order.
Result<std::vector<GraphNodeHandle>> capturedNodes(const DeviceContext& context,
                                                   StreamHandle stream) {
    const DriverFunctions& call = context.call();
    int status = 0;
    uint64_t id = 0;
    GraphHandle graph = nullptr;
    size_t count = 0;
    // Not for the dependencies: where launches of a library overlap, their edges have data, and the
    // driver refuses to tell them without it.
    auto asked = context.check(
        call.cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, nullptr, nullptr),
        "ask for the captured graph");
    if (!asked)
        return failure(asked.error());
    if (status != 1 || graph == nullptr)
        return failure("device.capture", "the capture of the plan was interrupted");
    if (auto sized = context.check(call.cuGraphGetNodes(graph, nullptr, &count), "count nodes");
        !sized)
        return failure(sized.error());
    std::vector<GraphNodeHandle> nodes(count);
    if (count > 0)
        if (auto read =
                context.check(call.cuGraphGetNodes(graph, nodes.data(), &count), "list nodes");
            !read)
            return failure(read.error());
    return nodes;
}

Result<GraphExecHandle> makeReady(const DeviceContext& context, GraphHandle graph) {
    GraphExecHandle out = nullptr;
    if (auto made = context.check(context.call().cuGraphInstantiateWithFlags(&out, graph, 0),
                                  "make the captured graph ready");
        !made)
        return failure(made.error());
    return out;
}

} // namespace

Result<StreamCapture> StreamCapture::begin(Stream& stream) {
    const ContextPtr& context = stream.context();
    // Relaxed: a library that was never called before may load its kernels and allocate meanwhile.
    if (auto begun = context->check(context->call().cuStreamBeginCapture_v2(
                                        stream.handle(), CU_STREAM_CAPTURE_MODE_RELAXED),
                                    "start to capture");
        !begun)
        return failure(begun.error());
    return StreamCapture(stream);
}

StreamCapture::~StreamCapture() {
    if (m_stream == nullptr)
        return;
    const DriverFunctions& call = m_stream->context()->call();
    GraphHandle graph = nullptr;
    if (call.cuStreamEndCapture(m_stream->handle(), &graph) == 0 && graph != nullptr)
        (void)call.cuGraphDestroy(graph);
}

Result<void> StreamCapture::mark() {
    const DeviceContext& context = *m_stream->context();
    auto nodes = capturedNodes(context, m_stream->handle());
    if (!nodes)
        return failure(nodes.error());
    std::vector<GraphNodeHandle> kernels;
    for (GraphNodeHandle node : *nodes) {
        if (!m_nodes.insert(node).second)
            continue;
        int type = -1;
        if (auto typed = context.check(context.call().cuGraphNodeGetType(node, &type),
                                       "ask for a node's kind");
            !typed)
            return failure(typed.error());
        if (type == CU_GRAPH_NODE_TYPE_KERNEL)
            kernels.push_back(node);
    }
    m_kernelsOfMarks.push_back(std::move(kernels));
    return {};
}

Result<CapturedGraph> StreamCapture::finish() {
    Stream& stream = *std::exchange(m_stream, nullptr);
    const ContextPtr& context = stream.context();
    GraphHandle handle = nullptr;
    if (auto ended = context->check(context->call().cuStreamEndCapture(stream.handle(), &handle),
                                    "end the capture");
        !ended)
        return failure(ended.error());
    Owned<GraphHandle, &DriverFunctions::cuGraphDestroy> graph(context, handle);
    auto exec = makeReady(*context, handle);
    if (!exec)
        return failure(exec.error());
    CapturedGraph out(context, *exec);
    out.m_source = std::move(graph);
    out.m_kernelsOfMarks = std::move(m_kernelsOfMarks);
    return out;
}

Result<CapturedGraph> CapturedGraph::another() const {
    auto exec = makeReady(*context(), m_source.handle());
    if (!exec)
        return failure(exec.error());
    return CapturedGraph(context(), *exec);
}

} // namespace fuselage::gpu
