// SPDX-License-Identifier: Apache-2.0
// What gpu/runtime declares of the driver and of CUPTI is what NVIDIA's headers say: checked when
// this file is compiled, which is only where the headers are.
#include "gpu/runtime/driver.h"
#include "tests/unit/gpu_alike.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <utility>

using namespace fuselage::gpu;

namespace {

#define ALIKE(member, function)                                                                    \
    static_assert(Alike<decltype(DriverFunctions::member), decltype(&function)>::value, #function)
#define SAME(ours, theirs)                                                                         \
    static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs)

ALIKE(init, cuInit);
ALIKE(driverGetVersion, cuDriverGetVersion);
ALIKE(getErrorName, cuGetErrorName);
ALIKE(getErrorString, cuGetErrorString);
ALIKE(deviceGetCount, cuDeviceGetCount);
ALIKE(deviceGet, cuDeviceGet);
ALIKE(deviceGetName, cuDeviceGetName);
ALIKE(deviceGetAttribute, cuDeviceGetAttribute);
ALIKE(deviceTotalMem, cuDeviceTotalMem);
ALIKE(deviceGetPciBusId, cuDeviceGetPCIBusId);
ALIKE(primaryContextRetain, cuDevicePrimaryCtxRetain);
ALIKE(primaryContextRelease, cuDevicePrimaryCtxRelease);
ALIKE(contextSetCurrent, cuCtxSetCurrent);
ALIKE(memGetInfo, cuMemGetInfo);
ALIKE(memAlloc, cuMemAlloc);
ALIKE(memFree, cuMemFree);
ALIKE(memAllocHost, cuMemAllocHost);
ALIKE(memFreeHost, cuMemFreeHost);
ALIKE(copyToDevice, cuMemcpyHtoDAsync);
ALIKE(copyToHost, cuMemcpyDtoHAsync);
ALIKE(copyOnDevice, cuMemcpyDtoDAsync);
ALIKE(fillBytes, cuMemsetD8Async);
ALIKE(moduleLoadData, cuModuleLoadData);
ALIKE(moduleUnload, cuModuleUnload);
ALIKE(moduleGetFunction, cuModuleGetFunction);
ALIKE(functionGetAttribute, cuFuncGetAttribute);
ALIKE(functionSetAttribute, cuFuncSetAttribute);
ALIKE(launchKernel, cuLaunchKernel);
ALIKE(streamCreate, cuStreamCreate);
ALIKE(streamDestroy, cuStreamDestroy);
ALIKE(streamSynchronize, cuStreamSynchronize);
ALIKE(streamWaitEvent, cuStreamWaitEvent);
ALIKE(streamBeginCapture, cuStreamBeginCapture);
ALIKE(streamEndCapture, cuStreamEndCapture);
ALIKE(graphGetNodes, cuGraphGetNodes);
ALIKE(graphNodeGetType, cuGraphNodeGetType);
ALIKE(graphInstantiate, cuGraphInstantiateWithFlags);
ALIKE(graphLaunch, cuGraphLaunch);
ALIKE(graphDestroy, cuGraphDestroy);
ALIKE(graphExecDestroy, cuGraphExecDestroy);
ALIKE(eventCreate, cuEventCreate);
ALIKE(eventDestroy, cuEventDestroy);
ALIKE(eventRecord, cuEventRecord);
ALIKE(eventSynchronize, cuEventSynchronize);
ALIKE(eventElapsedTime, cuEventElapsedTime);
ALIKE(tensorMapEncodeTiled, cuTensorMapEncodeTiled);
static_assert(sizeof(TensorMapValue) == sizeof(CUtensorMap) &&
              alignof(TensorMapValue) == alignof(CUtensorMap));
SAME(tensorMapFloat16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
SAME(tensorMapBFloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
SAME(tensorMapSwizzle128, CU_TENSOR_MAP_SWIZZLE_128B);
SAME(tensorMapFetch256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);

SAME(DeviceAttribute::ClockKilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(DeviceAttribute::Multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(DeviceAttribute::MemoryClockKilohertz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(DeviceAttribute::MemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(DeviceAttribute::L2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(DeviceAttribute::ThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(DeviceAttribute::ComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(DeviceAttribute::ComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(DeviceAttribute::SharedBytesPerMultiprocessor,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(DeviceAttribute::RegistersPerMultiprocessor,
     CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME(DeviceAttribute::SharedBytesPerBlockOptIn,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(FunctionAttribute::StaticSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(FunctionAttribute::LocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(FunctionAttribute::Registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(FunctionAttribute::MaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(driverOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(streamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(captureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(graphNodeKernel, CU_GRAPH_NODE_TYPE_KERNEL);

// The part of a kernel's record that gpu/runtime/cupti.cpp reads.
SAME(10, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(offsetof(CUpti_ActivityKernel9, kind) == 0);
static_assert(offsetof(CUpti_ActivityKernel9, start) == 16);
static_assert(offsetof(CUpti_ActivityKernel9, end) == 24);
static_assert(offsetof(CUpti_ActivityKernel9, name) == 104);
static_assert(offsetof(CUpti_ActivityKernel9, graphNodeId) == 144);

// What its callback about copied nodes reads.
SAME(3, CUPTI_CB_DOMAIN_RESOURCE);
SAME(20, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
static_assert(offsetof(CUpti_ResourceData, resourceDescriptor) == 16);
static_assert(offsetof(CUpti_GraphData, node) == 16);
static_assert(offsetof(CUpti_GraphData, originalNode) == 24);

TEST(DriverHeaders, wereComparedByTheCompiler) {
    // The driver gives the graph by the second version of this call, which headers no longer show.
    SUCCEED();
}

} // namespace
