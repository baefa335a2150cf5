// SPDX-License-Identifier: Apache-2.0
// A graph description as cuDNN's descriptors: tensors, operations, the operation graph. Makes no
// decision of its own.
#pragma once

#include "gpu/libs/cudnn_descriptor.h"
#include "gpu/libs/graph_description.h"

#include <variant>

namespace fuselage::gpu::cudnn {

/// The operation graph with everything it refers to.
struct OperationGraph {
    std::vector<Descriptor> parts;
    Descriptor graph;
};

/// `handle` may be null: the graph is then planned for given device properties.
std::variant<OperationGraph, Reason>
operationGraph(const LibraryPtr& library, const GraphDescription& description, Handle handle);

DataType dataType(DType type);

/// The unique id of tensor `index`.
inline int64_t uniqueId(size_t index) {
    return static_cast<int64_t>(index) + 1;
}

} // namespace fuselage::gpu::cudnn
