// SPDX-License-Identifier: Apache-2.0
// A thread sums one result in the order of k: any type, stride, group, convolution either way,
// prologues, and a pool at the end, for which each sum is computed again for every window it is in.
#include "core/graph/type.h"
#include "gpu/emit/lane_memory.h"
#include "gpu/kernels/contraction.h"
#include "gpu/kernels/contraction_epilogue.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

class PlainEmitter {
public:
    explicit PlainEmitter(const KernelRequest& request)
        : m_request(request), m_code(std::get<Contraction>(request.program->code)),
          m_view(viewOf(request)), m_type(registerType(m_code.accumulate)),
          m_parameters(parameterList(request, {}, false)) {
        m_operands = {m_view.a, m_view.b};
        for (const auto* reads : {&m_view.readsA, &m_view.readsB})
            m_operands.insert(m_operands.end(), reads->begin(), reads->end());
    }

    KernelPart emit();

private:
    const char* index() const { return m_view.wide ? "long long" : "int"; }

    const char* linear() const { return m_view.wide ? "unsigned long long" : "unsigned"; }

    std::string declareDims(const Extents& axis, const char* prefix) const;
    std::string offset(size_t operand) const;
    std::string element(size_t operand, const TapeFunction& prologue, size_t firstRead,
                        const char* name);
    std::string sumFunction();
    std::string bound(size_t kDim) const;
    std::string poolBody(const EpilogueText& epilogue) const;
    std::string poolStart() const;
    std::string poolStep() const;
    std::string storePooled() const;
    MemoryAsked memory(bool nLast) const;

    const KernelRequest& m_request;
    const Contraction& m_code;
    ContractionView m_view;
    std::string m_type, m_parameters;
    std::vector<KernelOperand> m_operands; ///< A, B, reads of the prologues
    TapeFunction m_prologueA, m_prologueB;
};

/// PREFIX0 ... from the linear index of the same name as the prefix; one a dim, none merged.
std::string PlainEmitter::declareDims(const Extents& axis, const char* prefix) const {
    std::string out, rest = prefix;
    for (size_t d = axis.size(); d-- > 0;) {
        out += fmt::format("    const {0} {1}{2} = static_cast<{0}>({3}{4});\n", index(), prefix, d,
                           rest, d == 0 ? "" : fmt::format(" % {}u", axis[d]));
        rest = fmt::format("{} / {}u", d + 1 == axis.size() ? rest : "(" + rest + ")", axis[d]);
    }
    return out;
}

/// Elements from an operand's start, by the names b0 ..., m0 ..., n0 ..., k0 ...; and q0 ... for
/// the indices of a transposed convolution.
std::string PlainEmitter::offset(size_t operand) const {
    std::string out = fmt::format("{}", m_operands[operand].access.offset);
    size_t at = 0;
    const std::pair<const Extents*, const char*> axes[] = {
        {&m_view.batch, "b"}, {&m_view.m, "m"}, {&m_view.n, "n"}, {&m_view.k, "k"}};
    for (const auto& [axis, prefix] : axes)
        for (size_t d = 0; d < axis->size(); ++d)
            if (const int64_t stride = m_operands[operand].access.strides[at++]; stride != 0)
                out += fmt::format(" + {}{} * {}", prefix, d, stride);
    if (!m_view.transposed) // every spatial dim is bounded otherwise
        return out;
    for (size_t d = 0; d < m_view.bounds.size(); ++d) {
        const TapBound& bound = m_view.bounds[d];
        if (operand == 0)
            out += fmt::format(" + q{} * {}", bound.kDim, bound.step);
        else if (operand >= 2 && operand - 2 < m_view.stepsA.size())
            out += fmt::format(" + q{} * {}", bound.kDim, m_view.stepsA[operand - 2][d]);
    }
    return out;
}

/// Declares NAME, the operand's element after its prologue.
std::string PlainEmitter::element(size_t operand, const TapeFunction& prologue, size_t firstRead,
                                  const char* name) {
    const std::string indent(4 * (m_view.k.size() + 1), ' ');
    const std::string raw =
        fmt::format("load({} + ({}))", m_operands[operand].pointer, offset(operand));
    if (prologue.name.empty())
        return fmt::format("{}const {} {} = static_cast<{}>({});\n", indent, m_type, name, m_type,
                           raw);
    const size_t reads = operand == 0 ? m_view.readsA.size() : m_view.readsB.size();
    std::vector<std::string> inputs = {raw};
    for (size_t r = 0; r < reads; ++r)
        inputs.push_back(fmt::format("load({} + ({}))", m_operands[firstRead + r].pointer,
                                     offset(firstRead + r)));
    const std::string made = std::string(name) + "Made";
    return fmt::format("{0}{1} {2};\n{0}{3};\n{0}const {4} {5} = static_cast<{4}>({2});\n", indent,
                       registerType(prologue.outputs[0]), made, prologue.call(inputs, {made}),
                       m_type, name);
}

