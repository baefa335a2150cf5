// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/driver.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

constexpr int oldestVersion = 12000;

/// Faults of a kernel after which every call of the context fails: addresses, asserts, the
/// hardware.
bool losesContext(DriverCode code) {
    return code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719);
}

/// Empty, or the name of the first function that the library lacks.
std::string load(const SharedLibrary& from, DriverFunctions& out) {
    SymbolReader find(from);
    find(out.cuInit, "cuInit");
    find(out.cuDriverGetVersion, "cuDriverGetVersion");
    find(out.cuGetErrorName, "cuGetErrorName");
    find(out.cuGetErrorString, "cuGetErrorString");
    find(out.cuDeviceGetCount, "cuDeviceGetCount");
    find(out.cuDeviceGet, "cuDeviceGet");
    find(out.cuDeviceGetName, "cuDeviceGetName");
    find(out.cuDeviceGetAttribute, "cuDeviceGetAttribute");
    find(out.cuDeviceTotalMem_v2, "cuDeviceTotalMem_v2");
    find(out.cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId");
    find(out.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    find(out.cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease_v2");
    find(out.cuCtxSetCurrent, "cuCtxSetCurrent");
    find(out.cuCtxSynchronize, "cuCtxSynchronize");
    find(out.cuMemGetInfo_v2, "cuMemGetInfo_v2");
    find(out.cuMemAlloc_v2, "cuMemAlloc_v2");
    find(out.cuMemFree_v2, "cuMemFree_v2");
    find(out.cuMemAllocHost_v2, "cuMemAllocHost_v2");
    find(out.cuMemFreeHost, "cuMemFreeHost");
    find(out.cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync_v2");
    find(out.cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync_v2");
    find(out.cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync_v2");
    find(out.cuMemsetD8Async, "cuMemsetD8Async");
    find(out.cuModuleLoadData, "cuModuleLoadData");
    find(out.cuModuleUnload, "cuModuleUnload");
    find(out.cuModuleGetFunction, "cuModuleGetFunction");
    find(out.cuFuncGetAttribute, "cuFuncGetAttribute");
    find(out.cuFuncSetAttribute, "cuFuncSetAttribute");
    find(out.cuLaunchKernel, "cuLaunchKernel");
    find(out.cuStreamCreate, "cuStreamCreate");
    find(out.cuStreamDestroy_v2, "cuStreamDestroy_v2");
    find(out.cuStreamSynchronize, "cuStreamSynchronize");
    find(out.cuStreamWaitEvent, "cuStreamWaitEvent");
    find(out.cuStreamBeginCapture_v2, "cuStreamBeginCapture_v2");
    find(out.cuStreamEndCapture, "cuStreamEndCapture");
    find(out.cuStreamGetCaptureInfo_v2, "cuStreamGetCaptureInfo_v2");
    find(out.cuGraphGetNodes, "cuGraphGetNodes");
    find(out.cuGraphNodeGetType, "cuGraphNodeGetType");
    find(out.cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
    find(out.cuGraphLaunch, "cuGraphLaunch");
    find(out.cuGraphDestroy, "cuGraphDestroy");
    find(out.cuGraphExecDestroy, "cuGraphExecDestroy");
    find(out.cuEventCreate, "cuEventCreate");
    find(out.cuEventDestroy_v2, "cuEventDestroy_v2");
    find(out.cuEventRecord, "cuEventRecord");
    find(out.cuEventQuery, "cuEventQuery");
    find(out.cuEventSynchronize, "cuEventSynchronize");
    find(out.cuEventElapsedTime, "cuEventElapsedTime");
    out.cuLaunchKernelEx = from.symbol<decltype(out.cuLaunchKernelEx)>("cuLaunchKernelEx");
    out.cuTensorMapEncodeTiled =
        from.symbol<decltype(out.cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    out.cuTensorMapEncodeIm2col =
        from.symbol<decltype(out.cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
    return find.absent();
}

} // namespace

Result<std::shared_ptr<const Driver>> Driver::open() {
    auto library = SharedLibrary::open(fileNamesOf("libcuda"));
    if (!library)
        return failure("device.driver", library.error().message, {},
                       "install NVIDIA's driver, or run with --backend cpu");
    DriverFunctions functions{};
    if (const std::string missing = load(**library, functions); !missing.empty())
        return failure("device.driver",
                       fmt::format("`{}` has no function `{}`", (*library)->path(), missing), {},
                       "install a driver for CUDA 12 or newer");
    std::shared_ptr<const Driver> out(new Driver(std::move(*library), functions));
    if (const DriverCode code = functions.cuInit(0); code != 0) {
        const std::string words = out->check(code, "start").error().message;
        return failure("device.driver", "the CUDA driver does not start: " + words, {},
                       "check with nvidia-smi, or run with --backend cpu");
    }
    int version = 0;
    if (auto asked = out->check(functions.cuDriverGetVersion(&version), "ask for the version");
        !asked)
        return failure(asked.error());
    if (version < oldestVersion)
        return failure(
            "device.driver",
            fmt::format("the driver is for CUDA {}, 12.0 is the oldest that works", out->version()),
            {}, "install a newer driver");
    return out;
}

std::string Driver::version() const {
    int version = 0;
    if (m_functions.cuDriverGetVersion(&version) != 0)
        return {};
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Result<void> Driver::check(DriverCode code, const std::string& what) const {
    if (code == 0)
        return {};
    const char *name = nullptr, *words = nullptr;
    const bool known = m_functions.cuGetErrorName(code, &name) == 0 && name != nullptr &&
                       m_functions.cuGetErrorString(code, &words) == 0 && words != nullptr;
    const std::string text = known ? fmt::format("{} ({})", words, name) : fmt::format("{}", code);
    if (code == CUDA_ERROR_OUT_OF_MEMORY)
        return failure("device.memory", fmt::format("cannot {}: {}", what, text), {},
                       "give smaller dimensions, e.g. --dim N=1");
    if (losesContext(code))
        return failure("device.lost", fmt::format("cannot {}: {}", what, text), {},
                       "run again under compute-sanitizer, which names the kernel");
    return failure("device.call", fmt::format("cannot {}: {}", what, text));
}

} // namespace fuselage::gpu
