// SPDX-License-Identifier: Apache-2.0
// The hash by which the engine notices that a phase has come back to a graph it had before.
#include "core/rewrite/state_hash.h"

#include "core/graph/text.h"
#include "core/support/hash.h"

#include <algorithm>

namespace fuselage {

namespace {

/// Large constants are sampled: the hash is for noticing repetition, not for identity.
void addTensor(Hasher& hasher, const Tensor& tensor) {
    constexpr size_t sampled = 4096;
    hasher.text(tensor.type().text());
    if (tensor.dtype() == DType::String) {
        for (const std::string& text : tensor.strings())
            hasher.text(text);
        return;
    }
    size_t size = tensor.byteCount();
    if (size <= sampled) {
        hasher.bytes(tensor.bytes(), size);
        return;
    }
    size_t stride = size / sampled;
    for (size_t at = 0; at < size; at += stride)
        hasher.bytes(tensor.bytes() + at, 1);
}

void addAttributes(Hasher& hasher, const Attributes& attributes) {
    for (const Attributes::Entry& entry : attributes) {
        hasher.text(entry.name).text(text(entry.value));
        if (const auto* tensor = std::get_if<TensorPtr>(&entry.value); tensor && *tensor)
            addTensor(hasher, **tensor);
        if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&entry.value); body && *body)
            hasher.number(stateHash(**body));
    }
}

} // namespace

uint64_t stateHash(const Graph& graph) {
    std::vector<NodeId> order = topologicalOrder(graph);
    std::vector<uint64_t> ids(graph.valueBound(), 0);
    uint64_t next = 0;
    for (ValueId input : graph.inputs())
        ids[input.index()] = ++next;
    for (ValueId capture : graph.captures())
        ids[capture.index()] = ++next;
    Hasher hasher;
    auto addValue = [&](ValueId value) {
        hasher.number(value.valid() ? ids[value.index()] : ~uint64_t{0});
        if (graph.isConstant(value))
            addTensor(hasher, *graph.value(value).constant);
    };
    for (NodeId id : order) {
        const Node& node = graph.node(id);
        hasher.text(opText(node)).number(node.inputs.size());
        for (ValueId input : node.inputs)
            addValue(input);
        addAttributes(hasher, node.attributes);
        if (node.body)
            hasher.number(stateHash(*node.body));
        for (ValueId output : node.outputs)
            if (output.valid())
                ids[output.index()] = ++next;
    }
    for (ValueId output : graph.outputs())
        addValue(output);
    return hasher.value();
}

} // namespace fuselage