/// Statements that skip a tap in the padding, once its k index is known.
std::string PlainEmitter::bound(size_t kDim) const {
    std::string out;
    const std::string indent(4 * (kDim + 2), ' ');
    for (const TapBound& bound : m_view.bounds) {
        if (bound.kDim != kDim)
            continue;
        if (m_view.transposed) {
            out += fmt::format("{0}const int r{1} = static_cast<int>(m{2}) + {3} - "
                               "static_cast<int>(k{1}) * {4};\n"
                               "{0}if (r{1} < 0 || r{1} % {5} != 0 || r{1} / {5} >= {6})\n"
                               "{0}    continue;\n{0}const {7} q{1} = r{1} / {5};\n",
                               indent, kDim, bound.mDim, bound.pad, bound.dilation, bound.stride,
                               bound.extent, index());
        } else {
            out += fmt::format("{0}const {7} q{1} = m{2} * {3} - {4} + k{1} * {5};\n"
                               "{0}if (q{1} < 0 || q{1} >= {6})\n{0}    continue;\n",
                               indent, kDim, bound.mDim, bound.stride, bound.pad, bound.dilation,
                               bound.extent, index());
        }
    }
    return out;
}

std::string PlainEmitter::sumFunction() {
    std::string out = fmt::format("/// The sum of products of one result.\n"
                                  "__device__ __forceinline__ {0} @sum({1} b, {1} m, {1} n, {2}) "
                                  "{{\n",
                                  m_type, linear(), parameterList(m_request, {}, true));
    out += declareDims(m_view.batch, "b") + declareDims(m_view.m, "m") + declareDims(m_view.n, "n");
    out += fmt::format("    {} sum = 0;\n", m_type);
    for (size_t d = 0; d < m_view.k.size(); ++d)
        out += fmt::format("{0}for ({1} k{2} = 0; k{2} < {3}; ++k{2}) {{\n",
                           std::string(4 * (d + 1), ' '), index(), d, m_view.k[d]) +
               bound(d);
    out += element(0, m_prologueA, 2, "x") + element(1, m_prologueB, 2 + m_view.readsA.size(), "y");
    const std::string indent(4 * (m_view.k.size() + 1), ' ');
    const char* term = "sum += x * y";
    if (!isFloat(m_code.accumulate))
        term = "sum = addWrapped(sum, multiplyWrapped(x, y))";
    else if (m_request.strict)
        term = m_code.accumulate == DType::Float64 ? "sum = __dadd_rn(sum, __dmul_rn(x, y))"
                                                   : "sum = __fadd_rn(sum, __fmul_rn(x, y))";
    out += fmt::format("{}{};\n", indent, term);
    for (size_t d = m_view.k.size(); d-- > 0;)
        out += std::string(4 * (d + 1), ' ') + "}\n";
    return out + "    return sum;\n}\n\n";
}

std::string PlainEmitter::poolStart() const {
    const DType type = m_code.epilogue.tape.type(m_code.epilogue.tape.outputs[0]);
    if (m_code.poolKind != PoolKind::Max)
        return "0";
    return isFloat(type)
               ? floatLiteral(type, -std::numeric_limits<double>::infinity())
               : integerLiteral(type, isSigned(type) ? std::numeric_limits<int64_t>::min() >>
                                                           (64 - 8 * sizeOf(type))
                                                     : 0);
}

std::string PlainEmitter::poolStep() const {
    switch (m_code.poolKind) {
    case PoolKind::Max:
        return "pooled = maximum(pooled, value)";
    case PoolKind::Lp:
        return "pooled += value * value";
    default:
        return "pooled += value";
    }
}

