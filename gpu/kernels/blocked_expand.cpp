// SPDX-License-Identifier: Apache-2.0
// The launch in front of a product of many rows that makes its weights, stored in a few bits, a
// matrix in scratch memory once, where tiles would make elements of them for each of their rows.
#include "gpu/kernels/blocked_operands.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <utility>

namespace fuselage::gpu {

namespace {

constexpr int64_t runsOfThread = 4; ///< of 8 elements, their loads under way together

KernelPart expandPart(const BlockedStorage& storage, const std::string& weights, DType element) {
    const BlockedWeights& geometry = storage.geometry;
    const int64_t runs = geometry.k / 8 * geometry.n, perBlock = runsOfThread * defaultThreads;
    const bool nibbles = geometry.bits == 4;
    KernelPart out;
    out.helpers = {"vectors", "nibbles"};
    out.blocks = divideUp(runs, perBlock);
    out.comment = {fmt::format("{} columns of {} weights of {} bits become elements in scratch "
                               "memory, 8 at a time",
                               geometry.n, geometry.k, geometry.bits)};
    out.extra = {
        {fmt::format("{}*", storageType(element)), "made0", {KernelArgument::Kind::Scratch, 0, 0}}};
    const std::string zeros =
        storage.zeros.empty()
            ? std::string()
            : fmt::format("            const {} zero = {}[{}];\n", storageType(storage.zeroType),
                          storage.zeros, zeroIndex(storage));
    out.body = fmt::format(
        "#pragma unroll\n    for (int i = 0; i < {0}; ++i) {{\n"
        "        const unsigned run = block * {1}u + threadIdx.x + i * {2}u;\n"
        "        if (run < {3}u) {{\n"
        "            const unsigned n = run / {4}u, k = run % {4}u * 8u;\n"
        "            unsigned words[{5}];\n"
        "            loadWords<{6}>({7} + (n * {8}u + {9}), words);\n"
        "            const {10} scale = {11}[{12}];\n{13}            {{\n",
        runsOfThread, perBlock, defaultThreads, runs, geometry.k / 8, nibbles ? 1 : 2,
        geometry.bits, weights, geometry.blocks * geometry.blobBytes, nibbles ? "k / 2u" : "k",
        storageType(storage.scaleType), storage.scales, scaleIndex(storage), zeros);
    out.body +=
        blockedElements(storage, element, nibbles ? "words[0]" : "words", "scale", "zero", "k");
    out.body += "                storeWords<16, false>(made0 + run * 8u, to);\n            }\n"
                "        }\n    }\n";
    return out;
}

} // namespace

std::variant<ExpandedProduct, Reason> expandedProduct(const KernelRequest& request,
                                                      int64_t leastRows) {
    auto made = blockedOperands(request);
    if (auto* reason = std::get_if<Reason>(&made))
        return std::move(*reason);
    const auto& operands = std::get<BlockedOperands>(made);
    const BlockedWeights& geometry = operands.geometry;
    const DType element = operands.a.layout.dtype;
    if (operands.rows < leastRows)
        return refusal("occupancy", "weights that are made elements for so few rows");
    if (!isNarrowFloat(element))
        return refusal("numeric-class", "rows would be rounded to 16 bits");
    if (geometry.k % 8 != 0 || geometry.k * geometry.n > int64_t{1} << 30)
        return refusal("support", "columns that are no whole 16 bytes, or too many");
    ExpandedProduct out{blockedProduct(request, operands), {}, {}, geometry.k * geometry.n * 2};
    out.expand = expandPart(storageOf(operands), operands.weights.pointer, element);
    out.view = viewOf(out.product.flat);
    out.view.b.pointer = "made0";
    out.view.b.alignment = 16;
    out.view.made = true;
    return out;
}

} // namespace fuselage::gpu
