// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/device_json.h"

#include "gpu/emit/kernel_text.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

/// What every device of an architecture has (the programming guide's table of limits).
struct ArchLimits {
    int arch;
    int blocksPerMultiprocessor;
    int64_t reservedSharedBytes; ///< of a block's shared memory, by the system
};

constexpr ArchLimits limits[] = {
    {75, 16, 0},    {80, 32, 1024},  {86, 16, 1024},  {87, 16, 1024},  {89, 24, 1024},
    {90, 32, 1024}, {100, 32, 1024}, {103, 32, 1024}, {110, 24, 1024}, {120, 24, 1024},
};

ArchLimits limitsOf(int arch) {
    ArchLimits out = limits[0];
    for (const ArchLimits& row : limits)
        if (row.arch <= arch)
            out = row;
    return out;
}

/// Choices do not depend on them, but the library wants a number.
constexpr int64_t memoryBytes = int64_t(16) << 30;
constexpr int64_t memoryClockKilohertz = 2000000;

} // namespace

std::string deviceJson(const DeviceProfile& profile) {
    const auto arch = static_cast<int>(capabilityOf(profile.arch));
    const ArchLimits row = limitsOf(arch);
    const auto shared = static_cast<int64_t>(profile.sharedBytesPerUnit);
    const auto registers = static_cast<int64_t>(profile.registersPerUnit);
    return fmt::format(
        R"({{"deviceVer":{},"multiProcessorCount":{},"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
        R"("maxSharedMemoryPerBlockOptin":{},"reservedSharedMemoryPerBlock":{},)"
        R"("maxRegistersPerSM":{},"maxCtasPerSM":{},"maxThreadsPerBlock":1024,"maxThreadsPerSM":{},)"
        R"("regsPerBlock":{},"totalGlobalMem":{},"smClockRateKHz":{},"memClockRateKHz":{},)"
        R"("l2CacheSize":{},"maxBlockSize":[1024,1024,64],"maxGridSize":[2147483647,65535,65535],)"
        R"("supportCoopLaunch":1,"pciDeviceId":0,"isTccDriver":0,"cudaDeviceId":0,)"
        R"("driverVer":13000,"deviceName":"{}"}})",
        arch * 10, static_cast<int64_t>(profile.units), shared - row.reservedSharedBytes,
        row.reservedSharedBytes, registers, row.blocksPerMultiprocessor,
        static_cast<int64_t>(profile.threadsPerUnit), registers, memoryBytes,
        static_cast<int64_t>(profile.clock / 1e3), memoryClockKilohertz,
        static_cast<int64_t>(profile.l2Bytes), profile.arch);
}

} // namespace fuselage::gpu
