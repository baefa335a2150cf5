// SPDX-License-Identifier: Apache-2.0
// One CUDA device: what it is, its memory, code loaded on it, constants on their way to it. Errors
// are in the program's words with the driver's behind them ("device.*", exit code 5).
#pragma once

#include "core/cost/cost.h"
#include "gpu/runtime/stream.h"

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace fuselage::gpu {

/// What the driver says of a device.
struct DeviceFacts {
    std::string name; ///< "NVIDIA H200"
    std::string arch; ///< "sm_90"
    std::string pciBusId;
    std::string driverVersion;
    int64_t memoryBytes = 0;
    int64_t l2Bytes = 0;
    int multiprocessors = 0;
    int clockKilohertz = 0, memoryClockKilohertz = 0, memoryBusBits = 0;
    int threadsPerMultiprocessor = 0, registersPerMultiprocessor = 0;
    int sharedBytesPerMultiprocessor = 0, sharedBytesPerBlock = 0;
};

/// The built-in profile of that device, or of one like it, with the figures the driver knows put
/// in their place (source "queried").
DeviceProfile profileOf(const DeviceFacts& facts);

/// Memory on the device, freed with the object.
class DeviceMemory : public Owned<DevicePointer, &DriverFunctions::cuMemFree_v2> {
public:
    using Owned::Owned;

    DeviceMemory(ContextPtr context, DevicePointer address, int64_t bytes)
        : Owned(std::move(context), address), m_bytes(bytes) {}

    DevicePointer address() const { return handle(); }

    int64_t bytes() const { return m_bytes; }

private:
    int64_t m_bytes = 0;
};

/// Pinned memory of the host: copies from and to it are asynchronous.
class HostMemory : public Owned<void*, &DriverFunctions::cuMemFreeHost> {
public:
    using Owned::Owned;

    std::byte* data() const { return static_cast<std::byte*>(handle()); }
};

/// A kernel that is loaded, with what it uses.
struct LoadedKernel {
    FunctionHandle function = nullptr;
    uint32_t registers = 0, staticSharedBytes = 0, localBytes = 0;
};

/// One cubin on the device.
class Module : public Owned<ModuleHandle, &DriverFunctions::cuModuleUnload> {
public:
    using Owned::Owned;
    /// Allows the dynamic shared memory where that is more than a kernel gets unasked (48 KiB).
    Result<LoadedKernel> kernel(const std::string& name, uint32_t dynamicSharedBytes) const;
};

class Device {
public:
    /// Errors: those of Driver::open(), "device.absent" (no device of that number).
    static Result<std::shared_ptr<Device>> open(int ordinal = 0);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    const DeviceFacts& facts() const { return m_facts; }

    const ContextPtr& context() const { return m_context; }

    /// Before a thread's first call to the driver or to a library that uses it.
    Result<void> makeCurrent() const { return m_context->makeCurrent(); }

    Result<int64_t> freeBytes() const;

    /// Addresses are multiples of 256. Zero bytes give an address too.
    Result<DeviceMemory> allocate(int64_t bytes) const;
    Result<HostMemory> allocatePinned(int64_t bytes) const;

    Result<Stream> stream() const { return Stream::create(m_context); }

    /// Loads machine code; the same code is loaded once however often it is asked for.
    Result<std::shared_ptr<const Module>> load(const std::string& cubin);

    /// Copies constants to the device through pinned memory on a stream of its own; returns when
    /// `from` may be reused. What reads them starts after finishUploads().
    Result<void> upload(DevicePointer to, const void* from, size_t bytes);
    Result<void> finishUploads();

private:
    class Uploads;
    Device() = default;

    ContextPtr m_context;
    DeviceFacts m_facts;
    std::mutex m_mutex;
    std::map<std::string, std::weak_ptr<const Module>> m_modules; ///< by hash of the code
    std::unique_ptr<Uploads> m_uploads;
};

/// Whether kernels may be launched before those in front of them have ended: sm_90 and a driver
/// that has the function.
bool canLaunchEarly(const Device& device);

} // namespace fuselage::gpu
