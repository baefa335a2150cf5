// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bit_cast.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <cstring>

namespace fuselage {

namespace {

std::optional<DType> targetOf(const Node& node) {
    return dtypeFromOnnx(node.attributes.integer("to"));
}

bool canBeRead(DType from, DType to) {
    return from != DType::String && to != DType::String && bitsOf(from) == bitsOf(to);
}

Result<std::vector<ReferenceValue>> runBitCast(const Node& node, ReferenceInputs inputs,
                                               ReferenceContext&) {
    const auto to = targetOf(node);
    if (!to || !canBeRead(inputs[0]->dtype, *to))
        return failure("reference.type", "BitCast wants a type of as many bits", node.name);
    const Tensor from = inputs[0]->toTensor();
    Tensor out(*to, from.extents());
    if (from.byteCount() > 0)
        std::memcpy(out.bytes(), from.bytes(), from.byteCount());
    return std::vector<ReferenceValue>{ReferenceValue::from(out)};
}

void inferBitCast(InferContext& context) {
    const auto to = targetOf(context.node());
    const DType from = dtypeOf(context, 0);
    const Shape* shape = shapeOf(context, 0);
    if (to && from != DType::Undefined && !canBeRead(from, *to))
        context.fail(
            fmt::format("BitCast: {} has not as many bits as {}", nameOf(*to), nameOf(from)));
    setTensor(context, 0, to.value_or(DType::Undefined),
              shape ? std::optional(*shape) : std::nullopt);
}

} // namespace

std::span<const OpRow> bitCastRows() {
    static constexpr OpRow rows[] = {
        {.op = Op::BitCast,
         .name = "BitCast",
         .since = 26,
         .traits = Discontinuous,
         .inputs = "input",
         .attributes = "to:int!",
         .infer = inferBitCast,
         .reference = onTensors<runBitCast>},
    };
    return rows;
}

} // namespace fuselage
