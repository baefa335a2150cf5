// SPDX-License-Identifier: Apache-2.0
// Launches with attributes of the stand-in driver, early ones and those in clusters: a file of its
// own, since a driver may lack the function.
#include "tests/fakecuda/fake_state.h"

using namespace fakecuda;

namespace {

/// CUlaunchAttribute and CUlaunchConfig, as cuda.h has them.
struct LaunchAttribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
        struct {
            unsigned x, y, z;
        } clusterDim;
        int programmaticStreamSerializationAllowed;
    } value;
};

struct LaunchConfig {
    unsigned grid[3], block[3];
    unsigned sharedBytes;
    Stream* stream;
    const LaunchAttribute* attributes;
    unsigned attributeCount;
};

constexpr int clusterDimension = 4, programmaticStreamSerialization = 6;
constexpr unsigned mostInCluster = 8; // that every device of clusters has room for

} // namespace

extern "C" int cuLaunchKernelEx(const LaunchConfig* config, Function* function, void** arguments,
                                void**) {
    FAKE_CALL("cuLaunchKernelEx", Context);
    const auto& [gx, gy, gz] = config->grid;
    const auto& [bx, by, bz] = config->block;
    bool early = false;
    unsigned together = 1;
    for (unsigned i = 0; i < config->attributeCount; ++i) {
        const LaunchAttribute& attribute = config->attributes[i];
        if (attribute.id == programmaticStreamSerialization) {
            early = attribute.value.programmaticStreamSerializationAllowed != 0;
        } else if (attribute.id == clusterDimension) {
            const auto& [x, y, z] = attribute.value.clusterDim;
            if (x == 0 || x > mostInCluster || y != 1 || z != 1 || gx % x != 0) {
                state().lastMessage = "a grid that is no multiple of its clusters";
                return InvalidClusterSize;
            }
            together = x;
        } else {
            return InvalidValue;
        }
    }
    return launchKernel(
        {function, {gx, gy, gz}, {bx, by, bz}, config->sharedBytes, early, together},
        config->stream, arguments);
}
