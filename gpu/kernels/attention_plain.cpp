// SPDX-License-Identifier: Apache-2.0
// A thread an element of the result; scores are computed twice. Slow, and right for every type.
#include "gpu/kernels/attention.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

/// Declares `score` of query l and key s.
std::string scoreText(const AttentionSpec& spec) {
    return fmt::format(
               "        {0} score = 0;\n#pragma unroll 1\n        for (int d = 0; d < {1}; ++d)\n"
               "            score += load({2} + l * {3} + d * {4}) *\n"
               "                     load({5} + s * {6} + d * {7});\n",
               spec.type(), spec.code->d, spec.base(spec.q), spec.rowStride(spec.q),
               spec.columnStride(spec.q), spec.base(spec.k), spec.rowStride(spec.k),
               spec.columnStride(spec.k)) +
           spec.stepScore("l", "s", "        ");
}

KernelPart plainPart(const AttentionSpec& spec) {
    const Attention& code = *spec.code;
    KernelPart part;
    const int64_t count = spec.batches * code.l * code.e;
    part.blocks = (count + defaultThreads - 1) / defaultThreads;
    part.comment = {fmt::format("attention of {} queries to {} keys, {} batches: a thread an "
                                "element, maximum first, then sums in key order",
                                code.l, code.s, spec.batches)};
    part.numeric = spec.narrow ? NumericClass::Wider : NumericClass::Exact;
    part.body = fmt::format("    const unsigned index = block * {}u + threadIdx.x;\n"
                            "    if (index >= {}u)\n        return;\n"
                            "    const int e = static_cast<int>(index % {}u);\n"
                            "    const int l = static_cast<int>(index / {}u % {}u);\n",
                            defaultThreads, count, code.e, code.e, code.l) +
                spec.splitBatch(fmt::format("index / {}u", code.e * code.l));
    const std::string keys =
        fmt::format("#pragma unroll 1\n    for (int s = 0; s < {}; ++s) {{\n", code.s);
    part.functions = spec.functions();
    part.body += spec.declareSink("l", "    ") +
                 fmt::format("    {} top = {};\n", spec.type(), spec.firstTop()) + keys +
                 scoreText(spec) + "        top = maximum(top, score);\n    }\n";
    const std::string first =
        code.sink ? fmt::format("sink == {} ? {}(0) : {}", lowestScore(spec.output.dtype),
                                spec.type(), spec.exponential("sink - top"))
                  : "0";
    part.body += fmt::format("    {} total = {}, sum = 0;\n", spec.type(), first) + keys +
                 scoreText(spec) +
                 fmt::format("        const {} weight = {};\n        total += weight;\n"
                             "        sum += weight * load({} + s * {} + e * {});\n    }}\n",
                             spec.type(), spec.exponential("score - top"), spec.base(spec.v),
                             spec.rowStride(spec.v), spec.columnStride(spec.v));
    part.body += fmt::format("    store({} + l * {} + e * {}, {});\n", spec.base(spec.output),
                             spec.rowStride(spec.output), spec.columnStride(spec.output),
                             spec.ended("sum / total", "total"));
    return part;
}

} // namespace

EmitResult emitAttentionPlain(const KernelRequest& request) {
    auto spec = attentionSpec(request);
    if (auto* reason = std::get_if<Reason>(&spec))
        return finish("attention_plain", request, PartResult(*reason));
    return finish("attention_plain", request, PartResult(plainPart(std::get<AttentionSpec>(spec))));
}

} // namespace fuselage::gpu
