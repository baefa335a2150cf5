// SPDX-License-Identifier: Apache-2.0
// MatMulNBits of constant weights of 4 bits (nibble_product.h); of others see
// library_float_weights.
#include "core/cpu/library.h"
#include "core/cpu/nibble_product.h"
#include "core/ops/blocked_weights.h"

namespace fuselage::cpu {

namespace {

/// The operator's constants, as panels want them.
NibbleSource nibblesOf(const LibraryCall& call, const BlockedWeights& g) {
    const TensorPtr weights = call.input(1).layout.constant, scales = call.input(2).layout.constant;
    const TensorPtr zero = call.input(3) ? call.input(3).layout.constant : nullptr;
    NibbleSource out;
    out.k = g.k;
    out.n = g.n;
    out.block = g.block;
    out.shifted = zero != nullptr;
    const auto* bytes = reinterpret_cast<const uint8_t*>(weights->bytes());
    constexpr int64_t wordBytes = 4;
    out.codes = [weights, bytes, g](int64_t n, int64_t word) {
        const uint8_t* from = bytes + n * g.blocks * g.blobBytes + word * wordBytes;
        return from[0] | from[1] << 8U | from[2] << 16U | static_cast<uint32_t>(from[3]) << 24U;
    };
    out.scale = [scales, g](int64_t n, int64_t block) {
        return static_cast<float>(scales->at(n * g.blocks + block));
    };
    if (zero)
        out.shift = [scales, zero, g](int64_t n, int64_t block) {
            const auto* packed = reinterpret_cast<const uint8_t*>(zero->bytes());
            const double origin =
                isFloat(zero->dtype())
                    ? zero->at(n * g.blocks + block)
                    : static_cast<double>(g.unpacked(packed + n * g.zeroBytes, block));
            const auto scale = static_cast<float>(scales->at(n * g.blocks + block));
            return static_cast<float>((static_cast<double>(g.middle()) - origin) * scale);
        };
    return out;
}

class BlockedWeightsKernel final : public Kernel {
public:
    BlockedWeightsKernel(const LibraryCall& call, const BlockedWeights& geometry)
        : m_a(call.input(0)), m_y(call.output(0)), m_k(geometry.k), m_n(geometry.n),
          m_rows(*elementCount(m_a.layout.extents) / geometry.k),
          m_product(call.context().table, nibblesOf(call, geometry),
                    call.context().threads.pages()) {
        tactic = std::string("weights of 4 bits ") + call.context().table.name;
        if (const LibraryOperand& bias = call.input(5)) {
            m_bias.assign(static_cast<size_t>(m_product.paddedColumns()), 0);
            for (int64_t n = 0; n < geometry.n; ++n)
                m_bias[static_cast<size_t>(n)] = static_cast<float>(bias.layout.constant->at(n));
        }
    }

    void run(const Operands& operands, RunContext& context) override {
        std::byte* y = m_y.write(operands);
        if (!y || m_rows == 0)
            return;
        const DType from = m_a.layout.dtype, to = m_y.layout.dtype;
        const NibbleProduct::Call call{m_rows,
                                       m_a.read(operands),
                                       from,
                                       static_cast<size_t>(m_k) * sizeOf(from),
                                       y,
                                       to,
                                       static_cast<size_t>(m_n) * sizeOf(to),
                                       m_bias.empty() ? nullptr : m_bias.data()};
        m_product.run(call, context.threads.stepScratch().reserve(m_product.scratchBytes(m_rows)),
                      context.threads);
    }

private:
    LibraryOperand m_a, m_y;
    int64_t m_k, m_n, m_rows;
    NibbleProduct m_product;
    std::vector<float> m_bias;
};

bool hasCount(const LibraryOperand& operand, const Extents& extents) {
    const auto wanted = elementCount(extents);
    return wanted && elementCount(operand.layout.extents) == wanted;
}

/// Operands are as the operator's definition says; what is not is left to the reference function.
bool fits(const LibraryCall& call, const BlockedWeights& g) {
    const LibraryOperand &a = call.input(0), &zero = call.input(3), &bias = call.input(5);
    const Extents& extents = a.layout.extents;
    if (extents.empty() || extents.back() != g.k || !isRowType(a.layout.dtype) ||
        call.output(0).layout.dtype != a.layout.dtype || !isFloat(call.input(2).layout.dtype) ||
        call.input(1).layout.dtype != DType::UInt8 ||
        !hasCount(call.input(1), {g.n, g.blocks, g.blobBytes}) ||
        !hasCount(call.input(2), {g.n, g.blocks}) || (bias && !hasCount(bias, {g.n})))
        return false;
    const bool packed = zero.layout.dtype == DType::UInt8;
    return !zero || ((packed || isFloat(zero.layout.dtype)) &&
                     hasCount(zero, {g.n, packed ? g.zeroBytes : g.blocks}));
}

} // namespace

KernelResult prepareBlockedWeights(const LibraryCall& call) {
    const auto geometry = BlockedWeights::of(call.node());
    if (!geometry)
        return failure(geometry.error());
    if (call.input(4))
        return failure("cpu.support", "an order of its own (g_idx) has no loops");
    for (size_t i : {1, 2, 3, 5})
        if (call.input(i) && !call.input(i).layout.constant)
            return failure("cpu.support", "weights, scales and bias are not constant");
    if (!fits(call, *geometry))
        return failure("cpu.support", "operands are not as the attributes say");
    if (geometry->bits != 4)
        return prepareFloatWeights(call, *geometry);
    return std::unique_ptr<Kernel>(std::make_unique<BlockedWeightsKernel>(call, *geometry));
}

} // namespace fuselage::cpu
