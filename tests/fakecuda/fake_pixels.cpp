// SPDX-License-Identifier: Apache-2.0
// Tensor maps of im2col mode of the stand-in driver: a file of its own, since a driver may lack the
// function.
#include "tests/fakecuda/fake_state.h"
#include "tests/shim/tensor_map.h"

extern "C" int cuTensorMapEncodeIm2col(void* map, int type, uint32_t rank, void* address,
                                       const uint64_t* dims, const uint64_t* strides,
                                       const int* lower, const int* upper, uint32_t channels,
                                       uint32_t pixels, const uint32_t* elementStrides,
                                       int interleave, int swizzle, int promotion, int fill) {
    FAKE_CALL("cuTensorMapEncodeIm2col", Context);
    return fakecuda::mapMade(
        map, address,
        simt::encodePixelMap(map,
                             {type, rank, address, dims, strides, nullptr, elementStrides,
                              interleave, swizzle, promotion, fill},
                             {lower, upper, channels, pixels}));
}
