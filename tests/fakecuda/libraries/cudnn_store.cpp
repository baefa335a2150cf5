// SPDX-License-Identifier: Apache-2.0
#include "tests/fakecuda/libraries/cudnn_store.h"

#include <algorithm>
#include <set>

namespace fakelibs {

namespace {

using dnn::Attribute;
using dnn::Kind;
using dnn::Type;

enum class Use : uint8_t { Required, Optional, ReadOnly };

struct Row {
    Kind kind;
    Attribute attribute;
    Type type;
    int64_t most; ///< elements
    Use use = Use::Required;
};

constexpr int64_t mostDims = 8;

const Row table[] = {
    {Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR, Attribute::CUDNN_ATTR_TENSOR_DATA_TYPE,
     Type::CUDNN_TYPE_DATA_TYPE, 1},
    {Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR, Attribute::CUDNN_ATTR_TENSOR_DIMENSIONS,
     Type::CUDNN_TYPE_INT64, mostDims},
    {Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR, Attribute::CUDNN_ATTR_TENSOR_STRIDES,
     Type::CUDNN_TYPE_INT64, mostDims},
    {Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR, Attribute::CUDNN_ATTR_TENSOR_UNIQUE_ID,
     Type::CUDNN_TYPE_INT64, 1},
    {Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR, Attribute::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT,
     Type::CUDNN_TYPE_INT64, 1},
    {Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR, Attribute::CUDNN_ATTR_TENSOR_IS_VIRTUAL,
     Type::CUDNN_TYPE_BOOLEAN, 1, Use::Optional},
    {Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR, Attribute::CUDNN_ATTR_TENSOR_IS_BY_VALUE,
     Type::CUDNN_TYPE_BOOLEAN, 1, Use::Optional},
    {Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, Attribute::CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
     Type::CUDNN_TYPE_DATA_TYPE, 1},
    {Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, Attribute::CUDNN_ATTR_CONVOLUTION_CONV_MODE,
     Type::CUDNN_TYPE_CONVOLUTION_MODE, 1},
    {Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, Attribute::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
     Type::CUDNN_TYPE_INT64, 1},
    {Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, Attribute::CUDNN_ATTR_CONVOLUTION_DILATIONS,
     Type::CUDNN_TYPE_INT64, mostDims},
    {Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, Attribute::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
     Type::CUDNN_TYPE_INT64, mostDims},
    {Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, Attribute::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
     Type::CUDNN_TYPE_INT64, mostDims},
    {Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, Attribute::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
     Type::CUDNN_TYPE_INT64, mostDims},
    {Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, Type::CUDNN_TYPE_FLOAT, 1},
    {Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, Type::CUDNN_TYPE_FLOAT, 1},
    {Kind::CUDNN_BACKEND_POINTWISE_DESCRIPTOR, Attribute::CUDNN_ATTR_POINTWISE_MODE,
     Type::CUDNN_TYPE_POINTWISE_MODE, 1},
    {Kind::CUDNN_BACKEND_POINTWISE_DESCRIPTOR, Attribute::CUDNN_ATTR_POINTWISE_MATH_PREC,
     Type::CUDNN_TYPE_DATA_TYPE, 1},
    {Kind::CUDNN_BACKEND_POINTWISE_DESCRIPTOR, Attribute::CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP,
     Type::CUDNN_TYPE_DOUBLE, 1, Use::Optional},
    {Kind::CUDNN_BACKEND_POINTWISE_DESCRIPTOR, Attribute::CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP,
     Type::CUDNN_TYPE_DOUBLE, 1, Use::Optional},
    {Kind::CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
     Attribute::CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, Type::CUDNN_TYPE_DOUBLE, 1,
     Use::Optional},
    {Kind::CUDNN_BACKEND_POINTWISE_DESCRIPTOR, Attribute::CUDNN_ATTR_POINTWISE_ELU_ALPHA,
     Type::CUDNN_TYPE_DOUBLE, 1, Use::Optional},
    {Kind::CUDNN_BACKEND_POINTWISE_DESCRIPTOR, Attribute::CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA,
     Type::CUDNN_TYPE_DOUBLE, 1, Use::Optional},
    {Kind::CUDNN_BACKEND_POINTWISE_DESCRIPTOR, Attribute::CUDNN_ATTR_POINTWISE_SWISH_BETA,
     Type::CUDNN_TYPE_DOUBLE, 1, Use::Optional},
    {Kind::CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR,
     1},
    {Kind::CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_POINTWISE_XDESC, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_POINTWISE_BDESC, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     Use::Optional},
    {Kind::CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_POINTWISE_YDESC, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_MATMUL_DESCRIPTOR, Attribute::CUDNN_ATTR_MATMUL_COMP_TYPE,
     Type::CUDNN_TYPE_DATA_TYPE, 1},
    {Kind::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, Attribute::CUDNN_ATTR_OPERATION_MATMUL_ADESC,
     Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, Attribute::CUDNN_ATTR_OPERATION_MATMUL_BDESC,
     Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, Attribute::CUDNN_ATTR_OPERATION_MATMUL_CDESC,
     Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, Attribute::CUDNN_ATTR_OPERATION_MATMUL_DESC,
     Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_REDUCTION_DESCRIPTOR, Attribute::CUDNN_ATTR_REDUCTION_OPERATOR,
     Type::CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1},
    {Kind::CUDNN_BACKEND_REDUCTION_DESCRIPTOR, Attribute::CUDNN_ATTR_REDUCTION_COMP_TYPE,
     Type::CUDNN_TYPE_DATA_TYPE, 1},
    {Kind::CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_REDUCTION_XDESC, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_REDUCTION_YDESC, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_REDUCTION_DESC, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
     Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     Use::Optional},
    {Kind::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, Attribute::CUDNN_ATTR_OPERATIONGRAPH_HANDLE,
     Type::CUDNN_TYPE_HANDLE, 1, Use::Optional},
    {Kind::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, Attribute::CUDNN_ATTR_OPERATIONGRAPH_OPS,
     Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 50},
    {Kind::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, Attribute::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
     Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, Attribute::CUDNN_ATTR_ENGINEHEUR_MODE,
     Type::CUDNN_TYPE_HEUR_MODE, 1},
    {Kind::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, Attribute::CUDNN_ATTR_ENGINEHEUR_RESULTS,
     Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 64, Use::ReadOnly},
    {Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, Attribute::CUDNN_ATTR_ENGINECFG_ENGINE,
     Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, Attribute::CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
     Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 64, Use::Optional},
    {Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, Attribute::CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE,
     Type::CUDNN_TYPE_INT64, 1, Use::ReadOnly},
    {Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR, Attribute::CUDNN_ATTR_ENGINE_GLOBAL_INDEX,
     Type::CUDNN_TYPE_INT64, 1},
    {Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR, Attribute::CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
     Type::CUDNN_TYPE_NUMERICAL_NOTE, 16, Use::ReadOnly},
    {Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR, Attribute::CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
     Type::CUDNN_TYPE_BEHAVIOR_NOTE, 16, Use::ReadOnly},
    {Kind::CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, Attribute::CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
     Type::CUDNN_TYPE_KNOB_TYPE, 1},
    {Kind::CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, Attribute::CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE,
     Type::CUDNN_TYPE_INT64, 1},
    {Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, Attribute::CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
     Type::CUDNN_TYPE_HANDLE, 1},
    {Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
     Attribute::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     Use::Optional},
    {Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
     Attribute::CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, Type::CUDNN_TYPE_CHAR, 1 << 20,
     Use::Optional},
    {Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
     Attribute::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, Type::CUDNN_TYPE_INT64, 1, Use::ReadOnly},
    {Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, Attribute::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
     Type::CUDNN_TYPE_INT64, 256},
    {Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, Attribute::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
     Type::CUDNN_TYPE_VOID_PTR, 256},
    {Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, Attribute::CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
     Type::CUDNN_TYPE_VOID_PTR, 1},
};

const Row* rowOf(Kind kind, Attribute attribute) {
    for (const Row& row : table)
        if (row.kind == kind && row.attribute == attribute)
            return &row;
    return nullptr;
}

size_t sizeOf(Type type) {
    switch (type) {
    case Type::CUDNN_TYPE_BOOLEAN:
    case Type::CUDNN_TYPE_CHAR:
        return 1;
    case Type::CUDNN_TYPE_HANDLE:
    case Type::CUDNN_TYPE_INT64:
    case Type::CUDNN_TYPE_DOUBLE:
    case Type::CUDNN_TYPE_VOID_PTR:
    case Type::CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return 8;
    default:
        return 4; // enumerators and float
    }
}

thread_local std::string words;

std::string number(Attribute attribute) {
    return "attribute " + std::to_string(static_cast<int>(attribute));
}

} // namespace

int refuse(int status, const std::string& text) {
    words = text;
    return status;
}

const std::string& lastWords() {
    return words;
}

bool isKind(int kind) {
    return std::any_of(std::begin(table), std::end(table),
                       [&](const Row& row) { return static_cast<int>(row.kind) == kind; });
}

int setValues(Owner& owner, Attribute attribute, Type type, int64_t count, const void* from) {
    Object& object = *owner.object;
    if (object.finished)
        return refuse(DnnBadParam, "the descriptor is finished");
    const Row* row = rowOf(object.kind, attribute);
    if (row == nullptr || row->use == Use::ReadOnly)
        return refuse(DnnBadParam, number(attribute) + " is none of the kind");
    if (row->type != type || count < 1 || count > row->most || from == nullptr)
        return refuse(DnnBadParam, number(attribute) + " has another type or count");
    Values made{type, count, {}, {}};
    if (type != Type::CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        const auto* begin = static_cast<const std::byte*>(from);
        made.bytes.assign(begin, begin + static_cast<size_t>(count) * sizeOf(type));
    } else {
        for (int64_t i = 0; i < count; ++i) {
            const Owner* to = static_cast<Owner* const*>(from)[i];
            if (to == nullptr || !to->object->finished)
                return refuse(to == nullptr ? DnnNullPointer : DnnNotFinalized,
                              number(attribute) + " refers to an unfinished descriptor");
            made.references.push_back(to->object);
        }
    }
    object.values[attribute] = std::move(made);
    return DnnSuccess;
}

int readValues(const Owner& owner, Attribute attribute, Type type, int64_t room, int64_t* count,
               void* to) {
    const Object& object = *owner.object;
    if (!object.finished)
        return refuse(DnnNotFinalized, "the descriptor is not finished");
    const Row* row = rowOf(object.kind, attribute);
    if (row == nullptr || row->type != type)
        return refuse(DnnBadParam, number(attribute) + " is none of the kind");
    const Values* found = object.find(attribute);
    *count = found == nullptr ? 0 : found->count;
    const int64_t given = to == nullptr ? 0 : std::min(room, *count);
    if (type != Type::CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        if (given > 0)
            std::memcpy(to, found->bytes.data(), static_cast<size_t>(given) * sizeOf(type));
        return DnnSuccess;
    }
    for (int64_t i = 0; i < given; ++i) {
        Owner* target = static_cast<Owner* const*>(to)[i];
        const Object& source = *found->references[static_cast<size_t>(i)];
        if (target == nullptr || target->object->kind != source.kind)
            return refuse(DnnBadParam, "the results want descriptors of their kind");
        target->object = std::make_shared<Object>(source);
    }
    return DnnSuccess;
}

int lacking(const Object& object) {
    for (const Row& row : table)
        if (row.kind == object.kind && row.use == Use::Required &&
            object.find(row.attribute) == nullptr)
            return static_cast<int>(row.attribute);
    return -1;
}

} // namespace fakelibs
