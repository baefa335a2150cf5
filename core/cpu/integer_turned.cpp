// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/integer_turned.h"

#include "core/cpu/integer_contraction.h"
#include "core/cpu/integer_requantise.h"
#include "core/cpu/layout.h"
#include "core/cpu/threads.h"
#include "core/cpu/tile_copy.h"
#include "core/kernel/layout_work.h"
#include "core/kernel/loops.h"

namespace fuselage::cpu {

namespace {

class TurnedInteger final : public Kernel {
public:
    TurnedInteger(std::unique_ptr<Kernel> convolution, std::unique_ptr<Kernel> copy,
                  uint32_t result, size_t bytes)
        : m_convolution(std::move(convolution)), m_copy(std::move(copy)), m_result(result),
          m_bytes(bytes) {
        tactic = m_convolution->tactic + ", turned";
        fallbacks = m_convolution->fallbacks;
        numeric = m_convolution->numeric;
        hidden = m_convolution->hidden;
        hidden.scratchBytes += static_cast<int64_t>(bytes);
        hidden.values += 1;
        hidden.passedBytes += static_cast<int64_t>(bytes);
    }

    void run(const Operands& operands, RunContext& context) override {
        std::byte* memory = context.threads.handedScratch().reserve(m_bytes);
        Operands inner = operands;
        inner.outputs[m_result] = memory;
        m_convolution->run(inner, context);
        RunContext copying{context.threads, nullptr, false, {}};
        m_copy->run({{memory}, {operands.outputs[m_result]}}, copying);
    }

private:
    std::unique_ptr<Kernel> m_convolution, m_copy;
    uint32_t m_result;
    size_t m_bytes;
};

} // namespace

std::optional<KernelResult> prepareTurnedInteger(const Contraction& program,
                                                 const PrepareContext& context) {
    if (program.kind != Contraction::Kind::Conv || program.epilogue.writes.size() != 1)
        return std::nullopt;
    const uint32_t result = program.epilogue.writes[0].operand;
    const OperandLayout& given = context.outputs[result];
    if (sizeOf(given.dtype) != 1 || given.extents != program.space ||
        IntegerRequantise::make(program, context))
        return std::nullopt;
    const OperandLayout staged{given.dtype, given.extents, channelsLast(given.extents), nullptr};
    PrepareContext inner = context;
    inner.inPlace = false;
    inner.outputs[result] = staged;
    if (!IntegerRequantise::make(program, inner))
        return std::nullopt;
    auto convolution = prepareInteger(program, inner);
    if (!convolution)
        return convolution;
    const Access whole = identityAccess(0, given.extents.size());
    auto copy = prepareCopy(Copy{{{given.extents, whole, whole, 0}}},
                            {{staged}, {given}, context.table, context.threads, context.allowed});
    return KernelResult(std::make_unique<TurnedInteger>(
        std::move(*convolution), std::move(copy), result, static_cast<size_t>(staged.span())));
}

} // namespace fuselage::cpu