/// Where the pooled result goes: writes are over [group, N, pooled spatial..., n].
std::string PlainEmitter::storePooled() const {
    const KernelOperand& write = m_view.writes[0];
    std::string at = fmt::format("{} + {} + b * {} + p0 * {}", write.pointer, write.access.offset,
                                 write.access.strides[0], write.access.strides[1]);
    const size_t spatial = m_code.space.size() - 2;
    for (size_t d = 0; d < spatial; ++d)
        at += fmt::format(" + p{} * {}", d + 1, write.access.strides[2 + d]);
    at += fmt::format(" + n * {}", write.access.strides[2 + spatial]);
    std::string result = "pooled";
    if (m_code.poolKind == PoolKind::Average || m_code.poolKind == PoolKind::AverageIncludingPad)
        result = "pooled / static_cast<float>(taps)";
    else if (m_code.poolKind == PoolKind::Lp)
        result = "sqrtf(pooled)";
    return fmt::format("    store({}, {});\n", at, result);
}

std::string PlainEmitter::poolBody(const EpilogueText& epilogue) const {
    const SlidingWindow& pool = *m_code.poolWindow;
    const size_t spatial = m_code.space.size() - 2;
    Extents pooled = m_code.poolSpace;
    pooled.erase(pooled.begin() + 1);
    const char* type = registerType(m_code.epilogue.tape.type(m_code.epilogue.tape.outputs[0]));
    std::string out = declareDims(pooled, "p");
    out += fmt::format("    {} pooled = {};\n    int taps = 0;\n", type, poolStart());
    const bool padded = m_code.poolKind == PoolKind::AverageIncludingPad;
    std::string m = "static_cast<unsigned>(p0)", inside = "true", counted = "true";
    for (size_t d = 0; d < spatial; ++d) {
        const int64_t extent = m_code.space[d + 2];
        out += fmt::format("    for (int t{0} = 0; t{0} < {1}; ++t{0}) {{\n"
                           "    const {2} q{0} = p{3} * {4} - {5} + t{0} * {6};\n",
                           d, pool.kernel[d], index(), d + 1, pool.strides[d], pool.padsBegin[d],
                           pool.dilations[d]);
        inside += fmt::format(" && q{0} >= 0 && q{0} < {1}", d, extent);
        counted += fmt::format(" && q{} < {}", d, extent + pool.padsEnd[d]);
        m = fmt::format("({}) * {}u + static_cast<unsigned>(q{})", m, extent, d);
    }
    out += fmt::format("    taps += {} ? 1 : 0;\n", padded ? counted : inside);
    out += fmt::format("    if ({}) {{\n        const {} m = {};\n", inside, linear(), m);
    out += fmt::format("        const {} sums[1] = {{@sum(b, m, n, {})}};\n", m_type, m_parameters);
    out += fmt::format("        const {} value = {};\n        {};\n    }}\n", type,
                       epilogue.call("sums", "b", "m", "n"), poolStep());
    for (size_t d = 0; d < spatial; ++d)
        out += "    }\n";
    return out + storePooled();
}

/// Some terms of neighbouring results, and these; a pool's are like those that it is made of.
MemoryAsked PlainEmitter::memory(bool nLast) const {
    constexpr int64_t looked = 8;
    const int64_t ms = m_view.mCount, ns = m_view.nCount, results = ms * ns;
    const int64_t terms = std::min(looked, m_view.kCount);
    const int64_t sampled = std::min<int64_t>(defaultThreads, results);
    if (sampled <= 0)
        return {};
    const int64_t first = results / 2 / sampled * sampled;
    auto along = [](const Extents& axis, const KernelOperand& operand, size_t from, int64_t at) {
        int64_t out = 0;
        for (size_t d = axis.size(); d-- > 0;) {
            out += at % axis[d] * operand.access.strides[from + d];
            at /= axis[d];
        }
        return out;
    };
    auto place = [&](const KernelOperand& operand, int64_t thread, int64_t term, bool hasTerms) {
        const int64_t index = first + thread;
        int64_t m = nLast ? index / ns : index % ms;
        const int64_t n = nLast ? index % ns : index / ms;
        int64_t out = operand.access.offset + along(m_view.m, operand, m_view.batch.size(), m) +
                      along(m_view.n, operand, m_view.batch.size() + m_view.m.size(), n);
        if (hasTerms)
            out += along(m_view.k, operand, m_view.resultDims(), term);
        return out;
    };
    /// Where A of a transposed convolution moves with the results.
    auto transposed = [&](int64_t thread) {
        int64_t out = 0;
        for (const TapBound& bound : m_view.bounds) {
            int64_t m = nLast ? (first + thread) / ns : (first + thread) % ms;
            for (size_t d = m_view.m.size(); --d > bound.mDim;)
                m /= m_view.m[d];
            out += m % m_view.m[bound.mDim] / bound.stride * bound.step;
        }
        return m_view.transposed ? out : 0;
    };
    const double blocks = static_cast<double>(m_view.batchCount) * static_cast<double>(results) /
                          static_cast<double>(sampled);
    MemoryAsked out;
    for (const KernelOperand* operand : {&m_view.a, &m_view.b}) {
        if (terms == 0)
            break; // sums of nothing read nothing
        const bool isA = operand == &m_view.a;
        const LaneRequests requests{[&, operand, isA](int64_t thread, int64_t term) {
                                        return place(*operand, thread, term, true) +
                                               (isA ? transposed(thread) : 0);
                                    },
                                    terms, 1, operand->dtype, false};
        out += askedBy(sampled, requests,
                       blocks * static_cast<double>(m_view.kCount) / static_cast<double>(terms));
    }
    for (const KernelOperand& write : m_view.writes)
        if (!m_code.poolWindow)
            out += askedBy(sampled,
                           {[&](int64_t thread, int64_t) { return place(write, thread, 0, false); },
                            1, 1, write.dtype, true},
                           blocks);
    return out;
}

