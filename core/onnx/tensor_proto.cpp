// SPDX-License-Identifier: Apache-2.0
// Tensor data of ONNX files: raw, typed, external and sparse. Every size is checked before memory
// is asked for.
#include "core/onnx/proto_internal.h"
#include "core/support/checked.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

namespace fuselage::model_io {

namespace {

constexpr int64_t widestElement = 16; ///< bytes

/// Bytes that so many elements have in a file: two 4-bit ones share one, four of 2 bits.
int64_t fileBytes(DType dtype, int64_t count) {
    if (!isPacked(dtype))
        return count * static_cast<int64_t>(sizeOf(dtype));
    const int64_t inByte = 8 / bitsOf(dtype);
    return count / inByte + (count % inByte != 0 ? 1 : 0);
}

/// From several elements a byte, the first in its low bits.
Tensor unpacked(DType dtype, Extents extents, const std::byte* packed) {
    Tensor out(dtype, std::move(extents));
    const int bits = bitsOf(dtype), inByte = 8 / bits;
    for (int64_t i = 0; i < out.elementCount(); ++i) {
        const auto code = static_cast<int64_t>(packed[i / inByte] >> (i % inByte * bits)) &
                          ((int64_t{1} << bits) - 1);
        out.bytes()[i] = static_cast<std::byte>(isFloat(dtype) ? code : wrapTo(dtype, code));
    }
    return out;
}

std::string packed(const Tensor& tensor) {
    const int bits = bitsOf(tensor.dtype()), inByte = 8 / bits;
    std::string out(static_cast<size_t>(fileBytes(tensor.dtype(), tensor.elementCount())), '\0');
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
        const unsigned code = std::to_integer<unsigned>(tensor.bytes()[i]) & ((1U << bits) - 1);
        char& byte = out[static_cast<size_t>(i / inByte)];
        byte = static_cast<char>(static_cast<unsigned char>(byte) | code << (i % inByte * bits));
    }
    return out;
}

/// A sparse tensor may be tiny in the file and huge in memory.
constexpr int64_t maxDenseBytes = int64_t(1) << 30;

Result<Extents> extentsFrom(const google::protobuf::RepeatedField<int64_t>& dims,
                            const std::string& where) {
    Extents extents(dims.begin(), dims.end());
    for (int64_t extent : extents)
        if (extent < 0)
            return failure("load.dimensions", fmt::format("dimension {} is negative", extent),
                           where, "the file is damaged; export the model again");
    auto count = elementCount(extents);
    if (!count || !checkedMultiply(*count, widestElement))
        return failure("load.dimensions",
                       fmt::format("the product of the dimensions {} overflows", text(extents)),
                       where, "the file is damaged; export the model again");
    return extents;
}

Failure sizeFailure(const std::string& where, const Extents& extents, DType dtype, int64_t wanted,
                    uint64_t found, const char* unit) {
    return failure("load.tensor_size",
                   fmt::format("{}{} needs {} {}, the file has {}", nameOf(dtype), text(extents),
                               wanted, unit, found),
                   where, "the file is truncated or damaged; export the model again");
}

/// Copies a typed field element by element; T is the stored type.
template <typename T, typename Field>
Result<Tensor> fromField(const Field& field, DType dtype, const Extents& extents,
                         const std::string& where) {
    int64_t count = *elementCount(extents);
    if (field.size() != count)
        return sizeFailure(where, extents, dtype, count, static_cast<uint64_t>(field.size()),
                           "elements");
    Tensor out(dtype, extents);
    auto elements = out.as<T>();
    for (int64_t i = 0; i < count; ++i)
        elements[static_cast<size_t>(i)] = static_cast<T>(field.Get(static_cast<int>(i)));
    return out;
}

/// Of complex numbers the field has real and imaginary parts in turns.
template <typename T, typename Field>
Result<Tensor> fromPairs(const Field& field, DType dtype, const Extents& extents,
                         const std::string& where) {
    const int64_t wanted = 2 * *elementCount(extents);
    if (field.size() != wanted)
        return sizeFailure(where, extents, dtype, wanted, static_cast<uint64_t>(field.size()),
                           "parts");
    Tensor out(dtype, extents);
    for (int64_t i = 0; i < wanted; ++i) {
        const T part = field.Get(static_cast<int>(i));
        std::memcpy(out.bytes() + static_cast<size_t>(i) * sizeof(T), &part, sizeof(T));
    }
    return out;
}

/// Of a typed field each entry is one byte, with as many elements as fit.
Result<Tensor> fromPackedField(const ::onnx::TensorProto& proto, DType dtype,
                               const Extents& extents, const std::string& where) {
    const int64_t wanted = fileBytes(dtype, *elementCount(extents));
    if (proto.int32_data_size() != wanted)
        return sizeFailure(where, extents, dtype, wanted,
                           static_cast<uint64_t>(proto.int32_data_size()), "entries");
    std::vector<std::byte> bytes;
    for (int32_t entry : proto.int32_data())
        bytes.push_back(static_cast<std::byte>(entry & 0xff));
    return unpacked(dtype, extents, bytes.data());
}

Result<Tensor> fromStrings(::onnx::TensorProto& proto, const Extents& extents,
                           const std::string& where) {
    int64_t count = *elementCount(extents);
    if (proto.string_data_size() != count)
        return sizeFailure(where, extents, DType::String, count,
                           static_cast<uint64_t>(proto.string_data_size()), "elements");
    Tensor out(DType::String, extents);
    for (int i = 0; i < proto.string_data_size(); ++i)
        out.strings()[static_cast<size_t>(i)] = std::move(*proto.mutable_string_data(i));
    return out;
}

Result<Tensor> fromFields(::onnx::TensorProto& proto, DType dtype, const Extents& extents,
                          const std::string& where) {
    switch (dtype) {
    case DType::Float32:
        return fromField<float>(proto.float_data(), dtype, extents, where);
    case DType::Float64:
        return fromField<double>(proto.double_data(), dtype, extents, where);
    case DType::Complex64:
        return fromPairs<float>(proto.float_data(), dtype, extents, where);
    case DType::Complex128:
        return fromPairs<double>(proto.double_data(), dtype, extents, where);
    case DType::Int64:
        return fromField<int64_t>(proto.int64_data(), dtype, extents, where);
    case DType::UInt64:
        return fromField<uint64_t>(proto.uint64_data(), dtype, extents, where);
    case DType::UInt32:
        return fromField<uint32_t>(proto.uint64_data(), dtype, extents, where);
    case DType::Int32:
        return fromField<int32_t>(proto.int32_data(), dtype, extents, where);
    case DType::Int16:
        return fromField<int16_t>(proto.int32_data(), dtype, extents, where);
    case DType::UInt16:
    case DType::Float16:
    case DType::BFloat16:
        return fromField<uint16_t>(proto.int32_data(), dtype, extents, where);
    case DType::Int8:
        return fromField<int8_t>(proto.int32_data(), dtype, extents, where);
    case DType::Int4:
    case DType::UInt4:
    case DType::Float4E2M1:
    case DType::Int2:
    case DType::UInt2:
        return fromPackedField(proto, dtype, extents, where);
    case DType::UInt8:
    case DType::Float8E4M3FN:
    case DType::Float8E5M2:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2FNUZ:
    case DType::Float8E8M0:
    case DType::Bool:
        return fromField<uint8_t>(proto.int32_data(), dtype, extents, where);
    default:
        return fromStrings(proto, extents, where);
    }
}

Result<uint64_t> unsignedFrom(const std::string& text, const char* key, const std::string& where) {
    uint64_t value = 0;
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size())
        return failure("load.external_range",
                       fmt::format("external data {} `{}` is no size", key, text), where,
                       "the file is damaged; export the model again");
    return value;
}

