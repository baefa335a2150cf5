// SPDX-License-Identifier: Apache-2.0
// Element types and value types of ONNX files.
#include "core/onnx/proto_internal.h"
#include "core/support/checked.h"

#include <fmt/format.h>

#include <cassert>

namespace fuselage::model_io {

namespace {

Result<Shape> shapeFrom(const ::onnx::TensorShapeProto& proto, const std::string& where) {
    Shape shape;
    int64_t product = 1;
    for (int axis = 0; axis < proto.dim_size(); ++axis) {
        const auto& dim = proto.dim(axis);
        if (dim.has_dim_value() && dim.dim_value() >= 0) {
            auto next = checkedMultiply(product, std::max<int64_t>(dim.dim_value(), 1));
            // Bytes of the widest element type must fit as well.
            if (!next || !checkedMultiply(*next, 16))
                return failure("load.dimensions", "the product of the dimensions overflows", where,
                               "check the declared shape");
            product = *next;
            shape.emplace_back(dim.dim_value());
        } else if (dim.has_dim_param() && !dim.dim_param().empty()) {
            shape.push_back(Dim::symbol(dim.dim_param()));
        } else {
            shape.emplace_back();
        }
    }
    return shape;
}

Result<Type> tensorTypeFrom(const ::onnx::TypeProto::Tensor& proto, const std::string& where) {
    Type type;
    if (proto.elem_type() != 0) {
        auto dtype = dtypeFrom(proto.elem_type(), where);
        if (!dtype)
            return failure(dtype.error());
        type.dtype = *dtype;
    }
    if (!proto.has_shape())
        return type;
    auto shape = shapeFrom(proto.shape(), where);
    if (!shape)
        return failure(shape.error());
    type.shape = std::move(*shape);
    return type;
}

/// "map(int64,seq(float))": without extents.
std::string shortText(const ::onnx::TypeProto& proto) {
    switch (proto.value_case()) {
    case ::onnx::TypeProto::kTensorType:
        return protoDtypeName(proto.tensor_type().elem_type());
    case ::onnx::TypeProto::kSparseTensorType:
        return "sparse(" + protoDtypeName(proto.sparse_tensor_type().elem_type()) + ")";
    case ::onnx::TypeProto::kSequenceType:
        return "seq(" + shortText(proto.sequence_type().elem_type()) + ")";
    case ::onnx::TypeProto::kOptionalType:
        return "optional(" + shortText(proto.optional_type().elem_type()) + ")";
    case ::onnx::TypeProto::kMapType:
        return "map(" + protoDtypeName(proto.map_type().key_type()) + "," +
               shortText(proto.map_type().value_type()) + ")";
    default:
        return "undeclared";
    }
}

Type foreignType(const ::onnx::TypeProto& proto) {
    Type out;
    out.kind = TypeKind::Foreign;
    out.foreign =
        std::make_shared<ForeignType>(ForeignType{shortText(proto), proto.SerializeAsString()});
    return out;
}

} // namespace

Result<DType> dtypeFrom(int32_t elementType, const std::string& where) {
    auto type = dtypeFromOnnx(elementType);
    if (type && *type != DType::Undefined)
        return *type;
    return failure("load.dtype",
                   fmt::format("element type {} is not supported", protoDtypeName(elementType)),
                   where, "convert it to a float, integer, bool or string type");
}

int32_t protoDtype(DType type) {
    return static_cast<int32_t>(onnxNumber(type));
}

std::string protoDtypeName(int32_t elementType) {
    auto known = dtypeFromOnnx(elementType);
    return known ? nameOf(*known) : fmt::format("number {}", elementType);
}

Result<Type> typeFrom(const ::onnx::TypeProto& proto, const std::string& where) {
    switch (proto.value_case()) {
    case ::onnx::TypeProto::kTensorType:
        return tensorTypeFrom(proto.tensor_type(), where);
    case ::onnx::TypeProto::kSequenceType:
    case ::onnx::TypeProto::kOptionalType: {
        bool sequence = proto.value_case() == ::onnx::TypeProto::kSequenceType;
        const auto& element =
            sequence ? proto.sequence_type().elem_type() : proto.optional_type().elem_type();
        auto type = typeFrom(element, where);
        if (!type)
            return type;
        bool inSequence = type->kind == TypeKind::Sequence;
        if (type->kind == TypeKind::Optional || type->kind == TypeKind::Foreign ||
            (sequence && inSequence))
            return foreignType(proto);
        type->ofSequence = inSequence;
        type->kind = sequence ? TypeKind::Sequence : TypeKind::Optional;
        return type;
    }
    case ::onnx::TypeProto::VALUE_NOT_SET:
        return Type();
    default:
        return foreignType(proto);
    }
}

void typeTo(const Type& type, ::onnx::TypeProto& proto) {
    if (type.kind == TypeKind::Foreign) {
        [[maybe_unused]] const bool isWhole = proto.ParseFromString(type.foreign->proto);
        assert(isWhole && "a type that was read before");
        return;
    }
    if (type.kind == TypeKind::Sequence)
        return typeTo({TypeKind::Tensor, type.dtype, type.shape},
                      *proto.mutable_sequence_type()->mutable_elem_type());
    if (type.kind == TypeKind::Optional)
        return typeTo(
            {type.ofSequence ? TypeKind::Sequence : TypeKind::Tensor, type.dtype, type.shape},
            *proto.mutable_optional_type()->mutable_elem_type());
    auto* tensor = proto.mutable_tensor_type();
    tensor->set_elem_type(protoDtype(type.dtype));
    if (!type.shape)
        return;
    auto* shape = tensor->mutable_shape();
    for (const Dim& dim : *type.shape) {
        auto* out = shape->add_dim();
        if (dim.isNumber())
            out->set_dim_value(dim.value());
        else if (dim.isSymbolic())
            out->set_dim_param(dim.text());
    }
}

::onnx::AttributeProto::AttributeType kindOf(const ::onnx::AttributeProto& proto) {
    using ::onnx::AttributeProto;
    if (proto.type() != AttributeProto::UNDEFINED)
        return proto.type();
    if (proto.has_f())
        return AttributeProto::FLOAT;
    if (proto.has_i())
        return AttributeProto::INT;
    if (proto.has_s())
        return AttributeProto::STRING;
    if (proto.has_t())
        return AttributeProto::TENSOR;
    if (proto.has_g())
        return AttributeProto::GRAPH;
    if (proto.floats_size() != 0)
        return AttributeProto::FLOATS;
    if (proto.ints_size() != 0)
        return AttributeProto::INTS;
    return proto.strings_size() != 0 ? AttributeProto::STRINGS : AttributeProto::UNDEFINED;
}

} // namespace fuselage::model_io
