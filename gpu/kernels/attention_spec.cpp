// SPDX-License-Identifier: Apache-2.0
#include "core/graph/type.h"
#include "gpu/kernels/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numbers>

namespace fuselage::gpu {

namespace {

bool fitsInts(const KernelRequest& request) {
    constexpr int64_t limit = std::numeric_limits<int32_t>::max() / 2;
    for (const auto* layouts : {&request.inputs, &request.outputs})
        for (const OperandLayout& layout : *layouts) {
            __int128 reach = 0;
            for (size_t d = 0; d < layout.extents.size(); ++d)
                reach += static_cast<__int128>(std::abs(layout.strides[d])) * layout.extents[d];
            if (reach > limit)
                return false;
        }
    return true;
}

} // namespace

std::string lowestScore(DType dtype) {
    return floatLiteral(dtype, -std::numeric_limits<double>::infinity());
}

std::variant<AttentionSpec, Reason> attentionSpec(const KernelRequest& request) {
    if (auto reason = refuseTypes(request))
        return *reason;
    const auto& code = std::get<Attention>(request.program->code);
    AttentionSpec out;
    out.request = &request;
    out.code = &code;
    out.batchDims = code.batch.size();
    const size_t dims = out.batchDims + 2;
    out.q = readOperand(request, code.q, dims);
    out.k = readOperand(request, code.k, dims);
    out.v = readOperand(request, code.v, dims);
    out.output = writtenOperand(request, code.output, dims);
    for (const ScoreStep& step : code.steps) {
        ScoreStepText& text = out.steps.emplace_back();
        if (step.reads())
            text.operand = readOperand(request, step.access, dims);
        else
            text.function = printTape(fmt::format("@score{}", out.steps.size() - 1), step.function,
                                      {request.strict, false, {}, {}});
    }
    if (code.sink && code.sink->read)
        out.sink = readOperand(request, *code.sink->read, dims);
    for (const KernelOperand* operand : {&out.q, &out.k, &out.v, &out.output})
        if (!isFloat(operand->dtype))
            return refusal("dtype", "attention over integers is not supported");
    for (int64_t extent : code.batch)
        out.batches *= extent;
    if (!fitsInts(request) || out.batches * code.l > std::numeric_limits<int32_t>::max() / 2)
        return refusal("support", "an operand has more than 2^30 elements");
    out.narrow = storesNarrow(request, {out.output});
    return out;
}

std::string AttentionSpec::splitBatch(const std::string& linear) const {
    std::string out, rest = linear;
    for (size_t d = batchDims; d-- > 0;) {
        out += fmt::format("    const int b{} = static_cast<int>({}{});\n", d, rest,
                           d == 0 ? "" : fmt::format(" % {}u", code->batch[d]));
        rest = fmt::format("({} / {}u)", rest, code->batch[d]);
    }
    return out;
}

std::string AttentionSpec::base(const KernelOperand& operand) const {
    std::string out = operand.pointer;
    if (operand.access.offset != 0)
        out += fmt::format(" + {}", operand.access.offset);
    for (size_t d = 0; d < batchDims; ++d)
        if (operand.access.strides[d] != 0)
            out += fmt::format(" + b{} * {}", d, operand.access.strides[d]);
    return out;
}

std::string AttentionSpec::functions() const {
    std::string out;
    for (const ScoreStepText& step : steps)
        out += step.function.text;
    return out;
}

bool AttentionSpec::readsMasks() const {
    return std::any_of(code->steps.begin(), code->steps.end(),
                       [](const ScoreStep& step) { return step.reads(); });
}

bool AttentionSpec::readsEachScore() const {
    for (size_t i = 0; i < steps.size(); ++i)
        if (code->steps[i].reads() && rowStride(steps[i].operand) != 0 &&
            columnStride(steps[i].operand) != 0)
            return true;
    return false;
}

std::string AttentionSpec::stepScore(const std::string& l, const std::string& s,
                                     const std::string& indent) const {
    std::string out;
    if (code->scale != 1)
        out += fmt::format("{}score *= {};\n", indent, floatLiteral(output.dtype, code->scale));
    for (size_t i = 0; i < steps.size(); ++i) {
        const ScoreStep& step = code->steps[i];
        if (step.kind == ScoreStep::Kind::Apply) {
            out += fmt::format("{}{};\n", indent, steps[i].function.call({"score"}, {"score"}));
            continue;
        }
        const KernelOperand& operand = steps[i].operand;
        const std::string at = fmt::format("load({} + ({}) * {} + ({}) * {})", base(operand), l,
                                           rowStride(operand), s, columnStride(operand));
        if (step.kind == ScoreStep::Kind::Add)
            out += fmt::format("{}score += {};\n", indent, at);
        else if (step.kind == ScoreStep::Kind::Multiply)
            out += fmt::format("{}score *= {};\n", indent, at);
        else
            out += fmt::format("{}if (({} != 0) != {})\n{}    score = {};\n", indent, at,
                               step.kind == ScoreStep::Kind::KeepWhereTrue, indent,
                               floatLiteral(output.dtype, step.fill));
    }
    return out;
}

std::string AttentionSpec::declareSink(const std::string& l, const std::string& indent) const {
    if (!code->sink)
        return {};
    std::string number = floatLiteral(output.dtype, code->sink->number);
    if (sink) {
        const int64_t stride = rowStride(*sink);
        number = fmt::format(
            "load({}{})", base(*sink),
            stride == 0 ? ""
                        : fmt::format(" + ({0} < {1} ? {0} : {1}) * {2}", l, code->l - 1, stride));
    }
    return fmt::format("{}const {} sink = {};\n", indent, type(), number);
}

std::string AttentionSpec::firstTop(const std::string& holds) const {
    const std::string lowest = lowestScore(output.dtype);
    if (!code->sink)
        return lowest;
    return holds.empty() ? "sink" : fmt::format("{} ? sink : {}", holds, lowest);
}

std::string AttentionSpec::firstTotal(const std::string& holds) const {
    const std::string none = floatLiteral(output.dtype, 0);
    if (!code->sink)
        return none;
    return fmt::format("{}sink != {} ? {} : {}", holds.empty() ? "" : holds + " && ",
                       lowestScore(output.dtype), floatLiteral(output.dtype, 1), none);
}

std::string AttentionSpec::ended(const std::string& result, const std::string& total) const {
    return code->zeroesNan
               ? fmt::format("({} > {} ? {} : {})", total, floatLiteral(output.dtype, 0), result,
                             floatLiteral(output.dtype, 0))
               : result;
}

std::string AttentionSpec::exponential(const std::string& x, double scale) const {
    if (narrow && scale != 1)
        return fmt::format("exp2Narrow(({}) * {})", x,
                           floatLiteral(output.dtype, scale * std::numbers::log2e));
    const char* name = output.dtype == DType::Float64 ? "exp" : narrow ? "expNarrow" : "expf";
    return scale == 1 ? fmt::format("{}({})", name, x)
                      : fmt::format("{}(({}) * {})", name, x, floatLiteral(output.dtype, scale));
}

} // namespace fuselage::gpu
