// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/few_bits_product.h"

#include "core/graph/graph.h"
#include "core/ops/blocked_weights.h"

namespace fuselage {

std::optional<FewBitsProduct> fewBitsProduct(const KernelProgram& program) {
    const auto* code = std::get_if<Library>(&program.code);
    if (code == nullptr || !program.body)
        return std::nullopt;
    const Node& node = program.body->node(code->node);
    if (node.op != Op::MatMulNBits)
        return std::nullopt;
    const auto geometry = BlockedWeights::of(node);
    const auto results = program.body->value(node.outputs[0]).type.elementCount();
    if (!geometry || !results)
        return std::nullopt;
    return FewBitsProduct{*results / geometry->n, geometry->n, geometry->k,
                          program.body->value(node.inputs[0]).type.dtype};
}

} // namespace fuselage
