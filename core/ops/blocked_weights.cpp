// SPDX-License-Identifier: Apache-2.0
#include "core/ops/blocked_weights.h"

#include "core/ops/infer_support.h"
#include "core/ops/matmul.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

// Inputs besides A.
constexpr size_t weights = 1, scales = 2, zeroPoints = 3, order = 4, bias = 5;

void inferBlockedWeights(InferContext& context) {
    const auto geometry = BlockedWeights::of(context.node());
    if (!geometry)
        return context.fail(geometry.error().text());
    const Shape* a = shapeOf(context, 0);
    if (!a)
        return setTensor(context, 0, dtypeOf(context, 0), std::nullopt);
    if (a->empty() || (a->back().isNumber() && a->back().value() != geometry->k))
        return context.fail(
            fmt::format("MatMulNBits: {} does not end in K = {}", text(*a), geometry->k));
    Shape out = *a;
    out.back() = Dim(geometry->n);
    setTensor(context, 0, dtypeOf(context, 0), std::move(out));
}

} // namespace

Result<ReferenceValue> weightsAsFloats(const Node& node, const BlockedWeights& geometry,
                                       ReferenceInputs inputs) {
    const ReferenceValue& packed = *inputs[weights];
    const ReferenceValue& scale = *inputs[scales];
    const ReferenceValue* zero = inputAt(inputs, zeroPoints);
    const auto typeOf = [](const ReferenceValue& value) {
        return tensorType(value.dtype, toShape(value.extents));
    };
    const Type zeroType = zero ? typeOf(*zero) : Type{};
    if (auto misfit = geometry.misfit(typeOf(packed), typeOf(scale), zero ? &zeroType : nullptr))
        return misfitFailure(node, std::move(*misfit));
    if (inputAt(inputs, order))
        return badInput(node, "an order of its own (g_idx) is not computed");
    auto out = allocateResult(node, inputs[0]->dtype, {geometry.k, geometry.n});
    if (!out)
        return out;
    const std::vector<uint8_t> stored(packed.ints.begin(), packed.ints.end());
    const auto zeros = zero && !isFloat(zero->dtype)
                           ? std::vector<uint8_t>(zero->ints.begin(), zero->ints.end())
                           : std::vector<uint8_t>();
    for (int64_t n = 0; n < geometry.n; ++n)
        for (int64_t k = 0; k < geometry.k; ++k) {
            const int64_t block = k / geometry.block, at = n * geometry.blocks + block;
            const auto origin = !zeros.empty() ? static_cast<double>(geometry.unpacked(
                                                     zeros.data() + n * geometry.zeroBytes, block))
                                : zero         ? zero->at(at)
                                               : static_cast<double>(geometry.middle());
            const auto value = static_cast<double>(
                geometry.unpacked(stored.data() + at * geometry.blobBytes, k % geometry.block));
            out->floats[static_cast<size_t>(k * geometry.n + n)] = (value - origin) * scale.at(at);
        }
    return out;
}

namespace {

Results runBlockedWeights(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const auto geometry = BlockedWeights::of(node);
    if (!geometry)
        return failure(geometry.error());
    const ReferenceValue& a = *inputs[0];
    if (!isFloat(a.dtype) || a.extents.empty() || a.extents.back() != geometry->k)
        return badInput(node,
                        fmt::format("{} does not end in K = {}", text(a.extents), geometry->k));
    auto b = weightsAsFloats(node, *geometry, inputs);
    if (!b)
        return failure(b.error());
    auto out = matrixProduct(node, a, *b, a.dtype, context.threads());
    const ReferenceValue* added = inputAt(inputs, bias);
    if (!out || !added)
        return single(std::move(out));
    if (added->dtype != a.dtype || added->count() != geometry->n)
        return badInput(node, "the bias is not one number for each of N columns");
    for (size_t i = 0; i < out->floats.size(); ++i)
        out->floats[i] += added->floats[i % static_cast<size_t>(geometry->n)];
    return single(std::move(out));
}

} // namespace

Result<BlockedWeights> BlockedWeights::of(const Node& node) {
    BlockedWeights out;
    out.k = node.attributes.integer("K");
    out.n = node.attributes.integer("N");
    out.bits = node.attributes.integer("bits", 4);
    out.block = node.attributes.integer("block_size");
    constexpr int64_t largest = int64_t{1} << 40, largestBlock = 1 << 20;
    const bool whole = (out.block & (out.block - 1)) == 0;
    if (out.k < 1 || out.n < 1 || out.k > largest || out.n > largest || out.block < 16 ||
        out.block > largestBlock || !whole || (out.bits != 2 && out.bits != 4 && out.bits != 8))
        return badInput(node, fmt::format("K = {}, N = {}, {} bits and blocks of {} are no weights",
                                          out.k, out.n, out.bits, out.block));
    out.blocks = (out.k - 1) / out.block + 1;
    out.blobBytes = out.block * out.bits / 8;
    out.zeroBytes = (out.blocks * out.bits + 7) / 8;
    return out;
}

std::optional<Misfit> BlockedWeights::misfit(const Type& packed, const Type& scale,
                                             const Type* zero) const {
    const auto has = [](const Type& type, const Extents& extents) {
        const auto count = type.elementCount(), wanted = elementCount(extents);
        return !type.extents() || (count && wanted && *count == *wanted);
    };
    const auto unlike = [&](const char* what, const Type& type, const char* dtype,
                            const Extents& extents) {
        return Misfit{
            fmt::format("the {} {}, not those of N = {} columns of {} blocks of {} along "
                        "K = {}",
                        what, type.text(), n, blocks, block, k),
            fmt::format("{}{}, or another N, K, bits or block_size", dtype, text(extents))};
    };
    if (packed.dtype != DType::UInt8 || !has(packed, {n, blocks, blobBytes}))
        return unlike("weights are", packed, "uint8", {n, blocks, blobBytes});
    if (!isFloat(scale.dtype) || !has(scale, {n, blocks}))
        return unlike("scales are", scale, "float", {n, blocks});
    if (!zero)
        return std::nullopt;
    if (isFloat(zero->dtype) && !has(*zero, {n, blocks}))
        return unlike("zero points are", *zero, "float", {n, blocks});
    if (!isFloat(zero->dtype) && (zero->dtype != DType::UInt8 || !has(*zero, {n, zeroBytes})))
        return unlike("zero points are", *zero, "uint8", {n, zeroBytes});
    return std::nullopt;
}

std::span<const OpRow> blockedWeightRows() {
    static const OpRow rows[] = {
        {.op = Op::MatMulNBits,
         .name = "MatMulNBits",
         .domain = "com.microsoft",
         .minInputs = 3,
         .maxInputs = 6,
         .inputs = "A B scales zero_points g_idx bias",
         .attributes = "K:int! N:int! accuracy_level:int=0 bits:int=4 block_size:int!",
         .infer = inferBlockedWeights,
         .reference = onTensors<runBlockedWeights>},
    };
    return rows;
}

} // namespace fuselage