Result<Tensor> fromExternal(const ::onnx::TensorProto& proto, DType dtype, Extents extents,
                            ExternalData& external, const std::string& where) {
    if (dtype == DType::String)
        return failure("load.external_range", "strings cannot be external data", where,
                       "store the strings in the model file");
    std::string location;
    uint64_t offset = 0;
    const auto bytes = static_cast<uint64_t>(fileBytes(dtype, *elementCount(extents)));
    uint64_t length = bytes;
    for (const auto& entry : proto.external_data()) {
        if (entry.key() == "location")
            location = entry.value();
        if (entry.key() != "offset" && entry.key() != "length")
            continue;
        auto value = unsignedFrom(entry.value(), entry.key().c_str(), where);
        if (!value)
            return failure(value.error());
        (entry.key() == "offset" ? offset : length) = *value;
    }
    if (length != bytes)
        return failure("load.tensor_size",
                       fmt::format("{}{} needs {} bytes, its entry `length` says {}", nameOf(dtype),
                                   text(extents), bytes, length),
                       where, "the model is damaged; export it again");
    auto storage = external.read(location, offset, bytes, sizeOf(dtype), where);
    if (!storage)
        return failure(storage.error());
    if (isPacked(dtype))
        return unpacked(dtype, std::move(extents), (*storage)->data());
    return Tensor(dtype, std::move(extents), std::move(*storage));
}