KernelPart PlainEmitter::emit() {
    KernelPart part;
    const TapeStyle style{m_request.strict, false, {}, {}};
    if (m_code.prologueA)
        m_prologueA = printTape("@prologueA", m_code.prologueA->tape, style);
    if (m_code.prologueB)
        m_prologueB = printTape("@prologueB", m_code.prologueB->tape, style);
    const bool pools = m_code.poolWindow.has_value();
    const EpilogueText epilogue(m_request, m_view, {},
                                pools ? EpilogueEnd::Returns : EpilogueEnd::Stores);
    part.functions = m_prologueA.text + m_prologueB.text + epilogue.text() + sumFunction();
    part.numeric = std::max({m_prologueA.numeric, m_prologueB.numeric, epilogue.numeric()});
    int64_t rows = m_view.mCount;
    if (pools) {
        rows = m_code.poolSpace[0];
        for (size_t d = 2; d < m_code.poolSpace.size(); ++d)
            rows *= m_code.poolSpace[d];
    }
    const int64_t count = m_view.batchCount * rows * m_view.nCount;
    part.blocks = (count + defaultThreads - 1) / defaultThreads;
    part.comment = {fmt::format("one of {} x {} x {} results a thread, {} products in order",
                                m_view.batchCount, rows, m_view.nCount, m_view.kCount)};
    // Neighbouring threads take the results that lie next to each other.
    const size_t nDim = m_view.resultDims() - 1;
    const bool nLast = m_view.writes.empty() || m_view.writes[0].access.strides[nDim] == 1;
    const int64_t inner = nLast ? m_view.nCount : rows;
    part.memory = memory(nLast);
    part.body = fmt::format("    const {0} index = static_cast<{0}>(block) * {1}u + threadIdx.x;\n"
                            "    if (index >= {2}u)\n        return;\n"
                            "    const {0} inner = index % {3}u, middle = index / {3}u % {4}u;\n"
                            "    const {0} b = index / {5}u, n = {6}, {7} = {8};\n",
                            linear(), defaultThreads, count, inner, nLast ? rows : m_view.nCount,
                            rows * m_view.nCount, nLast ? "inner" : "middle", pools ? "p" : "m",
                            nLast ? "middle" : "inner");
    if (pools)
        part.body += poolBody(epilogue);
    else
        part.body += fmt::format("    const {} sums[1] = {{@sum(b, m, n, {})}};\n    {};\n", m_type,
                                 m_parameters, epilogue.call("sums", "b", "m", "n"));
    return part;
}

} // namespace

EmitResult emitContractPlain(const KernelRequest& request) {
    if (auto reason = refuseTypes(request))
        return finish("contract_plain", request, PartResult(*reason));
    const auto& code = std::get<Contraction>(request.program->code);
    if (code.poolWindow && !isFloat(code.epilogue.tape.type(code.epilogue.tape.outputs[0])) &&
        code.poolKind != PoolKind::Max)
        return finish("contract_plain", request,
                      PartResult(refusal("dtype", "averages of integers are not supported")));
    for (const OperandType& output : request.program->outputs)
        if (*elementCount(output.extents) == 0)
            return finish("contract_plain", request, PartResult(KernelPart{}));
    return finish("contract_plain", request, PartResult(PlainEmitter(request).emit()));
}

} // namespace fuselage::gpu
