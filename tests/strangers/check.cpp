// SPDX-License-Identifier: Apache-2.0
// `strangers_check`: trained models of others load, fuse, run and agree, and no match of theirs is
// predicted to lose time. `bench` judges: unfused
// and fused against the double-precision reference, on the stored inputs. ONNX Runtime is a witness
// from outside, where it is here: its results against ours, and the fused file in it. Models that
// sample random numbers have no results to compare with it. Exit code 77: no models here.
//   strangers_check --folder FOLDER [--script ort.mjs --modules FOLDER] [NAME...]
#include "app/pipeline/bench.h"
#include "app/pipeline/compiled.h"
#include "app/pipeline/verify.h"
#include "core/onnx/model_file.h"
#include "core/ops/op_table.h"
#include "core/passes/passes.h"
#include "tests/ort/onnx_runtime.h"
#include "tests/strangers/cases.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

using namespace fuselage;

namespace {

struct Options {
    std::string folder, script, modules;
    std::vector<std::string> names;
};

bool samples(const Graph& graph) {
    const auto nodes = graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
        const Node& node = graph.node(id);
        bool out = hasTrait(node.op, Nondeterministic);
        for (const Attributes::Entry& entry : node.attributes)
            if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&entry.value))
                out = out || samples(**inner);
        return out;
    });
}

Result<app::BenchResult> benched(const strangers::Case& stranger, const strangers::Opened& opened) {
    app::BenchOptions options;
    options.model = stranger.model;
    options.inputs = stranger.data;
    options.fuse.dims = opened.dims;
    options.run.backend = BackendKind::Cpu;
    options.measure = false;
    Progress progress;
    return app::bench(options, progress);
}

/// What an output may differ by: what float32 may lose, or what `bench` found that this model makes
/// of the smallest change of its inputs.
double allowed(const app::Report& report, const std::string& output, DType dtype) {
    double limit = app::originalTolerance(dtype);
    for (const app::OutputAgreement& side : report.agreement)
        if (side.output == output)
            limit = std::max(limit, side.tolerance);
    return 2 * limit; // both lose
}

/// The worst of all outputs, none where none can be compared, or the sentence of the first that
/// differs.
Result<std::optional<double>> compare(const std::vector<Tensor>& expected,
                                      const std::vector<Tensor>& actual, const Graph& graph,
                                      const app::Report& report) {
    std::optional<double> worst;
    for (size_t i = 0; i < expected.size(); ++i) {
        const std::string& name = graph.value(graph.outputs()[i]).name;
        if (!std::isfinite(allowed(report, name, expected[i].dtype())))
            continue; // its length depends on roundings: `bench` checked the parts
        const auto side = app::compareOutput(name, "", ReferenceValue::from(expected[i]), actual[i],
                                             allowed(report, name, expected[i].dtype()));
        // ONNX Runtime's Sigmoid and Tanh are rational functions, off by 1e-7 wherever they are.
        constexpr double lastDigits = 1e-6;
        if (!side.ok && !(side.maxAbsolute <= lastDigits))
            return failure("strangers.differ", fmt::format("`{}`: relative {:.2e}, limit {:.0e}",
                                                           name, side.maxRelative, side.tolerance));
        worst = std::max(worst.value_or(0), side.maxRelative);
    }
    return worst;
}

/// With the dimensions of the file still open: a branch that another size would take need not fit
/// these inputs.
Result<Graph> fusedOf(const strangers::Opened& opened) {
    auto library = app::requireRuleLibrary({});
    if (!library)
        return failure(library.error());
    app::FuseOptions options;
    options.dims = opened.dims;
    Progress progress;
    auto rewritten = app::fuseGraph(opened.model.graph, *library, options, progress);
    if (!rewritten)
        return failure(rewritten.error());
    return std::move(rewritten->graph);
}

Result<std::vector<Tensor>> runFused(const Graph& fused, const strangers::Opened& opened) {
    Graph bound = fused.clone();
    bindAllDimensions(bound, opened.dims);
    auto compiled = CompiledGraph::compile(std::move(bound), {});
    if (!compiled)
        return failure(compiled.error());
    return compiled->run(opened.inputs);
}

