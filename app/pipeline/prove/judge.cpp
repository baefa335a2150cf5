// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/judge.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/verify.h"
#include "core/graph/text.h"
#include "core/ops/op_table.h"
#include "core/rewrite/engine.h"

#include <fmt/format.h>

#include <cmath>

namespace fuselage::app {

namespace {

Verdict unfit(std::string reason) {
    return {Verdict::Kind::Unfit, std::move(reason)};
}

Result<std::vector<Tensor>> interpreted(const Graph& graph, const std::vector<Tensor>& inputs,
                                        Progress& progress) {
    std::vector<ReferenceValue> values;
    for (const Tensor& input : inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool threads(1);
    auto made = interpret(graph, std::move(values), threads, progress);
    if (!made)
        return failure(made.error());
    std::vector<Tensor> out;
    for (const ReferenceValue& value : *made)
        out.push_back(value.toTensor());
    return out;
}

Result<std::vector<Tensor>> lowered(const Rule& rule, const Graph& graph,
                                    const std::vector<Tensor>& inputs) {
    CompileOptions options;
    options.threads = 1;
    options.allowed = {{rule.name, rule.numeric}};
    auto compiled = CompiledGraph::compile(graph.clone(), options);
    if (!compiled)
        return failure(compiled.error());
    return compiled->run(inputs);
}

bool finite(const ReferenceValue& value) {
    for (double number : value.floats)
        if (!std::isfinite(number) || std::fabs(number) > 1e6)
            return false;
    return true;
}

/// A last bit before the rounding may be a step after it.
bool quantized(const Graph& graph, size_t output) {
    NodeId maker = graph.producer(graph.outputs()[output]);
    return maker.valid() && graph.node(maker).op == Op::QuantizeLinear;
}

bool neighbours(const ReferenceValue& want, const Tensor& have) {
    if (have.extents() != want.extents || have.dtype() != want.dtype)
        return false;
    for (int64_t i = 0; i < have.elementCount(); ++i)
        if (std::fabs(want.at(i) - have.at(i)) > 1)
            return false;
    return true;
}

/// What float32 leaves of values around 1 when they cancel.
bool withinNoise(const ReferenceValue& want, const Tensor& have) {
    constexpr double noise = 1e-7;
    if (have.extents() != want.extents || have.dtype() != want.dtype || !isFloat(want.dtype))
        return false;
    for (int64_t i = 0; i < have.elementCount(); ++i)
        if (!(std::fabs(want.at(i) - have.at(i)) <= noise))
            return false;
    return true;
}

std::string difference(const std::string& name, const ReferenceValue& want, const Tensor& have) {
    if (have.extents() != want.extents || have.dtype() != want.dtype)
        return fmt::format("`{}` is {} before and {} after", name, want.toTensor().type().text(),
                           have.type().text());
    auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    int64_t worst = -1;
    for (int64_t i = 0; i < have.elementCount(); ++i) {
        double gap = std::fabs(want.at(i) - have.at(i));
        bool further = worst < 0 || !(gap <= std::fabs(want.at(worst) - have.at(worst)));
        if (!same(want.at(i), have.at(i)) && further)
            worst = i;
    }
    if (worst < 0)
        return fmt::format("`{}` differs", name);
    return fmt::format("`{}` at element {} is {:.6g} before and {:.6g} after", name, worst,
                       want.at(worst), have.at(worst));
}

/// What other runtimes refuse although this one would compute it: a window's border that cuts.
std::string notAllowed(const Graph& graph) {
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        bool window = hasTrait(node.op, ContractionOp | Pooling);
        for (int64_t pad : window ? node.attributes.integers("pads") : std::vector<int64_t>{})
            if (pad < 0)
                return fmt::format("`{}` has a negative pad after, which ONNX does not allow",
                                   text(graph, id));
    }
    return {};
}

std::string whyNot(const Trace& trace) {
    for (const TraceEvent& event : trace.events)
        if (event.kind == TraceEvent::Kind::Refused)
            return event.reason.text();
    return "no match";
}

} // namespace

double proofTolerance(const Rule& rule) {
    if (rule.verify && rule.verify->tolerance)
        return *rule.verify->tolerance;
    switch (rule.numeric) {
    case NumericClass::Exact:
        return rule.isRewrite ? 0 : 1e-6;
    case NumericClass::Approximate:
        return 2e-3;
    default:
        return 1e-4;
    }
}

Verdict judge(const Rule& rule, const Sample& sample, Progress& progress) {
    RuleSet alone;
    alone.rules.push_back(rule);
    Pipeline pipeline{"prove", {{rule.phase, false, PhaseStep::Selection::Order}}};
    auto after = rewrite(sample.graph.clone(), alone, pipeline, {}, progress);
    if (!after)
        return unfit(after.error().text());
    if (after->trace.applied(rule.name) == 0)
        return unfit(whyNot(after->trace));
    auto inputs = sampleInputs(sample.graph, sample.contents, sample.inputSeed);
    if (!inputs)
        return unfit(inputs.error().text());
    auto wanted = interpreted(sample.graph, *inputs, progress);
    if (!wanted)
        return unfit("before: " + wanted.error().text());
    auto made = rule.isRewrite ? interpreted(after->graph, *inputs, progress)
                               : lowered(rule, after->graph, *inputs);
    if (progress.cancelled())
        return unfit("cancelled");
    if (!made)
        return {Verdict::Kind::Differs, "cannot be run after: " + made.error().text()};
    if (std::string mistake = notAllowed(after->graph);
        !mistake.empty() && notAllowed(sample.graph).empty())
        return {Verdict::Kind::Differs, std::move(mistake)};
    for (size_t i = 0; i < wanted->size(); ++i) {
        ReferenceValue reference = ReferenceValue::from((*wanted)[i]);
        const std::string& name = sample.graph.value(sample.graph.outputs()[i]).name;
        // Where the original leaves the numbers, only a rule that keeps the bits has to follow.
        if (rule.numeric != NumericClass::Exact && !finite(reference))
            return unfit("the result is not finite");
        if (rule.numeric != NumericClass::Exact && quantized(sample.graph, i) &&
            neighbours(reference, (*made)[i]))
            continue;
        auto compared = compareOutput(name, "after", reference, (*made)[i], proofTolerance(rule));
        bool close = rule.numeric != NumericClass::Exact && withinNoise(reference, (*made)[i]);
        if (!compared.ok && !close)
            return {Verdict::Kind::Differs, difference(name, reference, (*made)[i])};
    }
    return {Verdict::Kind::Agrees, ""};
}

} // namespace fuselage::app
