// SPDX-License-Identifier: Apache-2.0
#include "gpu/pack_operand.h"

#include "core/graph/type.h"

#include <cassert>
#include <cstring>

namespace fuselage::gpu {

size_t packedBytes(const PackedOperand& packed, DType dtype) {
    size_t out = sizeOf(dtype);
    for (int64_t extent : packed.extents)
        out *= static_cast<size_t>(extent);
    return out;
}

std::vector<std::byte> packOperand(const PackedOperand& packed, DType dtype, const Extents& extents,
                                   std::span<const std::byte> data) {
    assert(packed.order.size() == extents.size() && packed.extents.size() == extents.size());
    const size_t size = sizeOf(dtype), dims = extents.size();
    std::vector<std::byte> out(packedBytes(packed, dtype), std::byte{0});
    Extents step(dims, 0); // of each logical dim in the packed form
    int64_t dense = 1;
    for (size_t i = dims; i-- > 0;) {
        step[packed.order[i]] = dense;
        dense *= packed.extents[i];
    }
    const size_t count = data.size() / size;
    Extents index(dims, 0);
    int64_t to = 0;
    for (size_t from = 0; from < count; ++from) {
        std::memcpy(out.data() + static_cast<size_t>(to) * size, data.data() + from * size, size);
        for (size_t d = dims; d-- > 0;) { // the next element in row-major order
            to += step[d];
            if (++index[d] < extents[d])
                break;
            to -= step[d] * extents[d];
            index[d] = 0;
        }
    }
    return out;
}

} // namespace fuselage::gpu
