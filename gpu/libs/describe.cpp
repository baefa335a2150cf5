// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/describe_internal.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

bool hasErfGelu(const GraphDescription& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode& node) {
        const auto* pointwise = std::get_if<PointwiseNode>(&node);
        return pointwise && pointwise->mode == PointwiseMode::GeluErf;
    });
}

} // namespace

std::variant<std::vector<GraphDescription>, Reason> describe(const KernelRequest& request) {
    auto one = std::holds_alternative<Attention>(request.program->code)
                   ? describeAttention(request)
                   : describeContraction(request, false);
    if (auto* reason = std::get_if<Reason>(&one))
        return std::move(*reason);
    std::vector<GraphDescription> out;
    out.push_back(std::move(std::get<GraphDescription>(one)));
    if (request.allowed == NumericClass::Approximate && hasErfGelu(out[0])) {
        auto other = describeContraction(request, true);
        if (auto* graph = std::get_if<GraphDescription>(&other)) {
            graph->form = "tanh";
            out.push_back(std::move(*graph));
        }
    }
    return out;
}

} // namespace fuselage::gpu
