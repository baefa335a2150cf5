// SPDX-License-Identifier: Apache-2.0
// Every way in which a model message may be wrong at one place: operands, attributes, types and
// contents that its operators do not take. A list that depends on the message only; nothing here
// runs a model.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <string>
#include <vector>

namespace fuselage::fuzz {

struct Malformation {
    std::string label; ///< "Conv input 1: left out"
    std::function<void(::onnx::ModelProto&)> apply;
    bool refused = false; ///< no file like this is one: an error must say so
};

/// One change each: of a node, those of subgraphs and functions included, of a graph input or
/// output, of an initializer, of the opset.
std::vector<Malformation> malformationsOf(const ::onnx::ModelProto& model);

/// The numbers that break arithmetic on indices and sizes.
const std::vector<int64_t>& hostileIntegers();

} // namespace fuselage::fuzz
