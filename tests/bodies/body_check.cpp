// SPDX-License-Identifier: Apache-2.0
#include "tests/bodies/body_check.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/verify.h"
#include "core/kernel/evaluate.h"
#include "core/kernel/lower.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/bodies/body_promise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::bodies {

namespace {

const app::RuleLibrary& library() {
    static const app::RuleLibrary loaded = *app::loadRuleLibrary({});
    return loaded;
}

/// A body with its data: what each way starts from.
struct Subject {
    Graph graph;                ///< weights are constants
    std::vector<Tensor> inputs; ///< of `graph`
    std::vector<Tensor> all;    ///< of the body as it is written
    std::vector<ReferenceValue> wanted;
    double tolerance = 0;
    bool isWhole = false; ///< sums of it have the same bits in any order
};

/// Results too large for a 16-bit type, or none, are nobody's mistake.
bool isComparable(const std::vector<ReferenceValue>& values) {
    for (const ReferenceValue& value : values)
        for (double number : value.floats)
            if (!std::isfinite(number))
                return false;
    return true;
}

/// The first step that runs by plain or reference loops, though there are kernels for such; "" when
/// none does.
std::string fallbackIn(CompiledGraph& compiled) {
    const auto& steps = compiled.plan().steps;
    for (size_t i = 0; i < steps.size(); ++i)
        if (compiled.executable().isFallback(i)) {
            std::string out = "`" + steps[i].name + "` runs by " + compiled.executable().tactic(i);
            for (const Reason& reason : compiled.executable().fallbacks(i))
                out += "; " + reason.message;
            return out;
        }
    return {};
}

/// How a graph is planned.
struct Form {
    bool perNode = false; ///< one kernel a node
    bool strict = false;
};

/// True when every kernel that runs claims the bits of its nodes one by one.
bool claimsExact(CompiledGraph& compiled) {
    const auto& steps = compiled.plan().steps;
    for (size_t i = 0; i < steps.size(); ++i)
        if (std::max(steps[i].numeric, compiled.executable().numeric(i)) != NumericClass::Exact)
            return false;
    return true;
}

class Check {
public:
    Check(const Body& body, const CheckOptions& options) : m_body(body), m_options(options) {}

    std::string run();

private:
    /// "" and a subject, or the problem; neither for a body that says nothing.
    std::string begin();
    std::string evaluated();
    std::string ran(const std::string& way, Graph graph, Form form);
    std::string compared(const std::string& way, const std::vector<Tensor>& outputs) const;
    std::string kept(const std::string& way, Form form, bool isExact,
                     const std::vector<Tensor>& outputs);

