// SPDX-License-Identifier: Apache-2.0
// Work in order on one CUDA stream: launches, copies, events, and capture of a stretch of it as a
// graph that is launched as a whole. Makes no decision; the executable (gpu/backend/cuda_backend.h)
// says what runs.
#pragma once

#include "gpu/emit/tactic.h"
#include "gpu/runtime/driver.h"

#include <array>
#include <atomic>
#include <span>
#include <unordered_set>
#include <vector>

namespace fuselage::gpu {

/// The driver with the primary context of one device; every object of this folder holds one, so
/// the context outlives them all.
struct DeviceContext {
    std::shared_ptr<const Driver> driver;
    int ordinal = 0;
    ContextHandle handle = nullptr;

    DeviceContext() = default;
    DeviceContext(const DeviceContext&) = delete;
    DeviceContext& operator=(const DeviceContext&) = delete;
    ~DeviceContext();

    const DriverFunctions& call() const { return driver->call(); }

    Result<void> check(DriverCode code, const std::string& what) const {
        return driver->check(code, what);
    }

    /// Binds the context to the calling thread; each thread that calls the driver does so first.
    Result<void> makeCurrent() const;

    /// A kernel never ends: from now on nothing is given back, since the driver would wait for it.
    void abandon() const { m_abandoned = true; }

    bool abandoned() const { return m_abandoned; }

private:
    mutable std::atomic<bool> m_abandoned{false};
};

using ContextPtr = std::shared_ptr<const DeviceContext>;

/// Error "library-missing": the driver launches no clusters of blocks.
Result<void> requireClusters(const DeviceContext& context);

/// Owns one handle of the driver; the deleter is a member of DriverFunctions.
template <typename Handle, auto Destroy> class Owned {
public:
    Owned() = default;

    Owned(ContextPtr context, Handle handle) : m_context(std::move(context)), m_handle(handle) {}

    Owned(Owned&& other) noexcept
        : m_context(std::move(other.m_context)), m_handle(std::exchange(other.m_handle, Handle{})) {
    }

    Owned& operator=(Owned&& other) noexcept {
        std::swap(m_context, other.m_context);
        std::swap(m_handle, other.m_handle);
        return *this;
    }

    ~Owned() {
        if (m_context && m_handle != Handle{} && !m_context->abandoned() &&
            m_context->makeCurrent())
            (void)(m_context->call().*Destroy)(m_handle);
    }

    Handle handle() const { return m_handle; }

    const ContextPtr& context() const { return m_context; }

private:
    ContextPtr m_context;
    Handle m_handle{};
};

/// A point in a stream's work.
class Event : public Owned<EventHandle, &DriverFunctions::cuEventDestroy_v2> {
public:
    using Owned::Owned;
    static Result<Event> create(const ContextPtr& context);
    /// Waits until the stream has come to it.
    Result<void> synchronize() const;
    /// The same for so many seconds at most. Error "device.hung" after these: the work before it
    /// does not end, and nothing else will run on the device.
    Result<void> synchronize(double deadline) const;
    /// Seconds between two events that have been reached; the clock steps in about 0.5 us.
    static Result<double> secondsBetween(const Event& begin, const Event& end);
};

/// One launch of a kernel whose arguments are device addresses, then tensor maps by value.
struct KernelLaunch {
    FunctionHandle function = nullptr;
    const char* name = ""; ///< for messages
    std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
    uint32_t sharedBytes = 0;
    std::span<const DevicePointer> arguments;
    std::span<const TensorMapValue> maps = {};
    bool waits = false; ///< as its text and its machine code say (KernelText::waits, whyNotEarly)
    uint32_t clusterBlocks = 1; ///< along x, see KernelText; more want requireClusters()
};

class Stream : public Owned<StreamHandle, &DriverFunctions::cuStreamDestroy_v2> {
public:
    using Owned::Owned;
    static Result<Stream> create(const ContextPtr& context);

    Result<void> launch(const KernelLaunch& launch);

    /// From now on kernels that wait themselves are launched early (programmatic dependent launch):
    /// each may be started while the kernel before it runs, where that is the last thing that was
    /// added by launch(). Everything else is waited for in full, as ever. Where the driver cannot,
    /// nothing changes.
    void launchEarly(bool allowed) {
        m_early = allowed;
        m_behindKernel = false;
    }

    /// Somebody else added work to the stream: a library.
    void addedByOthers() { m_behindKernel = false; }

    /// How many kernels were launched early so far.
    uint64_t earlyLaunches() const { return m_earlyLaunches; }

    /// Asynchronous when the host's memory is pinned (HostMemory), which must then stay as it is
    /// until the stream has been synchronised.
    Result<void> copyIn(DevicePointer to, const void* from, size_t bytes);
    Result<void> copyOut(void* to, DevicePointer from, size_t bytes);
    Result<void> copyWithin(DevicePointer to, DevicePointer from, size_t bytes);
    Result<void> fill(DevicePointer at, unsigned char byte, size_t bytes);
    Result<void> record(const Event& event);
    Result<void> waitFor(const Event& event);
    /// Returns when all work is done, with the error of any of it.
    Result<void> synchronize();

private:
    bool m_early = false;
    bool m_behindKernel = false; ///< a kernel of launch() is what was added last
    uint64_t m_earlyLaunches = 0;
};

/// Work captured from a stream, ready to be launched again and again with the same addresses.
class CapturedGraph : public Owned<GraphExecHandle, &DriverFunctions::cuGraphExecDestroy> {
public:
    using Owned::Owned;
    Result<void> launch(Stream& stream) const;

    /// Kernel nodes of each stretch that StreamCapture::mark() ended, in order. They live as long
    /// as the graph; what is launched are copies of them.
    const std::vector<std::vector<GraphNodeHandle>>& kernelsOfMarks() const {
        return m_kernelsOfMarks;
    }

    /// Made ready once more: the same work from new copies of the nodes. Not copied again itself.
    Result<CapturedGraph> another() const;

private:
    friend class StreamCapture;
    Owned<GraphHandle, &DriverFunctions::cuGraphDestroy> m_source;
    std::vector<std::vector<GraphNodeHandle>> m_kernelsOfMarks;
};

/// While it lives, what is added to the stream is recorded instead of run. Synchronisation is an
/// error meanwhile, and ends the capture.
class StreamCapture {
public:
    static Result<StreamCapture> begin(Stream& stream);
    StreamCapture(StreamCapture&& other) noexcept
        : m_stream(std::exchange(other.m_stream, nullptr)), m_nodes(std::move(other.m_nodes)),
          m_kernelsOfMarks(std::move(other.m_kernelsOfMarks)) {}
    StreamCapture& operator=(StreamCapture&&) = delete;
    ~StreamCapture(); ///< drops what was captured unless finish() was called

    /// Ends a stretch: the kernel nodes added since the last mark are one entry.
    Result<void> mark();
    Result<CapturedGraph> finish();

private:
    explicit StreamCapture(Stream& stream) : m_stream(&stream) {}

    Stream* m_stream;
    std::unordered_set<GraphNodeHandle> m_nodes; ///< of all kinds, up to the last mark
    std::vector<std::vector<GraphNodeHandle>> m_kernelsOfMarks;
};

} // namespace fuselage::gpu
