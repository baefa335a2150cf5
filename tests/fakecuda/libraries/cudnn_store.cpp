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
    {Kind::Tensor, Attribute::TensorDataType, Type::DataType, 1},
    {Kind::Tensor, Attribute::TensorDimensions, Type::Int64, mostDims},
    {Kind::Tensor, Attribute::TensorStrides, Type::Int64, mostDims},
    {Kind::Tensor, Attribute::TensorUniqueId, Type::Int64, 1},
    {Kind::Tensor, Attribute::TensorAlignment, Type::Int64, 1},
    {Kind::Tensor, Attribute::TensorIsVirtual, Type::Boolean, 1, Use::Optional},
    {Kind::Tensor, Attribute::TensorIsByValue, Type::Boolean, 1, Use::Optional},
    {Kind::Convolution, Attribute::ConvolutionComputeType, Type::DataType, 1},
    {Kind::Convolution, Attribute::ConvolutionMode, Type::ConvolutionMode, 1},
    {Kind::Convolution, Attribute::ConvolutionSpatialDims, Type::Int64, 1},
    {Kind::Convolution, Attribute::ConvolutionDilations, Type::Int64, mostDims},
    {Kind::Convolution, Attribute::ConvolutionStrides, Type::Int64, mostDims},
    {Kind::Convolution, Attribute::ConvolutionPrePaddings, Type::Int64, mostDims},
    {Kind::Convolution, Attribute::ConvolutionPostPaddings, Type::Int64, mostDims},
    {Kind::OperationConvolutionForward, Attribute::ConvolutionForwardX, Type::Descriptor, 1},
    {Kind::OperationConvolutionForward, Attribute::ConvolutionForwardW, Type::Descriptor, 1},
    {Kind::OperationConvolutionForward, Attribute::ConvolutionForwardY, Type::Descriptor, 1},
    {Kind::OperationConvolutionForward, Attribute::ConvolutionForwardDescriptor, Type::Descriptor,
     1},
    {Kind::OperationConvolutionForward, Attribute::ConvolutionForwardAlpha, Type::Float, 1},
    {Kind::OperationConvolutionForward, Attribute::ConvolutionForwardBeta, Type::Float, 1},
    {Kind::Pointwise, Attribute::PointwiseMode, Type::PointwiseMode, 1},
    {Kind::Pointwise, Attribute::PointwiseMathType, Type::DataType, 1},
    {Kind::Pointwise, Attribute::PointwiseReluLowerClip, Type::Double, 1, Use::Optional},
    {Kind::Pointwise, Attribute::PointwiseReluUpperClip, Type::Double, 1, Use::Optional},
    {Kind::Pointwise, Attribute::PointwiseReluLowerClipSlope, Type::Double, 1, Use::Optional},
    {Kind::Pointwise, Attribute::PointwiseEluAlpha, Type::Double, 1, Use::Optional},
    {Kind::Pointwise, Attribute::PointwiseSoftplusBeta, Type::Double, 1, Use::Optional},
    {Kind::Pointwise, Attribute::PointwiseSwishBeta, Type::Double, 1, Use::Optional},
    {Kind::OperationPointwise, Attribute::PointwiseDescriptor, Type::Descriptor, 1},
    {Kind::OperationPointwise, Attribute::PointwiseX, Type::Descriptor, 1},
    {Kind::OperationPointwise, Attribute::PointwiseB, Type::Descriptor, 1, Use::Optional},
    {Kind::OperationPointwise, Attribute::PointwiseY, Type::Descriptor, 1},
    {Kind::MatMul, Attribute::MatMulComputeType, Type::DataType, 1},
    {Kind::OperationMatMul, Attribute::OperationMatMulA, Type::Descriptor, 1},
    {Kind::OperationMatMul, Attribute::OperationMatMulB, Type::Descriptor, 1},
    {Kind::OperationMatMul, Attribute::OperationMatMulC, Type::Descriptor, 1},
    {Kind::OperationMatMul, Attribute::OperationMatMulDescriptor, Type::Descriptor, 1},
    {Kind::Reduction, Attribute::ReductionOperator, Type::ReductionOperator, 1},
    {Kind::Reduction, Attribute::ReductionComputeType, Type::DataType, 1},
    {Kind::OperationReduction, Attribute::OperationReductionX, Type::Descriptor, 1},
    {Kind::OperationReduction, Attribute::OperationReductionY, Type::Descriptor, 1},
    {Kind::OperationReduction, Attribute::OperationReductionDescriptor, Type::Descriptor, 1},
    {Kind::OperationSdpaForward, Attribute::SdpaQ, Type::Descriptor, 1},
    {Kind::OperationSdpaForward, Attribute::SdpaK, Type::Descriptor, 1},
    {Kind::OperationSdpaForward, Attribute::SdpaV, Type::Descriptor, 1},
    {Kind::OperationSdpaForward, Attribute::SdpaO, Type::Descriptor, 1},
    {Kind::OperationSdpaForward, Attribute::SdpaScale, Type::Descriptor, 1, Use::Optional},
    {Kind::OperationGraph, Attribute::GraphHandle, Type::Handle, 1, Use::Optional},
    {Kind::OperationGraph, Attribute::GraphOperations, Type::Descriptor, 50},
    {Kind::EngineHeuristics, Attribute::HeuristicsGraph, Type::Descriptor, 1},
    {Kind::EngineHeuristics, Attribute::HeuristicsMode, Type::HeuristicsMode, 1},
    {Kind::EngineHeuristics, Attribute::HeuristicsResults, Type::Descriptor, 64, Use::ReadOnly},
    {Kind::EngineConfig, Attribute::ConfigEngine, Type::Descriptor, 1},
    {Kind::EngineConfig, Attribute::ConfigKnobChoices, Type::Descriptor, 64, Use::Optional},
    {Kind::EngineConfig, Attribute::ConfigWorkspaceSize, Type::Int64, 1, Use::ReadOnly},
    {Kind::Engine, Attribute::EngineGlobalIndex, Type::Int64, 1},
    {Kind::Engine, Attribute::EngineNumericalNotes, Type::NumericalNote, 16, Use::ReadOnly},
    {Kind::Engine, Attribute::EngineBehaviorNotes, Type::BehaviorNote, 16, Use::ReadOnly},
    {Kind::KnobChoice, Attribute::KnobChoiceType, Type::KnobType, 1},
    {Kind::KnobChoice, Attribute::KnobChoiceValue, Type::Int64, 1},
    {Kind::ExecutionPlan, Attribute::PlanHandle, Type::Handle, 1},
    {Kind::ExecutionPlan, Attribute::PlanEngineConfig, Type::Descriptor, 1, Use::Optional},
    {Kind::ExecutionPlan, Attribute::PlanJson, Type::Char, 1 << 20, Use::Optional},
    {Kind::ExecutionPlan, Attribute::PlanWorkspaceSize, Type::Int64, 1, Use::ReadOnly},
    {Kind::VariantPack, Attribute::PackUniqueIds, Type::Int64, 256},
    {Kind::VariantPack, Attribute::PackPointers, Type::VoidPointer, 256},
    {Kind::VariantPack, Attribute::PackWorkspace, Type::VoidPointer, 1},
};

const Row* rowOf(Kind kind, Attribute attribute) {
    for (const Row& row : table)
        if (row.kind == kind && row.attribute == attribute)
            return &row;
    return nullptr;
}

size_t sizeOf(Type type) {
    switch (type) {
    case Type::Boolean:
    case Type::Char:
        return 1;
    case Type::Handle:
    case Type::Int64:
    case Type::Double:
    case Type::VoidPointer:
    case Type::Descriptor:
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
    if (type != Type::Descriptor) {
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
    if (type != Type::Descriptor) {
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
