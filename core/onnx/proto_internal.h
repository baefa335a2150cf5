// SPDX-License-Identifier: Apache-2.0
// Conversions between protobuf messages and core/graph's data types: element types, types,
// tensors. Internal to core/onnx; no other room includes protobuf.
#pragma once

#include "core/graph/graph.h"
#include "core/onnx/external_data_internal.h"
#include "core/support/result.h"

#include <onnx/onnx_pb.h>

#include <string>

namespace fuselage::model_io {

/// The element type, or load.dtype for those that Fuselage does not compute with.
Result<DType> dtypeFrom(int32_t elementType, const std::string& where);
int32_t protoDtype(DType type);

/// "float8e4m3fn" for 17 ...: what to call an element type in a message.
std::string protoDtypeName(int32_t elementType);

/// Dimensions without a number and a name are unknown; core/passes names those of inputs.
Result<Type> typeFrom(const ::onnx::TypeProto& proto, const std::string& where);
void typeTo(const Type& type, ::onnx::TypeProto& proto);

/// Moves the data out of `proto`; sizes are checked against the dimensions.
Result<Tensor> tensorFrom(::onnx::TensorProto& proto, ExternalData& external,
                          const std::string& where);
/// The dense form of a sparse tensor.
Result<Tensor> tensorFrom(::onnx::SparseTensorProto& proto, ExternalData& external,
                          const std::string& where);
/// All but the data, which is given as a file has it; not of strings.
Tensor headTo(const Tensor& tensor, ::onnx::TensorProto& proto);
/// With raw_data, or string_data for strings.
void tensorTo(const Tensor& tensor, ::onnx::TensorProto& proto);

/// The declared kind; files of early versions leave it out, then the field that is set decides.
::onnx::AttributeProto::AttributeType kindOf(const ::onnx::AttributeProto& proto);

/// What an initializer without its data file is in a Graph: a node with the entries of the file's
/// external data as attributes.
constexpr const char* absentDomain = "fuselage";
constexpr const char* absentOp = "AbsentData";

} // namespace fuselage::model_io
