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

constexpr DriverCode CUDA_ERROR_OUT_OF_MEMORY = 2;
constexpr DriverCode CUDA_ERROR_NOT_READY = 600;

/// CUdevice_attribute.
enum class DeviceAttribute : int {
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

/// CUfunction_attribute.
enum class FunctionAttribute : int {
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
    CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};

constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
constexpr int CU_STREAM_CAPTURE_MODE_RELAXED = 2;
constexpr int CU_GRAPH_NODE_TYPE_KERNEL = 0;

/// CUtensorMap: passed to kernels by value.
struct alignas(128) TensorMapValue {
    uint64_t words[16];
};

/// CUlaunchAttributeID: how many blocks along x, y and z make a cluster; the kernel may be started
/// before the kernel in front of it has ended.
constexpr int CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4;
constexpr int CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6;

/// CUlaunchAttribute.
struct LaunchAttribute {
    int id = 0, unused = 0;
    alignas(8) int value[16] = {}; ///< CUlaunchAttributeValue: 64 bytes
};

/// CUlaunchConfig.
struct LaunchConfig {
    unsigned grid[3], block[3];
    unsigned sharedBytes;
    StreamHandle stream;
    LaunchAttribute* attributes;
    unsigned attributeCount;
};

/// CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion: those that are used.
constexpr int CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0, CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2;
constexpr int CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9;
constexpr int CU_TENSOR_MAP_SWIZZLE_NONE = 0, CU_TENSOR_MAP_SWIZZLE_128B = 3;
constexpr int CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3;

/// libcuda's functions by the names of their symbols.
struct DriverFunctions {
    DriverCode (*cuInit)(unsigned);
    DriverCode (*cuDriverGetVersion)(int*);
    DriverCode (*cuGetErrorName)(DriverCode, const char**);
    DriverCode (*cuGetErrorString)(DriverCode, const char**);
    DriverCode (*cuDeviceGetCount)(int*);
    DriverCode (*cuDeviceGet)(int*, int);
    DriverCode (*cuDeviceGetName)(char*, int, int);
    DriverCode (*cuDeviceGetAttribute)(int*, int, int);
    DriverCode (*cuDeviceTotalMem_v2)(size_t*, int);
    DriverCode (*cuDeviceGetPCIBusId)(char*, int, int);
    DriverCode (*cuDevicePrimaryCtxRetain)(ContextHandle*, int);
    DriverCode (*cuDevicePrimaryCtxRelease_v2)(int);
    DriverCode (*cuCtxSetCurrent)(ContextHandle);
    DriverCode (*cuCtxSynchronize)();
    DriverCode (*cuMemGetInfo_v2)(size_t*, size_t*);
    DriverCode (*cuMemAlloc_v2)(uint64_t*, size_t);
    DriverCode (*cuMemFree_v2)(uint64_t);
    DriverCode (*cuMemAllocHost_v2)(void**, size_t);
    DriverCode (*cuMemFreeHost)(void*);
    DriverCode (*cuMemcpyHtoDAsync_v2)(uint64_t, const void*, size_t, StreamHandle);
    DriverCode (*cuMemcpyDtoHAsync_v2)(void*, uint64_t, size_t, StreamHandle);
    DriverCode (*cuMemcpyDtoDAsync_v2)(uint64_t, uint64_t, size_t, StreamHandle);
    DriverCode (*cuMemsetD8Async)(uint64_t, unsigned char, size_t, StreamHandle);
    DriverCode (*cuModuleLoadData)(ModuleHandle*, const void*);
    DriverCode (*cuModuleUnload)(ModuleHandle);
    DriverCode (*cuModuleGetFunction)(FunctionHandle*, ModuleHandle, const char*);
    DriverCode (*cuFuncGetAttribute)(int*, int, FunctionHandle);
    DriverCode (*cuFuncSetAttribute)(FunctionHandle, int, int);
    DriverCode (*cuLaunchKernel)(FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, StreamHandle, void**, void**);
    DriverCode (*cuStreamCreate)(StreamHandle*, unsigned);
    DriverCode (*cuStreamDestroy_v2)(StreamHandle);
    DriverCode (*cuStreamSynchronize)(StreamHandle);
    DriverCode (*cuStreamWaitEvent)(StreamHandle, EventHandle, unsigned);
    DriverCode (*cuStreamBeginCapture_v2)(StreamHandle, int);
    DriverCode (*cuStreamEndCapture)(StreamHandle, GraphHandle*);
    DriverCode (*cuStreamGetCaptureInfo_v2)(StreamHandle, int*, uint64_t*, GraphHandle*,
                                            const GraphNodeHandle**, size_t*);
    DriverCode (*cuGraphGetNodes)(GraphHandle, GraphNodeHandle*, size_t*);
    DriverCode (*cuGraphNodeGetType)(GraphNodeHandle, int*);
    DriverCode (*cuGraphInstantiateWithFlags)(GraphExecHandle*, GraphHandle, unsigned long long);
    DriverCode (*cuGraphLaunch)(GraphExecHandle, StreamHandle);
    DriverCode (*cuGraphDestroy)(GraphHandle);
    DriverCode (*cuGraphExecDestroy)(GraphExecHandle);
    DriverCode (*cuEventCreate)(EventHandle*, unsigned);
    DriverCode (*cuEventDestroy_v2)(EventHandle);
    DriverCode (*cuEventRecord)(EventHandle, StreamHandle);
    DriverCode (*cuEventQuery)(EventHandle);
    DriverCode (*cuEventSynchronize)(EventHandle);
    DriverCode (*cuEventElapsedTime)(float*, EventHandle, EventHandle);
    /// Null where the driver has none: then no kernel is launched early and none in clusters.
    DriverCode (*cuLaunchKernelEx)(const LaunchConfig*, FunctionHandle, void**, void**);
    /// Null where the driver has none: then no kernel with tensor maps runs.
    DriverCode (*cuTensorMapEncodeTiled)(TensorMapValue*, int, uint32_t, void*, const uint64_t*,
                                         const uint64_t*, const uint32_t*, const uint32_t*, int,
                                         int, int, int);
    /// Null where the driver has none: then no kernel with tensor maps of im2col mode runs.
    DriverCode (*cuTensorMapEncodeIm2col)(TensorMapValue*, int, uint32_t, void*, const uint64_t*,
                                          const uint64_t*, const int*, const int*, uint32_t,
                                          uint32_t, const uint32_t*, int, int, int, int);
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
