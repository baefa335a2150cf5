// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/range_profiler_api.h"

#include "gpu/runtime/cupti.h"

#include <fmt/format.h>

namespace fuselage::gpu::profiler {

namespace {

/// What a refusal means to a person, by CUPTI's code.
struct Refusal {
    Code code;
    const char *name, *words, *fix;
};

const char* const otherTool = "end the other profiler, or run outside of it";

constexpr Refusal refusals[] = {
    {8, "OUT_OF_MEMORY", "there is no memory left for the counters",
     "run a smaller batch, or end what else uses the device"},
    {14, "NOT_COMPATIBLE", "another use of CUPTI in this process forbids it", otherTool},
    {26, "HARDWARE_BUSY", "another program reads counters of this device", otherTool},
    {27, "NOT_SUPPORTED", "this device or driver does not support it", "use a newer driver"},
    {33, "VIRTUALIZED_DEVICE_NOT_SUPPORTED", "virtual GPUs of this kind have no counters",
     "measure on a device of its own"},
    {35, "INSUFFICIENT_PRIVILEGES", "the driver lets administrators only read counters",
     "load the driver's module with NVreg_RestrictProfilingToAdminUsers=0, or run as root or with "
     "CAP_SYS_ADMIN"},
    {36, "OLD_PROFILER_API_INITIALIZED", "another profiler has the device's counters", otherTool},
    {38, "LEGACY_PROFILER_NOT_SUPPORTED", "this device has no counters that can be read",
     "use a device of compute capability 7.5 or newer"},
    {39, "MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "another profiler uses CUPTI", otherTool},
    {40, "VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
     "the host of this virtual GPU does not permit counters",
     "have profiling enabled for this virtual GPU by who runs the host"},
    {41, "CONFIDENTIAL_COMPUTING_NOT_SUPPORTED", "confidential computing hides the counters",
     "measure with confidential computing off"},
    {42, "CMP_DEVICE_NOT_SUPPORTED", "mining processors have no counters", "use another device"},
    {43, "MIG_DEVICE_NOT_SUPPORTED", "a part of a device (MIG) has no counters of its own",
     "measure on a whole device"},
    {44, "SLI_DEVICE_NOT_SUPPORTED", "devices joined by SLI have no counters", "disable SLI"},
    {45, "WSL_DEVICE_NOT_SUPPORTED", "this Windows or its driver gives WSL no counters",
     "enable access to performance counters in the NVIDIA control panel of Windows"},
    {46, "INVALID_CHIP_NAME", "this CUPTI does not know the device",
     "install a newer CUDA toolkit"},
};

/// Fills the table from the library; the first function that it lacks, or nothing.
std::string load(const SharedLibrary& library, Functions& to) {
    SymbolReader find(library);
    find(to.cuptiGetVersion, "cuptiGetVersion");
    find(to.cuptiGetResultString, "cuptiGetResultString");
    find(to.cuptiProfilerInitialize, "cuptiProfilerInitialize");
    find(to.cuptiProfilerDeviceSupported, "cuptiProfilerDeviceSupported");
    find(to.cuptiDeviceGetChipName, "cuptiDeviceGetChipName");
    find(to.cuptiProfilerHostInitialize, "cuptiProfilerHostInitialize");
    find(to.cuptiProfilerHostDeinitialize, "cuptiProfilerHostDeinitialize");
    find(to.cuptiProfilerHostGetMetricProperties, "cuptiProfilerHostGetMetricProperties");
    find(to.cuptiProfilerHostConfigAddMetrics, "cuptiProfilerHostConfigAddMetrics");
    find(to.cuptiProfilerHostGetConfigImageSize, "cuptiProfilerHostGetConfigImageSize");
    find(to.cuptiProfilerHostGetConfigImage, "cuptiProfilerHostGetConfigImage");
    find(to.cuptiProfilerHostGetNumOfPasses, "cuptiProfilerHostGetNumOfPasses");
    find(to.cuptiProfilerHostEvaluateToGpuValues, "cuptiProfilerHostEvaluateToGpuValues");
    find(to.cuptiRangeProfilerEnable, "cuptiRangeProfilerEnable");
    find(to.cuptiRangeProfilerDisable, "cuptiRangeProfilerDisable");
    find(to.cuptiRangeProfilerSetConfig, "cuptiRangeProfilerSetConfig");
    find(to.cuptiRangeProfilerStart, "cuptiRangeProfilerStart");
    find(to.cuptiRangeProfilerStop, "cuptiRangeProfilerStop");
    find(to.cuptiRangeProfilerPushRange, "cuptiRangeProfilerPushRange");
    find(to.cuptiRangeProfilerPopRange, "cuptiRangeProfilerPopRange");
    find(to.cuptiRangeProfilerDecodeData, "cuptiRangeProfilerDecodeData");
    find(to.cuptiRangeProfilerGetCounterDataSize, "cuptiRangeProfilerGetCounterDataSize");
    find(to.cuptiRangeProfilerCounterDataImageInitialize,
         "cuptiRangeProfilerCounterDataImageInitialize");
    find(to.cuptiRangeProfilerGetCounterDataInfo, "cuptiRangeProfilerGetCounterDataInfo");
    find(to.cuptiRangeProfilerCounterDataGetRangeInfo, "cuptiRangeProfilerCounterDataGetRangeInfo");
    return find.absent();
}

} // namespace

Result<std::shared_ptr<const Api>> Api::open() {
    auto library = openCuptiForGood();
    if (!library)
        return failure("run.counters", "no counters without CUPTI: " + library.error().message, {},
                       library.error().fix);
    auto out = std::make_shared<Api>();
    const std::string absent = load(**library, out->m_functions);
    if (!absent.empty())
        return failure(
            "run.counters",
            fmt::format("`{}` is too old for counters: it lacks `{}`", (*library)->path(), absent),
            {}, "install CUPTI of CUDA 13; 12.6 is the oldest that has it");
    return std::shared_ptr<const Api>(std::move(out));
}

std::string Api::version() const {
    uint32_t version = 0;
    return m_functions.cuptiGetVersion(&version) == 0 ? std::to_string(version) : "";
}

Result<void> Api::check(Code code, const char* what) const {
    if (code == 0)
        return {};
    for (const Refusal& refusal : refusals)
        if (refusal.code == code)
            return failure("run.counters",
                           fmt::format("CUPTI cannot {}: {} (CUPTI_ERROR_{})", what, refusal.words,
                                       refusal.name),
                           {}, refusal.fix);
    const char* words = nullptr;
    const bool known = m_functions.cuptiGetResultString(code, &words) == 0 && words != nullptr;
    return failure("run.counters", fmt::format("CUPTI cannot {}: {}", what,
                                               known ? words : std::to_string(code).c_str()));
}

} // namespace fuselage::gpu::profiler
