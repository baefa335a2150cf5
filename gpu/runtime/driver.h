// SPDX-License-Identifier: Apache-2.0
// libcuda through the few functions that are used, declared here: no toolkit header, nothing
// linked. Everything above speaks of Device, Stream and CapturedGraph (device.h) and never of these
// names; a code of the driver becomes an Error in one place, check().
#pragma once

#include "core/support/result.h"
#include "gpu/runtime/libraries.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace fuselage::gpu {

using DriverCode = int; ///< CUresult; 0: success

using ContextHandle = struct ContextOfDriver*;
using ModuleHandle = struct ModuleOfDriver*;
using FunctionHandle = struct FunctionOfDriver*;
using StreamHandle = struct StreamOfDriver*;
using EventHandle = struct EventOfDriver*;
using GraphHandle = struct GraphOfDriver*;
using GraphNodeHandle = struct GraphNodeOfDriver*;
using GraphExecHandle = struct GraphExecOfDriver*;

constexpr DriverCode driverOutOfMemory = 2;
constexpr DriverCode driverNotReady = 600;

/// CUdevice_attribute.
enum class DeviceAttribute : int {
    ClockKilohertz = 13,
    Multiprocessors = 16,
    MemoryClockKilohertz = 36,
    MemoryBusBits = 37,
    L2Bytes = 38,
    ThreadsPerMultiprocessor = 39,
    ComputeMajor = 75,
    ComputeMinor = 76,
    SharedBytesPerMultiprocessor = 81,
    RegistersPerMultiprocessor = 82,
    SharedBytesPerBlockOptIn = 97,
};

/// CUfunction_attribute.
enum class FunctionAttribute : int {
    StaticSharedBytes = 1,
    LocalBytes = 3,
    Registers = 4,
    MaxDynamicSharedBytes = 8,
};

constexpr unsigned streamNonBlocking = 1;
constexpr int captureRelaxed = 2;
constexpr int graphNodeKernel = 0;

/// CUtensorMap: passed to kernels by value.
struct alignas(128) TensorMapValue {
    uint64_t words[16];
};

/// CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion: those that are used.
constexpr int tensorMapFloat16 = 6, tensorMapBFloat16 = 9;
constexpr int tensorMapSwizzle128 = 3, tensorMapFetch256 = 3;

/// Members have the names of the driver without `cu` and its version suffix.
struct DriverFunctions {
    DriverCode (*init)(unsigned);
    DriverCode (*driverGetVersion)(int*);
    DriverCode (*getErrorName)(DriverCode, const char**);
    DriverCode (*getErrorString)(DriverCode, const char**);
    DriverCode (*deviceGetCount)(int*);
    DriverCode (*deviceGet)(int*, int);
    DriverCode (*deviceGetName)(char*, int, int);
    DriverCode (*deviceGetAttribute)(int*, int, int);
    DriverCode (*deviceTotalMem)(size_t*, int);
    DriverCode (*deviceGetPciBusId)(char*, int, int);
    DriverCode (*primaryContextRetain)(ContextHandle*, int);
    DriverCode (*primaryContextRelease)(int);
    DriverCode (*contextSetCurrent)(ContextHandle);
    DriverCode (*contextSynchronize)();
    DriverCode (*memGetInfo)(size_t*, size_t*);
    DriverCode (*memAlloc)(uint64_t*, size_t);
    DriverCode (*memFree)(uint64_t);
    DriverCode (*memAllocHost)(void**, size_t);
    DriverCode (*memFreeHost)(void*);
    DriverCode (*copyToDevice)(uint64_t, const void*, size_t, StreamHandle);
    DriverCode (*copyToHost)(void*, uint64_t, size_t, StreamHandle);
    DriverCode (*copyOnDevice)(uint64_t, uint64_t, size_t, StreamHandle);
    DriverCode (*fillBytes)(uint64_t, unsigned char, size_t, StreamHandle);
    DriverCode (*moduleLoadData)(ModuleHandle*, const void*);
    DriverCode (*moduleUnload)(ModuleHandle);
    DriverCode (*moduleGetFunction)(FunctionHandle*, ModuleHandle, const char*);
    DriverCode (*functionGetAttribute)(int*, int, FunctionHandle);
    DriverCode (*functionSetAttribute)(FunctionHandle, int, int);
    DriverCode (*launchKernel)(FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, unsigned, StreamHandle, void**, void**);
    DriverCode (*streamCreate)(StreamHandle*, unsigned);
    DriverCode (*streamDestroy)(StreamHandle);
    DriverCode (*streamSynchronize)(StreamHandle);
    DriverCode (*streamWaitEvent)(StreamHandle, EventHandle, unsigned);
    DriverCode (*streamBeginCapture)(StreamHandle, int);
    DriverCode (*streamEndCapture)(StreamHandle, GraphHandle*);
    DriverCode (*streamGetCaptureInfo)(StreamHandle, int*, uint64_t*, GraphHandle*,
                                       const GraphNodeHandle**, size_t*);
    DriverCode (*graphGetNodes)(GraphHandle, GraphNodeHandle*, size_t*);
    DriverCode (*graphNodeGetType)(GraphNodeHandle, int*);
    DriverCode (*graphInstantiate)(GraphExecHandle*, GraphHandle, unsigned long long);
    DriverCode (*graphLaunch)(GraphExecHandle, StreamHandle);
    DriverCode (*graphDestroy)(GraphHandle);
    DriverCode (*graphExecDestroy)(GraphExecHandle);
    DriverCode (*eventCreate)(EventHandle*, unsigned);
    DriverCode (*eventDestroy)(EventHandle);
    DriverCode (*eventRecord)(EventHandle, StreamHandle);
    DriverCode (*eventQuery)(EventHandle);
    DriverCode (*eventSynchronize)(EventHandle);
    DriverCode (*eventElapsedTime)(float*, EventHandle, EventHandle);
    /// Null where the driver has none: then no kernel with tensor maps runs.
    DriverCode (*tensorMapEncodeTiled)(TensorMapValue*, int, uint32_t, void*, const uint64_t*,
                                       const uint64_t*, const uint32_t*, const uint32_t*, int, int,
                                       int, int);
};

/// The opened driver, initialised.
class Driver {
public:
    /// Errors: "library-missing" (no libcuda, or one that lacks a function), "device.driver" (it
    /// does not start; the driver's words are in the message).
    static Result<std::shared_ptr<const Driver>> open();

    const DriverFunctions& call() const { return m_functions; }

    /// "13.0"
    std::string version() const;

    /// Success, or an Error "device.memory" (out of memory), "device.lost" (a kernel's fault: the
    /// context cannot be used any more) or "device.call" with the driver's words; `what` says what
    /// was tried: "load the kernel `x`".
    Result<void> check(DriverCode code, const std::string& what) const;

private:
    Driver(std::shared_ptr<SharedLibrary> library, const DriverFunctions& functions)
        : m_library(std::move(library)), m_functions(functions) {}

    std::shared_ptr<SharedLibrary> m_library;
    DriverFunctions m_functions;
};

} // namespace fuselage::gpu
