// SPDX-License-Identifier: Apache-2.0
// Rows whose elements a kernel of another kind has in the fragments of its products: the passes of
// row_emitter over registers that are there, which end where they were read.
#include "core/graph/type.h"
#include "gpu/kernels/row_emitter.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int heldPair = 2, heldLanes = 4; ///< of a fragment (mma.cuh)

} // namespace

std::variant<size_t, Reason> RowEmitter::heldRead() const {
    const KernelOperand& result = m_operands[0];
    if (m_firstRead != 1 || m_inner.count() % (heldPair * heldLanes) != 0)
        return refusal("support", "a row in registers has one result of whole eights of elements");
    std::optional<size_t> out;
    for (size_t read = 0; read < m_program.reads.size(); ++read) {
        const size_t number = readNumber(read);
        if (!m_outer.moves(number)) {
            if (movesAlong(read) && accessOf(number, heldPair) != LaneAccess::Vector)
                return refusal("layout", "numbers of columns do not lie in pairs");
            continue;
        }
        if (out || !movesAlong(read))
            return refusal("support", "a row in registers is made of one that its kernel reads");
        out = read;
    }
    if (!out)
        return refusal("support", "a row in registers is made of one that its kernel reads");
    if (!isNarrowFloat(result.dtype) || m_operands[readNumber(*out)].dtype != result.dtype)
        return refusal("dtype", "a row in registers keeps its 16-bit type");
    return *out;
}

HeldRow RowEmitter::emitHeld(size_t read, const std::string& name, const std::string& parameters) {
    m_geometry = {RowTeam::Warp, defaultThreads, heldPair, true, -1, heldLanes};
    m_held = read;
    m_scalars = 0;
    m_part = {};
    m_team = heldLanes;
    m_steps = length() / (heldPair * heldLanes);
    std::string body;
    for (size_t other = 0; other < m_program.reads.size(); ++other) {
        if (other == read)
            continue;
        const size_t number = readNumber(other);
        const KernelOperand& operand = m_operands[number];
        body +=
            fmt::format("    const {}* __restrict__ const p{} = {} + {};\n",
                        storageType(operand.dtype), number, operand.pointer, operand.access.offset);
        if (!movesAlong(other))
            body += fmt::format("    const {} u{} = load(p{});\n", registerType(operand.dtype),
                                other, number);
    }
    for (size_t index = 0; index < m_program.stages.size(); ++index)
        body += stage(index);
    const TapeFunction function = print("@element", elementTape(), {m_operands[0].dtype}, true);
    body += loopHead() + loopLoads(function);
    body +=
        fmt::format("#pragma unroll\n            for (int v = 0; v < {}; ++v)\n"
                    "                {};\n        }}\n    }}\n",
                    heldPair, function.call(inputNames("v"), {fmt::format("c{}[step][v]", read)}));
    HeldRow out;
    out.numeric = std::max(m_part.numeric, function.numeric);
    out.functions =
        m_part.functions + function.text +
        fmt::format("/// Elements member * 2 and following of each eight of a row of {}.\n"
                    "__device__ __forceinline__ void {}(float (&c{})[{}][{}], unsigned member, {}) "
                    "{{\n{}}}\n\n",
                    length(), name, read, m_steps, heldPair, parameters, body);
    return out;
}

} // namespace fuselage::gpu
