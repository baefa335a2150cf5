// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/random_fill.h"

#include "core/graph/tensor.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

/// Elements that are made on the host; the rest are copies on the device.
constexpr size_t patternElements = size_t{1} << 18;

} // namespace

std::string randomBytes(DType dtype, size_t count, uint64_t seed) {
    Tensor values(dtype, {static_cast<int64_t>(count)});
    uint64_t state = seed * 2862933555777941757ULL + 3037000493ULL;
    for (size_t i = 0; i < count; ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        const auto bits = static_cast<int64_t>(state >> 33);
        if (isFloat(dtype))
            values.set(static_cast<int64_t>(i), static_cast<double>(bits % 2047 - 1023) / 1024);
        else
            values.setInt(static_cast<int64_t>(i), bits % 2);
    }
    return {reinterpret_cast<const char*>(values.bytes()), values.byteCount()};
}

Result<void> fillRandom(Stream& stream, DevicePointer at, DType dtype, int64_t bytes) {
    const auto wanted = static_cast<size_t>(bytes);
    const std::string pattern =
        randomBytes(dtype, std::min(patternElements, wanted / sizeOf(dtype)), 1);
    if (auto copied = stream.copyIn(at, pattern.data(), pattern.size()); !copied)
        return copied;
    for (size_t done = pattern.size(); done < wanted;) {
        const size_t more = std::min(done, wanted - done);
        if (auto copied = stream.copyWithin(at + done, at, more); !copied)
            return copied;
        done += more;
    }
    return stream.synchronize();
}

} // namespace fuselage::gpu
