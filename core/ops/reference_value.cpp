// SPDX-License-Identifier: Apache-2.0
#include "core/ops/reference_value.h"

#include <algorithm>

namespace fuselage {

ReferenceValue ReferenceValue::tensor(DType dtype, Extents extents) {
    ReferenceValue out;
    out.dtype = dtype;
    auto count = static_cast<size_t>(*elementCount(extents));
    out.extents = std::move(extents);
    if (dtype == DType::String)
        out.strings.resize(count);
    else if (isFloat(dtype))
        out.floats.resize(count);
    else
        out.ints.resize(count);
    return out;
}

ReferenceValue ReferenceValue::from(const Tensor& tensor) {
    ReferenceValue out = ReferenceValue::tensor(tensor.dtype(), tensor.extents());
    if (tensor.dtype() == DType::String) {
        out.strings = tensor.strings();
    } else if (tensor.dtype() == DType::Float32) {
        auto source = tensor.as<float>();
        out.floats.assign(source.begin(), source.end());
    } else if (isFloat(tensor.dtype())) {
        for (int64_t i = 0; i < tensor.elementCount(); ++i)
            out.floats[static_cast<size_t>(i)] = tensor.at(i);
    } else if (tensor.dtype() == DType::Int64) {
        auto source = tensor.as<int64_t>();
        out.ints.assign(source.begin(), source.end());
    } else if (tensor.dtype() == DType::Bool) {
        std::transform(tensor.bytes(), tensor.bytes() + tensor.byteCount(), out.ints.begin(),
                       [](std::byte value) { return value == std::byte{0} ? 0 : 1; });
    } else {
        out.ints = tensor.toInts();
    }
    return out;
}

ReferenceValue ReferenceValue::ofInts(std::vector<int64_t> values) {
    ReferenceValue out;
    out.dtype = DType::Int64;
    out.extents = {static_cast<int64_t>(values.size())};
    out.ints = std::move(values);
    return out;
}

Tensor ReferenceValue::toTensor() const {
    Tensor out(dtype, extents);
    if (dtype == DType::String) {
        out.strings() = strings;
    } else if (dtype == DType::Float32) {
        auto target = out.as<float>();
        for (size_t i = 0; i < floats.size(); ++i)
            target[i] = static_cast<float>(floats[i]);
    } else if (isFloat(dtype)) {
        for (size_t i = 0; i < floats.size(); ++i)
            out.set(static_cast<int64_t>(i), floats[i]);
    } else if (dtype == DType::Int64) {
        std::copy(ints.begin(), ints.end(), out.as<int64_t>().begin());
    } else if (dtype == DType::Bool) {
        std::transform(ints.begin(), ints.end(), out.bytes(),
                       [](int64_t value) { return std::byte{value != 0}; });
    } else {
        for (size_t i = 0; i < ints.size(); ++i)
            out.setInt(static_cast<int64_t>(i), ints[i]);
    }
    return out;
}

int64_t ReferenceValue::count() const {
    if (dtype == DType::String)
        return static_cast<int64_t>(strings.size());
    return static_cast<int64_t>(isFloat(dtype) ? floats.size() : ints.size());
}

// A string where a number belongs comes from a hostile model; 0 is safe, and checks refuse later.
double ReferenceValue::at(int64_t index) const {
    auto i = static_cast<size_t>(index);
    if (dtype == DType::String)
        return 0;
    if (isFloat(dtype))
        return floats[i];
    return dtype == DType::UInt64 ? static_cast<double>(static_cast<uint64_t>(ints[i]))
                                  : static_cast<double>(ints[i]);
}

int64_t ReferenceValue::intAt(int64_t index) const {
    auto i = static_cast<size_t>(index);
    if (dtype == DType::String)
        return 0;
    return isFloat(dtype) ? static_cast<int64_t>(floats[i]) : ints[i];
}

} // namespace fuselage
