// SPDX-License-Identifier: Apache-2.0
#include "core/ops/reference_value.h"

#include "core/graph/elements.h"

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
    } else if (isFloat(tensor.dtype())) {
        readFloats(tensor, 0, out.floats);
    } else {
        readInts(tensor, 0, out.ints);
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
    } else if (isFloat(dtype)) {
        writeFloats(out, 0, floats);
    } else {
        writeInts(out, 0, ints);
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
