// SPDX-License-Identifier: Apache-2.0
// CumSum and CumProd. Where neighbours in memory are of different lines, and many, a thread walks a
// line. Else a block does, each thread a piece of it: first its total, then, with the totals before
// its own, the results. Pieces are joined in their order.
#include "core/ops/tensor_index.h"
#include "gpu/emit/emit_kernel.h"
#include "gpu/kernels/library_view.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

constexpr int64_t team = 128;          ///< threads of a block that shares a line
constexpr int64_t shortestShared = 64; ///< elements of such a line
constexpr int64_t fewLines = 4096;     ///< threads that leave a device idle

struct CumulativeLine {
    KernelOperand result, data; ///< over the dims beside the axis
    Extents space;              ///< of these
    int64_t length = 0, resultStep = 0, dataStep = 0;
    bool isSum = true, exclusive = false, reverse = false;

    bool isShared() const {
        return length >= shortestShared && (dataStep == 1 || *elementCount(space) < fewLines);
    }
};

/// Floats of 32 bits in double, as the reference does: a long sum loses none of its digits.
std::string sumType(DType type) {
    return type == DType::Float32 ? "double" : isFloat(type) ? registerType(type) : "Wide";
}

std::variant<CumulativeLine, Reason> lineOf(const LibraryView& view) {
    const LibraryOperand &x = view.input(0), &axisOperand = view.input(1), &y = view.output(0);
    const Attributes& attributes = view.node().attributes;
    if (x.pointer.empty() || y.pointer.empty() || !axisOperand.contents ||
        axisOperand.contents->elementCount() != 1 || x.layout.dtype == DType::Bool)
        return refusal("support", "an axis that is not known before");
    const auto axis = normalizedAxis(axisOperand.contents->intAt(0), x.layout.extents.size());
    if (!axis)
        return refusal("support", "no such axis");
    const size_t at = *axis;
    CumulativeLine out;
    out.length = x.layout.extents[at];
    out.dataStep = x.layout.strides[at];
    out.resultStep = y.layout.strides[at];
    out.isSum = view.node().op == Op::CumSum;
    out.exclusive = attributes.integer("exclusive") != 0;
    out.reverse = attributes.integer("reverse") != 0;
    const auto beside = [&](Extents of) {
        of.erase(of.begin() + static_cast<ptrdiff_t>(at));
        return of;
    };
    out.space = beside(x.layout.extents);
    out.data = {x.pointer, x.layout.dtype, {0, beside(x.layout.strides)}, x.layout.alignment};
    out.result = {y.pointer, y.layout.dtype, {0, beside(y.layout.strides)}, y.layout.alignment};
    return out;
}

class CumulativeEmitter {
public:
    explicit CumulativeEmitter(const CumulativeLine& line)
        : m_line(line), m_sum(sumType(line.data.dtype)),
          m_lines(line.space, {line.result, line.data}, 0, 0) {}

    KernelPart emit() const;

private:
    std::string joined(const char* before, const char* with) const {
        return fmt::format("{} = {} {} {};", before, before, m_line.isSum ? "+" : "*", with);
    }

    /// `body` for each element of the thread's piece, which is x; `place` counts along the axis.
    std::string each(const std::string& body) const;

    const CumulativeLine& m_line;
    std::string m_sum;
    LoopNest m_lines;
};

std::string CumulativeEmitter::each(const std::string& body) const {
    return fmt::format(
        "#pragma unroll 8\n    for (long long i = begin; i < end; ++i) {{\n"
        "        const long long place = {};\n"
        "        const {} x = static_cast<{}>(load(from + place * {}ll));\n{}    }}\n",
        m_line.reverse ? fmt::format("{}ll - i", m_line.length - 1) : "i", m_sum, m_sum,
        m_line.dataStep, body);
}

KernelPart CumulativeEmitter::emit() const {
    const bool isShared = m_line.isShared();
    KernelPart part;
    part.threads = isShared ? team : defaultThreads;
    part.blocks =
        isShared ? m_lines.count() : (m_lines.count() + defaultThreads - 1) / defaultThreads;
    part.numeric = isFloat(m_line.data.dtype) ? NumericClass::Reassociated : NumericClass::Exact;
    part.comment = {fmt::format("running {} of {} lines of {}: {}",
                                m_line.isSum ? "sums" : "products", m_lines.count(), m_line.length,
                                isShared ? "a block a line, a piece a thread, joined in order"
                                         : "a thread a line")};
    part.body =
        fmt::format("    const {0} line = static_cast<{0}>(block){1};\n", m_lines.indexType(),
                    isShared ? "" : fmt::format(" * {}u + threadIdx.x", defaultThreads));
    if (!isShared)
        part.body += fmt::format("    if (line >= {}u)\n        return;\n", m_lines.count());
    part.body += m_lines.split("line", "l", "    ");
    const char* identity = m_line.isSum ? "0" : "1";
    part.body +=
        fmt::format("    const {}* const from = {} + ({});\n    {}* const to = {} + ({});\n"
                    "    {} before = {};\n",
                    storageType(m_line.data.dtype), m_line.data.pointer, m_lines.offset(1, "l"),
                    storageType(m_line.result.dtype), m_line.result.pointer, m_lines.offset(0, "l"),
                    m_sum, identity);
    const int64_t piece = isShared ? (m_line.length + team - 1) / team : m_line.length;
    if (isShared) {
        part.sharedBytes = team * 8;
        part.body +=
            fmt::format("    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
                        "    {0}* const totals = reinterpret_cast<{0}*>(sharedMemory);\n"
                        "    const long long begin = threadIdx.x * {1}ll;\n"
                        "    const long long end = begin + {1}ll < {2}ll ? begin + {1}ll : {2}ll;\n"
                        "    {0} total = {3};\n",
                        m_sum, piece, m_line.length, identity);
        part.body += each(fmt::format("        {}\n", joined("total", "x")));
        part.body += fmt::format("    totals[threadIdx.x] = total;\n    __syncthreads();\n"
                                 "    for (unsigned piece = 0; piece < threadIdx.x; ++piece)\n"
                                 "        {}\n",
                                 joined("before", "totals[piece]"));
    } else {
        part.body += fmt::format("    const long long begin = 0, end = {}ll;\n", piece);
    }
    const std::string stored =
        fmt::format("        store(to + place * {}ll, static_cast<{}>(before));\n",
                    m_line.resultStep, registerType(m_line.result.dtype));
    const std::string join = fmt::format("        {}\n", joined("before", "x"));
    part.body += each(m_line.exclusive ? stored + join : join + stored);
    return part;
}

} // namespace

EmitResult emitCumulative(const KernelRequest& request) {
    const char* name = "cumulative";
    auto view = LibraryView::make(request, {Op::CumSum, Op::CumProd});
    if (auto* reason = std::get_if<Reason>(&view))
        return finish(name, request, PartResult(*reason));
    const auto line = lineOf(std::get<LibraryView>(view));
    if (auto* reason = std::get_if<Reason>(&line))
        return finish(name, request, PartResult(*reason));
    return finish(name, request,
                  PartResult(CumulativeEmitter(std::get<CumulativeLine>(line)).emit()));
}

} // namespace fuselage::gpu
