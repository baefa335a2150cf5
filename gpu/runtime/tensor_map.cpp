// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/tensor_map.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

/// Elements are moved as they are: those of 8 bits have no sign here.
int typeOf(DType element) {
    return sizeOf(element) == 1        ? CU_TENSOR_MAP_DATA_TYPE_UINT8
           : element == DType::Float16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                       : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

} // namespace

Result<void> requireTensorMaps(const DeviceContext& context) {
    if (context.call().cuTensorMapEncodeTiled != nullptr)
        return {};
    return failure("library-missing", "the CUDA driver has no `cuTensorMapEncodeTiled`", {},
                   "install a driver for CUDA 12 or newer");
}

Result<TensorMapValue> tensorMapOf(const DeviceContext& context, const TensorMapText& map,
                                   DevicePointer address) {
    if (auto there = requireTensorMaps(context); !there)
        return failure(there.error());
    const std::vector<uint64_t> dims(map.dims.begin(), map.dims.end());
    const std::vector<uint64_t> strides(map.strides.begin(), map.strides.end());
    std::vector<uint32_t> box;
    std::transform(map.box.begin(), map.box.end(), std::back_inserter(box),
                   [](int64_t extent) { return static_cast<uint32_t>(extent); });
    const std::vector<uint32_t> ones(box.size(), 1);
    TensorMapValue out{};
    auto made = context.check(context.call().cuTensorMapEncodeTiled(
                                  &out, typeOf(map.element), static_cast<uint32_t>(dims.size()),
                                  reinterpret_cast<void*>(address), dims.data(), strides.data(),
                                  box.data(), ones.data(), 0, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, 0),
                              "make a tensor map");
    if (!made)
        return failure(made.error());
    return out;
}

} // namespace fuselage::gpu
