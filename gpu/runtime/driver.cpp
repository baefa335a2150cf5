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
    find(out.init, "cuInit");
    find(out.driverGetVersion, "cuDriverGetVersion");
    find(out.getErrorName, "cuGetErrorName");
    find(out.getErrorString, "cuGetErrorString");
    find(out.deviceGetCount, "cuDeviceGetCount");
    find(out.deviceGet, "cuDeviceGet");
    find(out.deviceGetName, "cuDeviceGetName");
    find(out.deviceGetAttribute, "cuDeviceGetAttribute");
    find(out.deviceTotalMem, "cuDeviceTotalMem_v2");
    find(out.deviceGetPciBusId, "cuDeviceGetPCIBusId");
    find(out.primaryContextRetain, "cuDevicePrimaryCtxRetain");
    find(out.primaryContextRelease, "cuDevicePrimaryCtxRelease_v2");
    find(out.contextSetCurrent, "cuCtxSetCurrent");
    find(out.contextSynchronize, "cuCtxSynchronize");
    find(out.memGetInfo, "cuMemGetInfo_v2");
    find(out.memAlloc, "cuMemAlloc_v2");
    find(out.memFree, "cuMemFree_v2");
    find(out.memAllocHost, "cuMemAllocHost_v2");
    find(out.memFreeHost, "cuMemFreeHost");
    find(out.copyToDevice, "cuMemcpyHtoDAsync_v2");
    find(out.copyToHost, "cuMemcpyDtoHAsync_v2");
    find(out.copyOnDevice, "cuMemcpyDtoDAsync_v2");
    find(out.fillBytes, "cuMemsetD8Async");
    find(out.moduleLoadData, "cuModuleLoadData");
    find(out.moduleUnload, "cuModuleUnload");
    find(out.moduleGetFunction, "cuModuleGetFunction");
    find(out.functionGetAttribute, "cuFuncGetAttribute");
    find(out.functionSetAttribute, "cuFuncSetAttribute");
    find(out.launchKernel, "cuLaunchKernel");
    find(out.streamCreate, "cuStreamCreate");
    find(out.streamDestroy, "cuStreamDestroy_v2");
    find(out.streamSynchronize, "cuStreamSynchronize");
    find(out.streamWaitEvent, "cuStreamWaitEvent");
    find(out.streamBeginCapture, "cuStreamBeginCapture_v2");
    find(out.streamEndCapture, "cuStreamEndCapture");
    find(out.streamGetCaptureInfo, "cuStreamGetCaptureInfo_v2");
    find(out.graphGetNodes, "cuGraphGetNodes");
    find(out.graphNodeGetType, "cuGraphNodeGetType");
    find(out.graphInstantiate, "cuGraphInstantiateWithFlags");
    find(out.graphLaunch, "cuGraphLaunch");
    find(out.graphDestroy, "cuGraphDestroy");
    find(out.graphExecDestroy, "cuGraphExecDestroy");
    find(out.eventCreate, "cuEventCreate");
    find(out.eventDestroy, "cuEventDestroy_v2");
    find(out.eventRecord, "cuEventRecord");
    find(out.eventQuery, "cuEventQuery");
    find(out.eventSynchronize, "cuEventSynchronize");
    find(out.eventElapsedTime, "cuEventElapsedTime");
    out.tensorMapEncodeTiled =
        from.symbol<decltype(out.tensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
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
    if (const DriverCode code = functions.init(0); code != 0) {
        const std::string words = out->check(code, "start").error().message;
        return failure("device.driver", "the CUDA driver does not start: " + words, {},
                       "check with nvidia-smi, or run with --backend cpu");
    }
    int version = 0;
    if (auto asked = out->check(functions.driverGetVersion(&version), "ask for the version");
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
    if (m_functions.driverGetVersion(&version) != 0)
        return {};
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Result<void> Driver::check(DriverCode code, const std::string& what) const {
    if (code == 0)
        return {};
    const char *name = nullptr, *words = nullptr;
    const bool known = m_functions.getErrorName(code, &name) == 0 && name != nullptr &&
                       m_functions.getErrorString(code, &words) == 0 && words != nullptr;
    const std::string text = known ? fmt::format("{} ({})", words, name) : fmt::format("{}", code);
    if (code == driverOutOfMemory)
        return failure("device.memory", fmt::format("cannot {}: {}", what, text), {},
                       "give smaller dimensions, e.g. --dim N=1");
    if (losesContext(code))
        return failure("device.lost", fmt::format("cannot {}: {}", what, text), {},
                       "run again under compute-sanitizer, which names the kernel");
    return failure("device.call", fmt::format("cannot {}: {}", what, text));
}

} // namespace fuselage::gpu