    const Body& m_body;
    const CheckOptions& m_options;
    std::optional<Graph> m_written;
    std::optional<Subject> m_subject;
    std::vector<Tensor> m_unfused[2]; ///< results of the nodes one by one: plainly, strictly
};

std::string Check::begin() {
    auto loaded = model_io::loadText(m_body.text);
    if (!loaded)
        return "load: " + loaded.error().text();
    if (!inferShapes(*loaded).empty())
        return "";
    auto inputs = app::generateInputs(*loaded, 5);
    if (!inputs)
        return "inputs: " + inputs.error().text();
    Subject subject;
    subject.isWhole = m_body.text.size() % 2 == 0 && sumsWholeNumbers(*loaded);
    if (subject.isWhole)
        makeWhole(*inputs);
    std::vector<ReferenceValue> values;
    for (const Tensor& input : *inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool threads(1);
    Progress progress;
    auto wanted = interpret(*loaded, values, threads, progress);
    if (!wanted)
        return "interpreter: " + wanted.error().text();
    if (!isComparable(*wanted))
        return "";
    subject.wanted = std::move(*wanted);
    subject.graph = loaded->clone();
    subject.all = *inputs;
    for (size_t i = 0; i < inputs->size(); ++i) {
        const std::string& name = loaded->value(loaded->inputs()[i]).name;
        if (std::find(m_body.constant.begin(), m_body.constant.end(), name) ==
            m_body.constant.end())
            subject.inputs.push_back((*inputs)[i]);
        else if (auto bound = bindInput(subject.graph, name, (*inputs)[i]); !bound)
            return "weights: " + bound.error().text();
    }
    const DType type = loaded->value(loaded->outputs()[0]).type.dtype;
    // Of stored bodies nothing is rounded but by their own steps.
    subject.tolerance = m_options.exact ? 0
                        : type == DType::Float32
                            ? app::toleranceOf(type)
                            : app::storageTolerance(type, app::roundingDepth(*loaded, type));
    m_written = std::move(*loaded);
    m_subject = std::move(subject);
    return "";
}

std::string Check::compared(const std::string& way, const std::vector<Tensor>& outputs) const {
    if (outputs.size() != m_subject->wanted.size())
        return way + ": number of outputs";
    for (size_t i = 0; i < outputs.size(); ++i) {
        auto agreement =
            app::compareOutput("", "", m_subject->wanted[i], outputs[i], m_subject->tolerance);
        // A part of a result may be all small numbers; they were rounded as the large ones.
        const bool near = agreement.maxAbsolute <= m_subject->tolerance;
        if (!agreement.ok && !near)
            return fmt::format("{}: output {} differs by {}", way, i, agreement.maxRelative);
    }
    return "";
}

/// The program of the whole body, element by element.
std::string Check::evaluated() {
    Graph graph = m_written->clone();
    Progress progress;
    if (auto folded = foldConstants(graph, {}, progress); !folded)
        return "fold: " + folded.error().text();
    LowerRequest request;
    request.constants.resize(graph.inputs().size());
    request.body = std::make_shared<const Graph>(std::move(graph));
    LowerResult lowered = lower(request);
    const auto* program = std::get_if<KernelProgram>(&lowered);
    if (program == nullptr || std::holds_alternative<Library>(program->code))
        return "";
    std::vector<ReferenceValue> inputs;
    for (const Tensor& input : m_subject->all)
        inputs.push_back(ReferenceValue::from(input));
    auto result = evaluate(*program, inputs);
    if (!result)
        return "evaluate: " + result.error().text();
    std::vector<Tensor> outputs;
    for (const ReferenceValue& value : result->outputs)
        outputs.push_back(value.toTensor());
    return compared("evaluate", outputs);
}

/// What a class promises: kernels that are `exact` give the bits of the nodes one by one.
std::string Check::kept(const std::string& way, Form form, bool isExact,
                        const std::vector<Tensor>& outputs) {
    std::vector<Tensor>& unfused = m_unfused[form.strict ? 1 : 0];
    if (form.perNode) {
        unfused = outputs;
        return "";
    }
    if (unfused.empty() || !isExact || (!form.strict && !m_subject->isWhole))
        return form.strict && !isExact ? way + ": a strict plan is not exact" : "";
    for (size_t i = 0; i < outputs.size(); ++i)
        if (form.strict ? !identical(outputs[i], unfused[i]) : !sameNumbers(outputs[i], unfused[i]))
            return fmt::format("{}: output {} is called exact and differs from the nodes one by "
                               "one in its last bits",
                               way, i);
    return "";
}

std::string Check::ran(const std::string& way, Graph graph, Form form) {
    CompileOptions options;
    options.backend = m_options.backend;
    options.threads = m_options.threads;
    options.oneKernelPerNode = form.perNode;
    options.strict = form.strict;
    if (form.strict)
        options.allowed = {{"", NumericClass::Exact}};
    options.measureTactics = false;
    auto compiled = CompiledGraph::compile(std::move(graph), options);
    if (!compiled)
        return way + ": " + compiled.error().text();
    if (std::string slow = fallbackIn(*compiled);
        m_options.backend == BackendKind::Cpu && !slow.empty())
        return way + ": " + slow;
    // Twice: the second run meets the memory as the first one left it.
    for (int run = 0; run < 2; ++run) {
        auto outputs = compiled->run(m_subject->inputs);
        if (!outputs)
            return way + ": " + outputs.error().text();
        std::string problem = compared(way, *outputs);
        if (problem.empty() && run == 0)
            problem = kept(way, form, claimsExact(*compiled), *outputs);
        if (!problem.empty())
            return problem;
    }
    return "";
}

std::string Check::run() {
    std::string problem = begin();
    if (!problem.empty() || !m_subject)
        return problem;
    problem = evaluated();
    const Graph& graph = m_subject->graph;
    if (problem.empty() && m_options.backend != BackendKind::Reference)
        problem = ran("unfused", graph.clone(), {.perNode = true});
    if (problem.empty() && m_options.backend != BackendKind::Reference)
        problem = ran("with views", graph.clone(), {});
    if (problem.empty())
        problem = ran("one node", fuseWhole(graph, "Whole"), {});
    if (problem.empty() && m_options.backend == BackendKind::Cpu)
        problem = ran("unfused, strict", graph.clone(), {.perNode = true, .strict = true});
    if (problem.empty() && m_options.backend == BackendKind::Cpu)
        problem = ran("with views, strict", graph.clone(), {.strict = true});
    if (problem.empty() && m_options.backend == BackendKind::Cpu)
        problem = ran("one node, strict", fuseWhole(graph, "Whole"), {.strict = true});
    if (!problem.empty())
        return problem;
    Progress progress;
    Graph prepared = graph.clone();
    if (auto done = prepareGraph(prepared, progress); !done)
        return "prepare: " + done.error().text();
    auto fused = app::fuseGraph(prepared, library(), {}, progress);
    if (!fused)
        return "fuse: " + fused.error().text();
    return ran("fused", std::move(fused->graph), {});
}

} // namespace

std::string problemOf(const Body& body, const CheckOptions& options) {
    return Check(body, options).run();
}

} // namespace fuselage::bodies
