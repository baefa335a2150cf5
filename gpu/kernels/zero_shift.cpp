// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/zero_shift.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

/// None where it is the number 0.
std::optional<ZeroPoint> shiftOf(const std::optional<Prologue>& prologue) {
    auto zero = zeroPointOf(prologue);
    return zero && (zero->read || zero->number != 0) ? zero : std::nullopt;
}

} // namespace

std::string zeroText(const ContractionView& view, const ZeroPoint& zero, bool isA,
                     const std::string& indent) {
    const char* name = isA ? "aZero" : "bZero";
    if (!zero.read)
        return fmt::format("{}const int {} = {};\n", indent, name, zero.number);
    const KernelOperand& read = (isA ? view.readsA : view.readsB)[0];
    return fmt::format("{}const int {} = load({} + {});\n", indent, name, read.pointer,
                       read.access.offset);
}

ZeroShift::ZeroShift(const KernelRequest& request, const ContractionView& view, int64_t terms)
    : m_view(view), m_terms(terms) {
    const auto& code = std::get<Contraction>(request.program->code);
    m_a = shiftOf(code.prologueA);
    m_b = shiftOf(code.prologueB);
    if (!m_a)
        return;
    m_sums = columnSumsOfB(request, view);
    if (!m_sums)
        m_refused = refusal("kind", "a zero point of A beside a B that is no constant");
}

std::optional<PackedOperand> ZeroShift::packed() const {
    return m_sums ? std::optional(m_sums->packed) : std::nullopt;
}

std::vector<ExtraParameter> ZeroShift::parameters() const {
    if (!m_sums)
        return {};
    return {{"const int*",
             m_sums->operand.pointer,
             {KernelArgument::Kind::Packed, m_view.packed ? 1U : 0U, 0}}};
}

std::string ZeroShift::function() const {
    if (!m_sums)
        return {};
    const LoopNest batch = axisNest(m_view, m_view.batch, 0, {m_sums->operand});
    const LoopNest n =
        axisNest(m_view, m_view.n, m_view.batch.size() + m_view.m.size(), {m_sums->operand});
    return fmt::format("/// A's zero point times the sum of a column of (b - B).\n"
                       "__device__ __forceinline__ int @columnShift(const int* sums, int aZero, "
                       "int bZero, unsigned b, unsigned n) {{\n{}{}"
                       "    return multiplyWrapped(aZero, subtractWrapped(load(sums + ({} + {})), "
                       "multiplyWrapped(bZero, {})));\n}}\n\n",
                       batch.split("b", "b", "    "), n.split("n", "n", "    "),
                       batch.offset(0, "b"), n.offset(0, "n"), m_terms);
}

std::string ZeroShift::zeros(const std::string& indent) const {
    return (m_a ? zeroText(m_view, *m_a, true, indent) : "") +
           (m_b ? zeroText(m_view, *m_b, false, indent) : "");
}

std::string ZeroShift::columnShift(const std::string& n) const {
    return fmt::format("@columnShift({}, aZero, {}, batch, {})", m_sums->operand.pointer,
                       ofB() ? "bZero" : "0", n);
}

std::string ZeroShift::fillOnes(int at) const {
    if (!ofB())
        return {};
    return fmt::format("    if (threadIdx.x < {}u)\n        reinterpret_cast<unsigned*>("
                       "sharedMemory + {})[threadIdx.x] = 0x01010101u;\n    fenceForProducts();\n",
                       rowsOfOnesBytes / 4, at);
}

} // namespace fuselage::gpu