/// Position of the i-th entry of a sparse tensor in the dense one; -1 when out of range.
int64_t sparsePosition(const Tensor& indices, int64_t i, const Extents& extents, int64_t count) {
    if (indices.rank() == 1) {
        int64_t position = indices.intAt(i);
        return position >= 0 && position < count ? position : -1;
    }
    int64_t position = 0;
    auto rank = static_cast<int64_t>(extents.size());
    for (int64_t axis = 0; axis < rank; ++axis) {
        int64_t at = indices.intAt(i * rank + axis);
        int64_t extent = extents[static_cast<size_t>(axis)];
        if (at < 0 || at >= extent)
            return -1;
        position = position * extent + at;
    }
    return position;
}

} // namespace

Result<Tensor> tensorFrom(::onnx::TensorProto& proto, ExternalData& external,
                          const std::string& where) {
    auto dtype = dtypeFrom(proto.data_type(), where);
    if (!dtype)
        return failure(dtype.error());
    auto extents = extentsFrom(proto.dims(), where);
    if (!extents)
        return failure(extents.error());
    if (proto.has_segment())
        return failure("load.tensor_size", "tensors in segments are not supported", where,
                       "export the model again with a newer exporter");
    if (proto.data_location() == ::onnx::TensorProto::EXTERNAL)
        return fromExternal(proto, *dtype, std::move(*extents), external, where);
    if (!proto.has_raw_data() || *dtype == DType::String)
        return fromFields(proto, *dtype, *extents, where);
    const int64_t bytes = fileBytes(*dtype, *elementCount(*extents));
    if (proto.raw_data().size() != static_cast<uint64_t>(bytes)) {
        // Some writers set an empty raw_data beside typed data.
        if (proto.raw_data().empty())
            return fromFields(proto, *dtype, *extents, where);
        return sizeFailure(where, *extents, *dtype, bytes, proto.raw_data().size(), "bytes");
    }
    if (isPacked(*dtype))
        return unpacked(*dtype, std::move(*extents),
                        reinterpret_cast<const std::byte*>(proto.raw_data().data()));
    return Tensor(*dtype, std::move(*extents),
                  Storage::adopt(std::move(*proto.mutable_raw_data())));
}

Result<Tensor> tensorFrom(::onnx::SparseTensorProto& proto, ExternalData& external,
                          const std::string& where) {
    auto values = tensorFrom(*proto.mutable_values(), external, where);
    if (!values)
        return values;
    auto indices = tensorFrom(*proto.mutable_indices(), external, where);
    if (!indices)
        return indices;
    auto extents = extentsFrom(proto.dims(), where);
    if (!extents)
        return failure(extents.error());
    int64_t count = *elementCount(*extents);
    int64_t entries = values->elementCount();
    bool flat = indices->rank() == 1 && indices->elementCount() == entries;
    bool grid = indices->rank() == 2 && indices->extents()[0] == entries &&
                indices->extents()[1] == static_cast<int64_t>(extents->size());
    if (values->rank() != 1 || indices->dtype() != DType::Int64 || !(flat || grid) ||
        values->dtype() == DType::String)
        return failure("load.sparse", "values and indices of a sparse tensor do not fit", where,
                       "store the tensor densely");
    auto elementBytes = static_cast<int64_t>(sizeOf(values->dtype()));
    if (count > maxDenseBytes / elementBytes)
        return failure(
            "load.sparse",
            fmt::format("the dense form {} exceeds {} bytes", text(*extents), maxDenseBytes), where,
            "store the tensor as external data");
    Tensor out(values->dtype(), *extents);
    for (int64_t i = 0; i < entries; ++i) {
        int64_t position = sparsePosition(*indices, i, *extents, count);
        if (position < 0)
            return failure("load.sparse", fmt::format("index {} is outside {}", i, text(*extents)),
                           where, "the file is damaged; export the model again");
        std::memcpy(out.bytes() + position * elementBytes, values->bytes() + i * elementBytes,
                    static_cast<size_t>(elementBytes));
    }
    return out;
}

Tensor headTo(const Tensor& tensor, ::onnx::TensorProto& proto) {
    proto.set_data_type(protoDtype(tensor.dtype()));
    for (int64_t extent : tensor.extents())
        proto.add_dims(extent);
    if (!isPacked(tensor.dtype()))
        return tensor;
    std::string bytes = packed(tensor);
    const auto count = static_cast<int64_t>(bytes.size());
    return {DType::UInt8, {count}, Storage::adopt(std::move(bytes))};
}

void tensorTo(const Tensor& tensor, ::onnx::TensorProto& proto) {
    const Tensor data = headTo(tensor, proto);
    if (tensor.dtype() == DType::String)
        for (const std::string& value : tensor.strings())
            proto.add_string_data(value);
    else
        proto.set_raw_data(data.bytes(), data.byteCount());
}

} // namespace fuselage::model_io
