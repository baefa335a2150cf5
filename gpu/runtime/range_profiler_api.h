// SPDX-License-Identifier: Apache-2.0
// CUPTI's range profiler and its host interface, as far as they are used: parameters as structs
// and functions, declared here since no toolkit header is included. unit_gpu_headers holds them to
// NVIDIA's headers. What they are called for is in range_counters.h.
#pragma once

#include "core/support/result.h"
#include "gpu/runtime/driver.h"
#include "gpu/runtime/libraries.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace fuselage::gpu::profiler {

using Code = int; ///< CUptiResult; 0: success

using HostHandle = struct HostOfCupti*;   ///< CUpti_Profiler_Host_Object
using RangeHandle = struct RangeOfCupti*; ///< CUpti_RangeProfiler_Object

constexpr int CUPTI_PROFILER_TYPE_RANGE_PROFILER = 0; ///< CUPTI_PROFILER_TYPE_RANGE_PROFILER
constexpr int CUPTI_PROFILER_RANGE_PROFILING = 0;     ///< CUPTI_PROFILER_RANGE_PROFILING
constexpr int CUPTI_UserRange = 2;                    ///< CUPTI_UserRange
constexpr int CUPTI_UserReplay = 3;                   ///< CUPTI_UserReplay

/// CUpti_Profiler_Support_Level.
enum class Support : int {
    Unknown,
    CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED,
    CUPTI_PROFILER_CONFIGURATION_DISABLED,
    CUPTI_PROFILER_CONFIGURATION_SUPPORTED
};

// Every struct begins with its size up to its last member: CUPTI refuses any other.

struct Initialize {
    size_t size = 0;
    void* reserved = nullptr;

    static constexpr size_t exact() { return sizeof(Initialize); }
};

struct ChipName {
    size_t size = 0;
    void* reserved = nullptr;
    size_t device = 0;
    const char* name = nullptr; ///< out

    static constexpr size_t exact() { return sizeof(ChipName); }
};

struct DeviceSupported {
    size_t size = 0;
    void* reserved = nullptr;
    int device = 0;
    Support all{}, architecture{}, sli{}, vGpu{}, confidential{}, mining{}, wsl{}; ///< out
    int api = CUPTI_PROFILER_RANGE_PROFILING;

    static constexpr size_t exact() { return offsetof(DeviceSupported, api) + sizeof(api); }
};

struct HostInitialize {
    size_t size = 0;
    void* reserved = nullptr;
    int type = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    const char* chip = nullptr;
    const uint8_t* availability = nullptr;
    HostHandle host = nullptr; ///< out

    static constexpr size_t exact() { return sizeof(HostInitialize); }
};

struct HostDeinitialize {
    size_t size = 0;
    void* reserved = nullptr;
    HostHandle host = nullptr;

    static constexpr size_t exact() { return sizeof(HostDeinitialize); }
};

struct MetricProperties {
    size_t size = 0;
    void* reserved = nullptr;
    HostHandle host = nullptr;
    const char* metric = nullptr;
    const char *description = nullptr, *unit = nullptr, *dimension = nullptr; ///< out
    int type = 0;                                                             ///< out

    static constexpr size_t exact() { return offsetof(MetricProperties, type) + sizeof(type); }
};

struct AddMetrics {
    size_t size = 0;
    void* reserved = nullptr;
    HostHandle host = nullptr;
    const char** metrics = nullptr;
    size_t count = 0;

    static constexpr size_t exact() { return sizeof(AddMetrics); }
};

struct ConfigSize {
    size_t size = 0;
    void* reserved = nullptr;
    HostHandle host = nullptr;
    size_t bytes = 0; ///< out

    static constexpr size_t exact() { return sizeof(ConfigSize); }
};

struct ConfigImage {
    size_t size = 0;
    void* reserved = nullptr;
    HostHandle host = nullptr;
    size_t bytes = 0;
    uint8_t* image = nullptr; ///< filled

    static constexpr size_t exact() { return sizeof(ConfigImage); }
};

struct Passes {
    size_t size = 0;
    void* reserved = nullptr;
    size_t bytes = 0;
    uint8_t* config = nullptr;
    size_t passes = 0; ///< out

    static constexpr size_t exact() { return sizeof(Passes); }
};

struct Evaluate {
    size_t size = 0;
    void* reserved = nullptr;
    HostHandle host = nullptr;
    const uint8_t* counters = nullptr;
    size_t counterBytes = 0;
    size_t range = 0;
    const char** metrics = nullptr;
    size_t count = 0;
    double* values = nullptr; ///< filled

    static constexpr size_t exact() { return sizeof(Evaluate); }
};

struct Enable {
    size_t size = 0;
    void* reserved = nullptr;
    ContextHandle context = nullptr;
    RangeHandle profiler = nullptr; ///< out

    static constexpr size_t exact() { return sizeof(Enable); }
};

/// Parameters of Disable, Start and PopRange.
struct OfProfiler {
    size_t size = 0;
    void* reserved = nullptr;
    RangeHandle profiler = nullptr;

    static constexpr size_t exact() { return sizeof(OfProfiler); }
};

