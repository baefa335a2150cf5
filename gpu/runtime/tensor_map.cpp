// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/tensor_map.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

/// Elements are moved as they are: those of 8 and of 32 bits have no sign here.
int typeOf(DType element) {
    return sizeOf(element) == 1        ? CU_TENSOR_MAP_DATA_TYPE_UINT8
           : sizeOf(element) == 4      ? CU_TENSOR_MAP_DATA_TYPE_UINT32
           : element == DType::Float16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                       : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

template <typename Number> std::vector<Number> numbers(const Extents& from) {
    std::vector<Number> out;
    std::transform(from.begin(), from.end(), std::back_inserter(out),
                   [](int64_t number) { return static_cast<Number>(number); });
    return out;
}

} // namespace

Result<void> requireTensorMap(const DeviceContext& context, const TensorMapText& map) {
    const DriverFunctions& call = context.call();
    if (map.pixels ? call.cuTensorMapEncodeIm2col != nullptr
                   : call.cuTensorMapEncodeTiled != nullptr)
        return {};
    return failure("library-missing",
                   std::string("the CUDA driver has no `cuTensorMapEncode") +
                       (map.pixels ? "Im2col`" : "Tiled`"),
                   {}, "install a driver for CUDA 12 or newer");
}

Result<TensorMapValue> tensorMapOf(const DeviceContext& context, const TensorMapText& map,
                                   DevicePointer address) {
    if (auto there = requireTensorMap(context, map); !there)
        return failure(there.error());
    const auto dims = numbers<uint64_t>(map.dims), strides = numbers<uint64_t>(map.strides);
    const auto box = numbers<uint32_t>(map.box);
    const auto rank = static_cast<uint32_t>(dims.size());
    std::vector<uint32_t> steps(rank, 1);
    TensorMapValue out{};
    DriverCode code = 0;
    if (map.pixels) {
        const auto lower = numbers<int>(map.pixels->lower), upper = numbers<int>(map.pixels->upper);
        for (size_t i = 0; i < map.pixels->steps.size(); ++i)
            steps[i + 1] = static_cast<uint32_t>(map.pixels->steps[i]);
        code = context.call().cuTensorMapEncodeIm2col(
            &out, typeOf(map.element), rank, reinterpret_cast<void*>(address), dims.data(),
            strides.data(), lower.data(), upper.data(), box[0], box[1], steps.data(), 0,
            CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, 0);
    } else {
        code = context.call().cuTensorMapEncodeTiled(
            &out, typeOf(map.element), rank, reinterpret_cast<void*>(address), dims.data(),
            strides.data(), box.data(), steps.data(), 0,
            map.swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, 0);
    }
    if (auto made = context.check(code, "make a tensor map"); !made)
        return failure(made.error());
    return out;
}

} // namespace fuselage::gpu
