// SPDX-License-Identifier: Apache-2.0
// What gpu/runtime declares of CUPTI's range profiler and its host interface is what NVIDIA's
// headers say: checked when this file is compiled, which is only where the headers are.
#include "gpu/runtime/range_profiler_api.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

using namespace fuselage::gpu;

namespace {

#define STRUCT(ours, theirs)                                                                       \
    static_assert(profiler::ours::exact() == theirs##_STRUCT_SIZE &&                               \
                  sizeof(profiler::ours) == sizeof(theirs));                                       \
    static_assert(offsetof(profiler::ours, size) == offsetof(theirs, structSize))
#define FIELD(ours, our, theirs, their)                                                            \
    static_assert(offsetof(profiler::ours, our) == offsetof(theirs, their) &&                      \
                  sizeof(profiler::ours::our) == sizeof(theirs::their))
#define SAME(scope, name)                                                                          \
    static_assert(static_cast<int>(scope::name) == static_cast<int>(::name), #name)
#define VALUE(number, name) static_assert((number) == static_cast<int>(::name), #name)

STRUCT(Initialize, CUpti_Profiler_Initialize_Params);

STRUCT(ChipName, CUpti_Device_GetChipName_Params);
FIELD(ChipName, device, CUpti_Device_GetChipName_Params, deviceIndex);
FIELD(ChipName, name, CUpti_Device_GetChipName_Params, pChipName);

STRUCT(DeviceSupported, CUpti_Profiler_DeviceSupported_Params);
FIELD(DeviceSupported, device, CUpti_Profiler_DeviceSupported_Params, cuDevice);
FIELD(DeviceSupported, all, CUpti_Profiler_DeviceSupported_Params, isSupported);
FIELD(DeviceSupported, architecture, CUpti_Profiler_DeviceSupported_Params, architecture);
FIELD(DeviceSupported, sli, CUpti_Profiler_DeviceSupported_Params, sli);
FIELD(DeviceSupported, vGpu, CUpti_Profiler_DeviceSupported_Params, vGpu);
FIELD(DeviceSupported, confidential, CUpti_Profiler_DeviceSupported_Params, confidentialCompute);
FIELD(DeviceSupported, mining, CUpti_Profiler_DeviceSupported_Params, cmp);
FIELD(DeviceSupported, wsl, CUpti_Profiler_DeviceSupported_Params, wsl);
FIELD(DeviceSupported, api, CUpti_Profiler_DeviceSupported_Params, api);

STRUCT(HostInitialize, CUpti_Profiler_Host_Initialize_Params);
FIELD(HostInitialize, type, CUpti_Profiler_Host_Initialize_Params, profilerType);
FIELD(HostInitialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
FIELD(HostInitialize, availability, CUpti_Profiler_Host_Initialize_Params,
      pCounterAvailabilityImage);
FIELD(HostInitialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);

STRUCT(HostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params);
FIELD(HostDeinitialize, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);

STRUCT(MetricProperties, CUpti_Profiler_Host_GetMetricProperties_Params);
FIELD(MetricProperties, host, CUpti_Profiler_Host_GetMetricProperties_Params, pHostObject);
FIELD(MetricProperties, metric, CUpti_Profiler_Host_GetMetricProperties_Params, pMetricName);
FIELD(MetricProperties, type, CUpti_Profiler_Host_GetMetricProperties_Params, metricType);

STRUCT(AddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params);
FIELD(AddMetrics, host, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
FIELD(AddMetrics, metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
FIELD(AddMetrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);

STRUCT(ConfigSize, CUpti_Profiler_Host_GetConfigImageSize_Params);
FIELD(ConfigSize, host, CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject);
FIELD(ConfigSize, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);

STRUCT(ConfigImage, CUpti_Profiler_Host_GetConfigImage_Params);
FIELD(ConfigImage, host, CUpti_Profiler_Host_GetConfigImage_Params, pHostObject);
FIELD(ConfigImage, bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
FIELD(ConfigImage, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);

STRUCT(Passes, CUpti_Profiler_Host_GetNumOfPasses_Params);
FIELD(Passes, bytes, CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize);
FIELD(Passes, config, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
FIELD(Passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);

STRUCT(Evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
FIELD(Evaluate, host, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject);
FIELD(Evaluate, counters, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
FIELD(Evaluate, counterBytes, CUpti_Profiler_Host_EvaluateToGpuValues_Params, counterDataImageSize);
FIELD(Evaluate, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
FIELD(Evaluate, metrics, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
FIELD(Evaluate, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
FIELD(Evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);

STRUCT(Enable, CUpti_RangeProfiler_Enable_Params);
FIELD(Enable, context, CUpti_RangeProfiler_Enable_Params, ctx);
FIELD(Enable, profiler, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);

STRUCT(OfProfiler, CUpti_RangeProfiler_Disable_Params);
FIELD(OfProfiler, profiler, CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject);
STRUCT(OfProfiler, CUpti_RangeProfiler_Start_Params);
FIELD(OfProfiler, profiler, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject);
STRUCT(OfProfiler, CUpti_RangeProfiler_PopRange_Params);
FIELD(OfProfiler, profiler, CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject);

STRUCT(SetConfig, CUpti_RangeProfiler_SetConfig_Params);
FIELD(SetConfig, profiler, CUpti_RangeProfiler_SetConfig_Params, pRangeProfilerObject);
FIELD(SetConfig, configBytes, CUpti_RangeProfiler_SetConfig_Params, configSize);
FIELD(SetConfig, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
FIELD(SetConfig, counterBytes, CUpti_RangeProfiler_SetConfig_Params, counterDataImageSize);
FIELD(SetConfig, counters, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
FIELD(SetConfig, range, CUpti_RangeProfiler_SetConfig_Params, range);
FIELD(SetConfig, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
FIELD(SetConfig, rangesPerPass, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
FIELD(SetConfig, levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
FIELD(SetConfig, firstLevel, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
FIELD(SetConfig, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
FIELD(SetConfig, level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);

STRUCT(Stop, CUpti_RangeProfiler_Stop_Params);
FIELD(Stop, profiler, CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject);
FIELD(Stop, allSubmitted, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);

STRUCT(PushRange, CUpti_RangeProfiler_PushRange_Params);
FIELD(PushRange, profiler, CUpti_RangeProfiler_PushRange_Params, pRangeProfilerObject);
FIELD(PushRange, name, CUpti_RangeProfiler_PushRange_Params, pRangeName);

STRUCT(Decode, CUpti_RangeProfiler_DecodeData_Params);
FIELD(Decode, profiler, CUpti_RangeProfiler_DecodeData_Params, pRangeProfilerObject);
FIELD(Decode, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped);

STRUCT(CounterSize, CUpti_RangeProfiler_GetCounterDataSize_Params);
FIELD(CounterSize, profiler, CUpti_RangeProfiler_GetCounterDataSize_Params, pRangeProfilerObject);
FIELD(CounterSize, metrics, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
FIELD(CounterSize, count, CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics);
FIELD(CounterSize, ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges);
FIELD(CounterSize, nodes, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes);
FIELD(CounterSize, bytes, CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize);

STRUCT(CounterInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
FIELD(CounterInitialize, profiler, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
      pRangeProfilerObject);
FIELD(CounterInitialize, bytes, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
      counterDataSize);
FIELD(CounterInitialize, counters, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
      pCounterData);

STRUCT(CounterInfo, CUpti_RangeProfiler_GetCounterDataInfo_Params);
FIELD(CounterInfo, counters, CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage);
FIELD(CounterInfo, bytes, CUpti_RangeProfiler_GetCounterDataInfo_Params, counterDataImageSize);
FIELD(CounterInfo, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges);

STRUCT(RangeInfo, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
FIELD(RangeInfo, counters, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, pCounterDataImage);
FIELD(RangeInfo, bytes, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, counterDataImageSize);
FIELD(RangeInfo, range, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeIndex);
FIELD(RangeInfo, delimiter, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeDelimiter);
FIELD(RangeInfo, name, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeName);

SAME(profiler, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
SAME(profiler, CUPTI_PROFILER_RANGE_PROFILING);
SAME(profiler, CUPTI_UserRange);
SAME(profiler, CUPTI_UserReplay);
SAME(profiler::Support, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
SAME(profiler::Support, CUPTI_PROFILER_CONFIGURATION_DISABLED);
SAME(profiler::Support, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);

// Codes that have words of their own.
VALUE(8, CUPTI_ERROR_OUT_OF_MEMORY);
VALUE(14, CUPTI_ERROR_NOT_COMPATIBLE);
VALUE(26, CUPTI_ERROR_HARDWARE_BUSY);
VALUE(27, CUPTI_ERROR_NOT_SUPPORTED);
VALUE(33, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
VALUE(35, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
VALUE(36, CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED);
VALUE(38, CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
VALUE(39, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
VALUE(40, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
VALUE(41, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
VALUE(42, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED);
VALUE(43, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
VALUE(44, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED);
VALUE(45, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
VALUE(46, CUPTI_ERROR_INVALID_CHIP_NAME);

} // namespace

TEST(CounterHeaders, StructsAreThoseOfCupti) {
    SUCCEED() << "the checks above are made by the compiler";
}