struct SetConfig {
    size_t size = 0;
    void* reserved = nullptr;
    RangeHandle profiler = nullptr;
    size_t configBytes = 0;
    const uint8_t* config = nullptr;
    size_t counterBytes = 0;
    uint8_t* counters = nullptr;
    int range = CUPTI_UserRange;
    int replay = CUPTI_UserReplay;
    size_t rangesPerPass = 0;
    uint16_t levels = 1, firstLevel = 1;
    size_t pass = 0;
    uint16_t level = 1;

    static constexpr size_t exact() { return offsetof(SetConfig, level) + sizeof(level); }
};

struct Stop {
    size_t size = 0;
    void* reserved = nullptr;
    RangeHandle profiler = nullptr;
    size_t pass = 0, level = 0; ///< out
    uint8_t allSubmitted = 0;   ///< out

    static constexpr size_t exact() { return offsetof(Stop, allSubmitted) + sizeof(allSubmitted); }
};

struct PushRange {
    size_t size = 0;
    void* reserved = nullptr;
    RangeHandle profiler = nullptr;
    const char* name = nullptr;

    static constexpr size_t exact() { return sizeof(PushRange); }
};

struct Decode {
    size_t size = 0;
    void* reserved = nullptr;
    RangeHandle profiler = nullptr;
    size_t dropped = 0; ///< out

    static constexpr size_t exact() { return sizeof(Decode); }
};

struct CounterSize {
    size_t size = 0;
    void* reserved = nullptr;
    RangeHandle profiler = nullptr;
    const char** metrics = nullptr;
    size_t count = 0;
    size_t ranges = 0;
    uint32_t nodes = 0;
    size_t bytes = 0; ///< out

    static constexpr size_t exact() { return sizeof(CounterSize); }
};

struct CounterInitialize {
    size_t size = 0;
    void* reserved = nullptr;
    RangeHandle profiler = nullptr;
    size_t bytes = 0;
    uint8_t* counters = nullptr;

    static constexpr size_t exact() { return sizeof(CounterInitialize); }
};

struct CounterInfo {
    size_t size = 0;
    void* reserved = nullptr;
    const uint8_t* counters = nullptr;
    size_t bytes = 0;
    size_t ranges = 0; ///< out

    static constexpr size_t exact() { return sizeof(CounterInfo); }
};

struct RangeInfo {
    size_t size = 0;
    void* reserved = nullptr;
    const uint8_t* counters = nullptr;
    size_t bytes = 0;
    size_t range = 0;
    const char* delimiter = "/";
    const char* name = nullptr; ///< out

    static constexpr size_t exact() { return sizeof(RangeInfo); }
};

/// CUPTI's functions by their names.
struct Functions {
    Code (*cuptiGetVersion)(uint32_t*);
    Code (*cuptiGetResultString)(Code, const char**);
    Code (*cuptiProfilerInitialize)(Initialize*);
    Code (*cuptiProfilerDeviceSupported)(DeviceSupported*);
    Code (*cuptiDeviceGetChipName)(ChipName*);
    Code (*cuptiProfilerHostInitialize)(HostInitialize*);
    Code (*cuptiProfilerHostDeinitialize)(HostDeinitialize*);
    Code (*cuptiProfilerHostGetMetricProperties)(MetricProperties*);
    Code (*cuptiProfilerHostConfigAddMetrics)(AddMetrics*);
    Code (*cuptiProfilerHostGetConfigImageSize)(ConfigSize*);
    Code (*cuptiProfilerHostGetConfigImage)(ConfigImage*);
    Code (*cuptiProfilerHostGetNumOfPasses)(Passes*);
    Code (*cuptiProfilerHostEvaluateToGpuValues)(Evaluate*);
    Code (*cuptiRangeProfilerEnable)(Enable*);
    Code (*cuptiRangeProfilerDisable)(OfProfiler*);
    Code (*cuptiRangeProfilerSetConfig)(SetConfig*);
    Code (*cuptiRangeProfilerStart)(OfProfiler*);
    Code (*cuptiRangeProfilerStop)(Stop*);
    Code (*cuptiRangeProfilerPushRange)(PushRange*);
    Code (*cuptiRangeProfilerPopRange)(OfProfiler*);
    Code (*cuptiRangeProfilerDecodeData)(Decode*);
    Code (*cuptiRangeProfilerGetCounterDataSize)(CounterSize*);
    Code (*cuptiRangeProfilerCounterDataImageInitialize)(CounterInitialize*);
    Code (*cuptiRangeProfilerGetCounterDataInfo)(CounterInfo*);
    Code (*cuptiRangeProfilerCounterDataGetRangeInfo)(RangeInfo*);
};

/// The functions of the CUPTI that was found.
class Api {
public:
    /// Error "run.counters": no CUPTI, or one without the range profiler (before CUDA 12.6).
    static Result<std::shared_ptr<const Api>> open();

    const Functions& functions() const { return m_functions; }

    /// "130001"
    std::string version() const;

    /// Calls with the size filled in. Error "run.counters" in words, with a fix where one is known;
    /// `what` says what was tried: "read the device's counters".
    template <typename Parameters>
    Result<void> call(Code (*function)(Parameters*), Parameters& parameters,
                      const char* what) const {
        parameters.size = Parameters::exact();
        return check(function(&parameters), what);
    }

    Result<void> check(Code code, const char* what) const;

private:
    Functions m_functions{};
};

} // namespace fuselage::gpu::profiler
