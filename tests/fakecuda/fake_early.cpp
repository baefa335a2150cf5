// SPDX-License-Identifier: Apache-2.0
// Early launches of the stand-in driver: a file of its own, since a driver may lack the function.
#include "tests/fakecuda/fake_state.h"

using namespace fakecuda;

namespace {

/// CUlaunchAttribute and CUlaunchConfig, as cuda.h has them.
struct LaunchAttribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
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

constexpr int programmaticStreamSerialization = 6;

} // namespace

extern "C" int cuLaunchKernelEx(const LaunchConfig* config, Function* function, void** arguments,
                                void**) {
    FAKE_CALL("cuLaunchKernelEx", Context);
    bool early = false;
    for (unsigned i = 0; i < config->attributeCount; ++i) {
        if (config->attributes[i].id != programmaticStreamSerialization)
            return InvalidValue;
        early = config->attributes[i].value.programmaticStreamSerializationAllowed != 0;
    }
    const auto& [gx, gy, gz] = config->grid;
    const auto& [bx, by, bz] = config->block;
    return launchKernel({function, {gx, gy, gz}, {bx, by, bz}, config->sharedBytes, early},
                        config->stream, arguments);
}
