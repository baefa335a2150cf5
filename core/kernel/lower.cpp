// SPDX-License-Identifier: Apache-2.0
// lower(): sorts the nodes of a body into classes and hands it to the program kind that its anchor
// asks for. A single node that no kind takes becomes a Library program.
#include "core/kernel/lower.h"

#include "core/graph/subgraph.h"
#include "core/kernel/lower_body_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <unordered_map>

namespace fuselage {

namespace {

struct Classes {
    std::vector<NodeId> contractions, reductions, pools, copies, elementwise, others;

    explicit Classes(const LowerBody& body)
        : contractions(body.nodesOf(NodeClass::Contraction)),
          reductions(body.nodesOf(NodeClass::Reduction)), pools(body.nodesOf(NodeClass::Pool)),
          copies(body.nodesOf(NodeClass::Copying)),
          elementwise(body.nodesOf(NodeClass::Elementwise)),
          others(body.nodesOf(NodeClass::Other)) {}
};

Reason unsupported(const LowerBody& body, const std::vector<NodeId>& others) {
    const Node& first = body.node(others.front());
    return {"unsupported-op",
            fmt::format("{} runs as a library routine of its own", describe(first)),
            "leave it out of the match",
            {{"node", first.name}, {"count", std::to_string(others.size())}}};
}

Reason pairRefusal(const LowerBody& body, NodeId a, const char* aKind, NodeId b, const char* bKind,
                   const char* why) {
    return kindReason(
        aKind, bKind,
        fmt::format("{} and {}: {}", describe(body.node(a)), describe(body.node(b)), why),
        "match one of them only");
}

/// Anchors that no program holds together; none when the classes go with one kind.
std::optional<Reason> clash(const LowerBody& body, const Classes& classes) {
    const auto& [contractions, reductions, pools, copies, elementwise, others] = classes;
    if (!others.empty())
        return unsupported(body, others);
    if (!contractions.empty() && !reductions.empty())
        return pairRefusal(body, contractions[0], "Contraction", reductions[0], "Row",
                           "a reduction over results crosses the tiles of the contraction");
    if (!reductions.empty() && !pools.empty())
        return pairRefusal(body, pools[0], "Window", reductions[0], "Row",
                           "a reduction needs the windows of a whole row");
    if (pools.size() > 1)
        return pairRefusal(body, pools[0], "Window", pools[1], "Window",
                           "windows of windows overlap");
    if (!copies.empty()) {
        const char* kind = !contractions.empty() ? "Contraction"
                           : !reductions.empty() ? "Row"
                           : !pools.empty()      ? "Window"
                                                 : nullptr;
        NodeId anchor = !contractions.empty() ? contractions[0]
                        : !reductions.empty() ? reductions[0]
                        : !pools.empty()      ? pools[0]
                                              : NodeId();
        if (kind)
            return pairRefusal(body, copies[0], "Copy", anchor, kind,
                               "pieces of several operands are no affine read");
    }
    return std::nullopt;
}

/// A view that makes of one operand or result another that lies differently: a library may add up
/// the terms of such a product, pool or reduction in another order.
std::optional<Reason> reorders(const LowerBody& body, const Classes& classes) {
    const std::vector<NodeId>* anchors[] = {&classes.contractions, &classes.reductions,
                                            &classes.pools};
    for (const std::vector<NodeId>* anchor : anchors)
        for (NodeId id : body.nodesOf(NodeClass::View))
            if (!anchor->empty() && !hasTrait(body.node(id).op, View))
                return Reason{"numeric-class",
                              fmt::format("{} and {}: sums over values that lie differently may be "
                                          "taken in another order",
                                          describe(body.node(id)),
                                          describe(body.node(anchor->front()))),
                              "match one of them only",
                              {{"need", nameOf(NumericClass::Reassociated)},
                               {"allowed", nameOf(NumericClass::Exact)}}};
    return std::nullopt;
}

LowerResult lowerByClass(const LowerBody& body) {
    Classes classes(body);
    const bool hasSink =
        classes.copies.size() == 1 && body.node(classes.copies[0]).op == Op::Concat;
    const bool attentionShaped = classes.contractions.size() == 2 && classes.others.empty() &&
                                 classes.pools.empty() && (classes.copies.empty() || hasSink) &&
                                 classes.reductions.size() == 1 &&
                                 body.node(classes.reductions[0]).op == Op::Softmax;
    if (attentionShaped)
        return lowerAttention(body);
    if (classes.contractions.size() > 1)
        return pairRefusal(body, classes.contractions[0], "Contraction", classes.contractions[1],
                           "Contraction", "each needs its own accumulators");
    if (auto reason = clash(body, classes))
        return *reason;
    if (body.strict())
        if (auto reason = reorders(body, classes))
            return *reason;
    if (!classes.contractions.empty())
        return lowerContraction(body);
    if (!classes.reductions.empty())
        return lowerRow(body);
    if (!classes.pools.empty())
        return lowerWindow(body);
    if (classes.elementwise.empty() || (!classes.copies.empty() && movesStored(body)))
        return lowerCopy(body);
    if (!classes.copies.empty())
        return lowerPieces(body);
    return lowerPointwise(body);
}

bool hasRoutine(const Node& node) {
    return node.op != Op::Unknown && node.op != Op::Fused &&
           (rowOf(node.op).reference || rowOf(node.op).tape);
}

} // namespace

KernelProgram libraryProgram(const LowerRequest& request) {
    KernelProgram out;
    out.code = Library{request.body->nodes().front()};
    out.body = request.body;
    auto operandOf = [&](ValueId id) {
        const Type& type = request.body->value(id).type;
        return OperandType{type.dtype, type.extents().value_or(Extents{})};
    };
    for (ValueId id : request.body->inputs())
        out.inputs.push_back(operandOf(id));
    for (ValueId id : request.body->outputs())
        out.outputs.push_back(operandOf(id));
    return out;
}

LowerResult lower(const LowerRequest& request) {
    assert(request.body && "a request without a body");
    std::vector<NodeId> nodes = request.body->nodes();
    LowerResult result = [&]() -> LowerResult {
        if (nodes.empty() || request.body->outputs().empty())
            return Reason{"unsupported-op", "the body has no nodes or no outputs", "", {}};
        std::variant<LowerBody, Reason> body = LowerBody::make(request);
        if (auto* reason = std::get_if<Reason>(&body))
            return std::move(*reason);
        return lowerByClass(std::get<LowerBody>(body));
    }();
    auto* reason = std::get_if<Reason>(&result);
    if (reason && reason->code != "dynamic-dim" && nodes.size() == 1 &&
        hasRoutine(request.body->node(nodes[0])))
        return libraryProgram(request);
    return result;
}

LowerResult lowerWithin(LowerRequest request, NumericClass allowed) {
    request.strict = request.strict || allowed == NumericClass::Exact;
    LowerResult out = lower(request);
    const auto* program = std::get_if<KernelProgram>(&out);
    if (!program || program->numeric <= allowed || request.body->nodes().size() == 1)
        return out;
    return Reason{
        "numeric-class",
        fmt::format("one program of class {}, allowed is {}", nameOf(program->numeric),
                    nameOf(allowed)),
        fmt::format("`numeric {};` in the rule, and no `--strict`", nameOf(program->numeric)),
        {{"need", nameOf(program->numeric)}, {"allowed", nameOf(allowed)}}};
}

LowerRequest bodyOf(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    LowerRequest out;
    for (ValueId result : node.outputs)
        if (result.valid())
            out.results.push_back(result);
    if (node.op == Op::Fused) {
        out.body = withoutFused(node.body);
        out.operands = node.inputs;
    } else {
        Graph body(node.name);
        std::unordered_map<ValueId, ValueId> map;
        NodeSpec spec{node.op, node.name, {}, {}, node.attributes, node.provenance};
        for (ValueId input : node.inputs) {
            if (input.valid() && !map.contains(input)) {
                map[input] = body.addInput(graph.value(input).name, graph.value(input).type);
                out.operands.push_back(input);
            }
            spec.inputs.push_back(input.valid() ? map[input] : ValueId());
        }
        for (ValueId output : node.outputs)
            spec.outputs.push_back(output.valid() ? graph.value(output).name : "");
        NodeId copy = body.addNode(std::move(spec));
        Node& made = body.edit(copy);
        made.explicitInputs = node.explicitInputs;
        made.customDomain = node.customDomain;
        made.customOp = node.customOp;
        made.notComputed = node.notComputed;
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            if (!node.outputs[i].valid())
                continue;
            body.setType(made.outputs[i], graph.value(node.outputs[i]).type);
            body.addOutput(made.outputs[i]);
        }
        out.body = std::make_shared<const Graph>(std::move(body));
    }
    for (ValueId operand : out.operands)
        out.constants.push_back(operand.valid() ? graph.value(operand).constant : nullptr);
    return out;
}

} // namespace fuselage
