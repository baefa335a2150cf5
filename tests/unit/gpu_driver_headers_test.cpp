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
#define SAME(scope, name)                                                                          \
    static_assert(static_cast<int>(scope::name) == static_cast<int>(::name), #name)
#define VALUE(number, name) static_assert((number) == static_cast<int>(::name), #name)

ALIKE(cuInit, cuInit);
ALIKE(cuDriverGetVersion, cuDriverGetVersion);
ALIKE(cuGetErrorName, cuGetErrorName);
ALIKE(cuGetErrorString, cuGetErrorString);
ALIKE(cuDeviceGetCount, cuDeviceGetCount);
ALIKE(cuDeviceGet, cuDeviceGet);
ALIKE(cuDeviceGetName, cuDeviceGetName);
ALIKE(cuDeviceGetAttribute, cuDeviceGetAttribute);
ALIKE(cuDeviceTotalMem_v2, cuDeviceTotalMem);
ALIKE(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId);
ALIKE(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain);
ALIKE(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease);
ALIKE(cuCtxSetCurrent, cuCtxSetCurrent);
ALIKE(cuMemGetInfo_v2, cuMemGetInfo);
ALIKE(cuMemAlloc_v2, cuMemAlloc);
ALIKE(cuMemFree_v2, cuMemFree);
ALIKE(cuMemAllocHost_v2, cuMemAllocHost);
ALIKE(cuMemFreeHost, cuMemFreeHost);
ALIKE(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync);
ALIKE(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync);
ALIKE(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync);
ALIKE(cuMemsetD8Async, cuMemsetD8Async);
ALIKE(cuModuleLoadData, cuModuleLoadData);
ALIKE(cuModuleUnload, cuModuleUnload);
ALIKE(cuModuleGetFunction, cuModuleGetFunction);
ALIKE(cuFuncGetAttribute, cuFuncGetAttribute);
ALIKE(cuFuncSetAttribute, cuFuncSetAttribute);
ALIKE(cuLaunchKernel, cuLaunchKernel);
ALIKE(cuStreamCreate, cuStreamCreate);
ALIKE(cuStreamDestroy_v2, cuStreamDestroy);
ALIKE(cuStreamSynchronize, cuStreamSynchronize);
ALIKE(cuStreamWaitEvent, cuStreamWaitEvent);
ALIKE(cuStreamBeginCapture_v2, cuStreamBeginCapture);
ALIKE(cuStreamEndCapture, cuStreamEndCapture);
ALIKE(cuGraphGetNodes, cuGraphGetNodes);
ALIKE(cuGraphNodeGetType, cuGraphNodeGetType);
ALIKE(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags);
ALIKE(cuGraphLaunch, cuGraphLaunch);
ALIKE(cuGraphDestroy, cuGraphDestroy);
ALIKE(cuGraphExecDestroy, cuGraphExecDestroy);
ALIKE(cuEventCreate, cuEventCreate);
ALIKE(cuEventDestroy_v2, cuEventDestroy);
ALIKE(cuEventRecord, cuEventRecord);
ALIKE(cuEventSynchronize, cuEventSynchronize);
#undef cuEventElapsedTime // the header gives the second version, which differs in its clock only
ALIKE(cuEventElapsedTime, cuEventElapsedTime_v2);
ALIKE(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled);
ALIKE(cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2col);
static_assert(sizeof(TensorMapValue) == sizeof(CUtensorMap) &&
              alignof(TensorMapValue) == alignof(CUtensorMap));
ALIKE(cuLaunchKernelEx, cuLaunchKernelEx);
SAME(fuselage::gpu, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(fuselage::gpu, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(LaunchAttribute, id) == offsetof(CUlaunchAttribute, id) &&
              offsetof(LaunchAttribute, value) ==
                  offsetof(CUlaunchAttribute, value.programmaticStreamSerializationAllowed));
static_assert(sizeof(CUlaunchAttribute::value.clusterDim) ==
                  3 * sizeof(LaunchAttribute::value[0]) &&
              offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value.clusterDim));
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig) &&
              offsetof(LaunchConfig, grid) == offsetof(CUlaunchConfig, gridDimX) &&
              offsetof(LaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX) &&
              offsetof(LaunchConfig, sharedBytes) == offsetof(CUlaunchConfig, sharedMemBytes) &&
              offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs) &&
              offsetof(LaunchConfig, attributeCount) == offsetof(CUlaunchConfig, numAttrs));
SAME(fuselage::gpu, CU_TENSOR_MAP_DATA_TYPE_UINT8);
SAME(fuselage::gpu, CU_TENSOR_MAP_DATA_TYPE_UINT32);
SAME(fuselage::gpu, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
SAME(fuselage::gpu, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
SAME(fuselage::gpu, CU_TENSOR_MAP_SWIZZLE_NONE);
SAME(fuselage::gpu, CU_TENSOR_MAP_SWIZZLE_128B);
SAME(fuselage::gpu, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);

SAME(DeviceAttribute, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(DeviceAttribute, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(DeviceAttribute, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(DeviceAttribute, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(DeviceAttribute, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(DeviceAttribute, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(DeviceAttribute, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(DeviceAttribute, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(DeviceAttribute, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(DeviceAttribute, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME(DeviceAttribute, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(FunctionAttribute, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(FunctionAttribute, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(FunctionAttribute, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(FunctionAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(fuselage::gpu, CUDA_ERROR_OUT_OF_MEMORY);
SAME(fuselage::gpu, CUDA_ERROR_NOT_READY);
SAME(fuselage::gpu, CU_STREAM_NON_BLOCKING);
SAME(fuselage::gpu, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(fuselage::gpu, CU_GRAPH_NODE_TYPE_KERNEL);

// The part of a kernel's record that gpu/runtime/cupti.cpp reads.
VALUE(10, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(offsetof(CUpti_ActivityKernel9, kind) == 0);
static_assert(offsetof(CUpti_ActivityKernel9, start) == 16);
static_assert(offsetof(CUpti_ActivityKernel9, end) == 24);
static_assert(offsetof(CUpti_ActivityKernel9, name) == 104);
static_assert(offsetof(CUpti_ActivityKernel9, graphNodeId) == 144);

// What its callback about copied nodes reads.
VALUE(3, CUPTI_CB_DOMAIN_RESOURCE);
VALUE(20, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
static_assert(offsetof(CUpti_ResourceData, resourceDescriptor) == 16);
static_assert(offsetof(CUpti_GraphData, node) == 16);
static_assert(offsetof(CUpti_GraphData, originalNode) == 24);

TEST(DriverHeaders, wereComparedByTheCompiler) {
    // The driver gives the graph by the second version of this call, which headers no longer show.
    SUCCEED();
}

} // namespace
