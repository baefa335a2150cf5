// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/occupancy.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr uint32_t warpThreads = 32;
constexpr uint32_t partitions = 4;      ///< of a multiprocessor's registers; a warp lives in one
constexpr uint32_t registerUnit = 256;  ///< registers of a warp come in pieces of so many
constexpr uint32_t sharedUnit = 128;    ///< bytes
constexpr uint32_t oldSharedUnit = 256; ///< before sm_80

/// Blocks that one multiprocessor holds at most, from the tables of compute capabilities.
uint32_t mostBlocks(uint32_t capability) {
    switch (capability) {
    case 75:
    case 86:
    case 87:
        return 16;
    case 89:
    case 120:
    case 121:
        return 24;
    default:
        return 32;
    }
}

uint32_t roundedUp(uint32_t value, uint32_t unit) {
    return (value + unit - 1) / unit * unit;
}

uint32_t blocksByRegisters(uint32_t warps, uint32_t registers, uint32_t all) {
    if (registers == 0)
        return 0;
    const uint32_t ofWarp = roundedUp(registers * warpThreads, registerUnit);
    return all / partitions / ofWarp * partitions / warps;
}

} // namespace

SmLimits smLimits(const DeviceProfile& profile, uint32_t capability) {
    SmLimits out;
    if (profile.threadsPerUnit <= 0 || profile.registersPerUnit <= 0 ||
        profile.sharedBytesPerUnit <= 0)
        return out;
    out.threads = static_cast<uint32_t>(profile.threadsPerUnit);
    out.blocks = mostBlocks(capability);
    out.registers = static_cast<uint32_t>(profile.registersPerUnit);
    out.sharedBytes = static_cast<uint32_t>(profile.sharedBytesPerUnit);
    out.reservedShared = capability >= 80 ? 1024 : 0;
    return out;
}

Occupancy occupancyOf(const KernelText& kernel, const CompiledKernel& compiled,
                      const SmLimits& limits) {
    const uint32_t threads = kernel.block[0] * kernel.block[1] * kernel.block[2];
    if (threads == 0 || limits.threads == 0)
        return {};
    const uint32_t warps = roundedUp(threads, warpThreads) / warpThreads;
    const uint32_t unit = limits.reservedShared > 0 ? sharedUnit : oldSharedUnit;
    const uint32_t shared =
        roundedUp(kernel.sharedBytes + compiled.sharedBytes + limits.reservedShared, unit);
    Occupancy out;
    out.blocks = std::min({limits.blocks, limits.threads / (warps * warpThreads),
                           blocksByRegisters(warps, compiled.registers, limits.registers),
                           shared == 0 ? limits.blocks : limits.sharedBytes / shared});
    out.share = static_cast<double>(out.blocks) * warps * warpThreads / limits.threads;
    return out;
}

} // namespace fuselage::gpu