/// Of what node prints the line with the error.
std::string sentenceOf(const Error& error) {
    const std::string text = error.text(), word = "\nError: ";
    const size_t at = text.find(word);
    return at == std::string::npos ? text : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

/// ONNX Runtime with the model, and with the fused one, against what our fused one gives.
Result<std::string> askRuntime(const ort::OnnxRuntime& runtime, const strangers::Case& stranger,
                               const strangers::Opened& opened, const app::Report& report) {
    const Graph& graph = opened.model.graph;
    testing_support::TemporaryFolder folder;
    ort::Job job;
    for (size_t i = 0; i < opened.inputs.size(); ++i)
        job.inputs.push_back({graph.value(graph.inputs()[i]).name, opened.inputs[i]});
    for (ValueId id : graph.outputs())
        job.outputs.push_back(graph.value(id).name);
    const std::string fusedFile = folder.file("fused.onnx");
    auto fused = fusedOf(opened);
    if (!fused)
        return failure(fused.error());
    if (auto saved = model_io::save(*fused, fusedFile); !saved)
        return failure(saved.error());
    auto ours = runFused(*fused, opened);
    if (!ours)
        return failure(ours.error());
    std::string out;
    for (const auto& [what, file] :
         {std::pair<const char*, std::string>("original", stranger.model), {"fused", fusedFile}}) {
        job.model = file;
        auto theirs = runtime.run(job, folder.path());
        if (!theirs)
            return failure("strangers.runtime", "ONNX Runtime, " + std::string(what) + ": " +
                                                    sentenceOf(theirs.error()));
        auto worst = compare(*theirs, *ours, graph, report);
        if (!worst)
            return failure("strangers.runtime",
                           "ONNX Runtime, " + std::string(what) + ": " + worst.error().text());
        out += fmt::format("; ONNX Runtime, {}: {}", what,
                           *worst ? fmt::format("{:.1e}", **worst) : "not compared");
    }
    return out;
}

/// Deciding by cost takes nothing that it predicts to be slower.
Result<void> requireNoLoss(const app::Report& report) {
    for (const app::MatchReport& match : report.matches)
        if (match.gain.value_or(0) < 0)
            return failure("strangers.slower",
                           fmt::format("`{}` by {} is predicted to cost {:.3g} us", match.fusedNode,
                                       match.rule, -*match.gain * 1e6));
    return {};
}

Result<std::string> check(const strangers::Case& stranger, const ort::OnnxRuntime* runtime) {
    auto opened = strangers::open(stranger);
    if (!opened)
        return failure(opened.error());
    auto result = benched(stranger, *opened);
    if (!result)
        return failure(result.error());
    if (auto kept = requireNoLoss(result->report); !kept)
        return failure(kept.error());
    double worst = 0;
    for (const app::OutputAgreement& side : result->report.agreement) {
        if (!side.ok)
            return failure("strangers.differ",
                           fmt::format("{} `{}`: relative {:.2e}, limit {:.0e}", side.side,
                                       side.output, side.maxRelative, side.tolerance));
        if (side.compares())
            worst = std::max(worst, side.maxRelative);
    }
    std::string out = fmt::format("{} -> {} nodes; reference: {:.1e}", result->report.before.nodes,
                                  result->report.after.nodes, worst);
    for (const app::OutputAgreement& side : result->report.agreement)
        if (!side.note.empty())
            out += fmt::format("; {} `{}`: {}", side.side, side.output, side.note);
    if (samples(opened->model.graph))
        return out + "; samples random numbers, not compared with ONNX Runtime";
    if (!runtime)
        return out + "; ONNX Runtime is not here";
    auto asked = askRuntime(*runtime, stranger, *opened, result->report);
    if (!asked)
        return failure(asked.error());
    return out + *asked;
}

Options parse(int argc, char** argv) {
    Options out;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool more = i + 1 < argc;
        if (word == "--folder" && more)
            out.folder = argv[++i];
        else if (word == "--script" && more)
            out.script = argv[++i];
        else if (word == "--modules" && more)
            out.modules = argv[++i];
        else
            out.names.push_back(word);
    }
    return out;
}

} // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    if (options.folder.empty()) {
        fmt::print("skipped: no models (set FUSELAGE_STRANGERS to a folder of them, see "
                   "tests/strangers/fetch)\n");
        return 77;
    }
    auto cases = strangers::findCases(options.folder, options.names);
    if (!cases || cases->empty()) {
        fmt::print("failed: {}\n", cases ? "no model of that name" : cases.error().text());
        return 1;
    }
    auto runtime = ort::OnnxRuntime::find(options.script, options.modules);
    bool good = true;
    for (const strangers::Case& stranger : *cases) {
        auto said = check(stranger, runtime ? &*runtime : nullptr);
        fmt::print("{}: {}\n", stranger.name, said ? *said : "FAILED " + said.error().text());
        std::fflush(stdout);
        good = good && said;
    }
    return good ? 0 : 1;
}
