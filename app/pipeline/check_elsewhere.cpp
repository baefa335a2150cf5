// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/check_elsewhere.h"

#include "app/pipeline/branch_inputs.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/prepared.h"
#include "app/pipeline/run_check.h"
#include "core/cpu/observe_bodies.h"
#include "core/graph/bodies.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

namespace {

constexpr size_t mostBranchRuns = 4;

/// Another run of both forms.
struct CheckCase {
    std::string what; ///< "N=2", "cond = true"
    DimensionValues dims;
    std::vector<Tensor> inputs;
};

class Checker {
public:
    Checker(const ElsewhereRequest& request, Progress& progress)
        : m_request(request), m_progress(progress), m_threads(request.compile.threads),
          m_places(bodiesOf(request.model.graph)) {}

    Result<Elsewhere> run() {
        enter(m_request.model.dims, m_request.inputs);
        if (m_request.sizes)
            if (auto sizes = otherSizesCase())
                check(*sizes);
        branches();
        if (m_progress.cancelled())
            return cancelledFailure("check");
        sayNotEntered();
        return std::move(m_out);
    }

private:
    std::optional<CheckCase> otherSizesCase();
    void branches();
    void check(const CheckCase& one);
    void enter(const DimensionValues& dims, const std::vector<Tensor>& inputs);
    void sayNotEntered();
    Result<std::vector<Tensor>> outputsOf(const CheckCase& one);

    const ElsewhereRequest& m_request;
    Progress& m_progress;
    ThreadPool m_threads;
    std::vector<BodyPlace> m_places;
    std::set<std::string> m_entered;
    Elsewhere m_out;
};

void Checker::enter(const DimensionValues& dims, const std::vector<Tensor>& inputs) {
    if (m_places.empty() || m_entered.size() == m_places.size())
        return;
    auto entered =
        enteredBodies(sized(m_request.model.graph.clone(), dims), inputs, m_threads, m_progress);
    if (entered)
        m_entered.insert(entered->begin(), entered->end());
}

std::optional<CheckCase> Checker::otherSizesCase() {
    CheckCase out;
    out.dims = otherSizes(m_request.model.graph, m_request.model.dims);
    if (out.dims.empty())
        return std::nullopt;
    for (const auto& [name, size] : out.dims) {
        const auto usual = m_request.model.dims.find(name);
        if (usual == m_request.model.dims.end() || usual->second != size)
            out.what += fmt::format("{}{}={}", out.what.empty() ? "" : ", ", name, size);
    }
    const Graph graph = sized(m_request.model.graph.clone(), out.dims);
    auto inputs = generateInputs(graph, m_request.seed);
    if (auto set = inputs ? setInputs(graph, m_request.model.numbers, *inputs) : Result<void>();
        !set)
        inputs = failure(set.error());
    if (!inputs) {
        m_out.notes.push_back("not checked with " + out.what + ": " + inputs.error().message);
        return std::nullopt;
    }
    out.inputs = std::move(*inputs);
    return out;
}

void Checker::branches() {
    if (m_entered.size() == m_places.size())
        return;
    const Graph graph = sized(m_request.model.graph.clone(), m_request.model.dims);
    size_t runs = 0;
    auto places = bodiesOf(graph);
    std::ranges::reverse(places); // outer ones first: an inner one may be entered with them
    for (const BodyPlace& place : places) {
        if (m_entered.contains(place.path) || runs == mostBranchRuns || m_progress.cancelled())
            continue;
        auto found = inputsEntering(graph, place, m_request.inputs, m_threads, m_progress);
        if (!found)
            continue;
        ++runs;
        check({found->what, m_request.model.dims, std::move(found->inputs)});
    }
}

Result<std::vector<Tensor>> Checker::outputsOf(const CheckCase& one) {
    auto graph = withSizes(m_request.run.clone(), one.dims, m_progress);
    if (!graph)
        return failure(graph.error());
    CompileOptions compile = m_request.compile;
    compile.oneKernelPerNode = !m_request.fused;
    auto compiled = CompiledGraph::compile(std::move(*graph), compile, m_progress);
    if (!compiled)
        return failure(compiled.error());
    return compiled->executable().outputs(one.inputs, m_progress);
}

/// What the model itself cannot be run on says nothing of its fused form.
void Checker::check(const CheckCase& one) {
    const auto notRun = [&](const Error& error) {
        if (error.code != "cancelled")
            m_out.notes.push_back(fmt::format("not checked with {}: {}", one.what, error.message));
    };
    auto judged = withSizes(m_request.model.graph.clone(), one.dims, m_progress);
    if (!judged)
        return notRun(judged.error());
    auto outputs = outputsOf(one);
    if (!outputs) {
        std::vector<ReferenceValue> values;
        for (const Tensor& input : one.inputs)
            values.push_back(ReferenceValue::from(input));
        const bool wrong = interpret(*judged, std::move(values), m_threads, m_progress) &&
                           outputs.error().code != "cancelled";
        notRun(outputs.error());
        if (wrong)
            m_out.found.push_back({.output = "all",
                                   .side = "with " + one.what,
                                   .note = "the model itself runs: " + outputs.error().text()});
        return;
    }
    std::optional<Graph> fused;
    if (m_request.fused)
        fused = sized(m_request.run.clone(), one.dims);
    auto checked = checkRun(*judged, fused ? &*fused : nullptr, one.inputs, *outputs,
                            m_request.compile, m_progress);
    if (!checked)
        return notRun(checked.error());
    for (OutputAgreement& agreement : *checked) {
        agreement.side += ", with " + one.what;
        m_out.found.push_back(std::move(agreement));
    }
    enter(one.dims, one.inputs);
}

void Checker::sayNotEntered() {
    constexpr size_t shown = 6;
    size_t missing = 0;
    std::string names;
    for (const BodyPlace& place : m_places)
        if (!m_entered.contains(place.path) && ++missing <= shown)
            names += (names.empty() ? "" : ", ") + place.path;
    if (missing == 0)
        return;
    m_out.notes.push_back(fmt::format(
        "{} of {} bodies of If, Loop and Scan did not run in this check, which says nothing of "
        "them: {}{}; --set or --inputs that lead there would",
        missing, m_places.size(), names,
        missing > shown ? fmt::format(" and {} more", missing - shown) : ""));
}

} // namespace

Result<Elsewhere> checkElsewhere(const ElsewhereRequest& request, Progress& progress) {
    return Checker(request, progress).run();
}

} // namespace fuselage::app
