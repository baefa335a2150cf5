// SPDX-License-Identifier: Apache-2.0
// The order in which the nodes of one graph or function can be read: producers first. Files are
// not always in that order. Subgraphs count with the names that they read from outside.
#pragma once

#include "core/support/result.h"

#include <onnx/onnx_pb.h>

#include <string_view>
#include <unordered_map>
#include <vector>

namespace fuselage::model_io {

using NodeProtos = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;
using FreeNames = std::vector<std::string_view>;

/// Deepest nesting of subgraphs and function calls that is read.
constexpr int maxDepth = 200;

class NodeOrder {
public:
    /// Positions in `nodes`, in file order wherever that is possible; load.cycle with the nodes
    /// on the cycle, load.duplicate when two nodes make one name.
    Result<std::vector<int>> sort(const NodeProtos& nodes);

    /// The names that a subgraph reads from outside, without repetition.
    const FreeNames& freeNames(const ::onnx::GraphProto& graph, int depth = 0);

private:
    FreeNames dependencies(const ::onnx::NodeProto& node, int depth);

    std::unordered_map<const ::onnx::GraphProto*, FreeNames> m_freeNames;
};

/// How to call a node in a message: its name, or its operator and first output.
std::string nodeLabel(const ::onnx::NodeProto& node);

} // namespace fuselage::model_io
