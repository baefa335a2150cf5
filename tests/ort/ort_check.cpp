// SPDX-License-Identifier: Apache-2.0
// `ort_check`: models of the zoo, or .onnx files, before and after fusion in ONNX Runtime. Each
// side is compared with our reference interpreter, and both with each other. Files take their
// inputs from the folder NAME_data beside them when there is one. Exit code 77: no ONNX Runtime
// here.
//   ort_check --script ort.mjs [--modules FOLDER] [--keep FOLDER] [--plain] [--fp16] [--target
//   NAME] NAME|random_SEED|FILE.onnx|FOLDER...
// --plain: without its optimisations. Those of ONNX Runtime 1.30 multiply by 4-bit weights with
// less digits than the model says. --fp16: what is fused stores 16 bits, and the file must have the
// Casts of its boundary. --target: what is written for a runtime takes the place of what is fused,
// and must have operators of com.microsoft. Of a folder all .onnx files are taken.
#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/model.h"
#include "app/pipeline/target.h"
#include "app/pipeline/verify.h"
#include "app/report/format.h"
#include "app/zoo/zoo.h"
#include "core/graph/bodies.h"
#include "core/onnx/model_file.h"
#include "core/ops/op_table.h"
#include "core/passes/passes.h"
#include "core/plan/backend.h"
#include "tests/ort/onnx_runtime.h"
#include "tests/strangers/cases.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/random_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

using namespace fuselage;
namespace fs = std::filesystem;

namespace {

struct Options {
    std::string script, modules;
    std::string keep;   ///< folder where fused models stay
    bool plain = false; ///< no optimisations of ONNX Runtime
    bool fp16 = false;
    std::string target; ///< empty: fused nodes
    std::vector<std::string> models;
};

/// One model on its way: the original's file and the fused one's, inputs, expected outputs.
struct Subject {
    std::string original, fused;
    std::vector<ort::NamedTensor> inputs;
    std::vector<std::string> outputs;
    std::vector<ReferenceValue> expected;
    size_t fusedNodes = 0;
};

Result<std::vector<Tensor>> inputsFor(const Graph& graph, const std::string& file) {
    const std::string data = fs::path(file).replace_extension().string() + "_data";
    auto stored = strangers::storedInputs(graph, data);
    if (!stored || !stored->empty())
        return stored;
    Graph bound = graph.clone();
    constexpr int64_t sequence = 6;
    bindAllDimensions(bound, {{"N", 1}}, sequence);
    return app::generateInputs(bound, 1);
}

Result<std::vector<ReferenceValue>> reference(const std::string& file,
                                              const std::vector<Tensor>& inputs) {
    Progress progress;
    // As loaded, not prepared: inference and folding are judged, too.
    auto graph = model_io::load(file, {}, progress);
    if (!graph)
        return failure(graph.error());
    std::vector<ReferenceValue> values;
    for (const Tensor& input : inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool threads;
    return interpret(*graph, std::move(values), threads, progress);
}

constexpr std::string_view randomPrefix = "random_";

bool isRandom(const std::string& model) {
    return model.starts_with(randomPrefix);
}

/// "random_17": a random graph with bodies of If, Loop and Scan, by its seed.
Result<Graph> randomModel(const std::string& model) {
    const auto seed = static_cast<uint32_t>(std::stoul(model.substr(randomPrefix.size())));
    auto graph = model_io::loadText(testing_random::Writer(seed, true).sketch().text());
    if (!graph)
        return failure(graph.error());
    inferShapes(*graph);
    return std::move(*graph);
}

/// The model as its file has it: float32 at the boundary, 16 bits behind Casts of all inputs.
Result<void> expectCasts(const std::string& file) {
    Progress progress;
    auto graph = model_io::load(file, {}, progress);
    if (!graph)
        return failure(graph.error());
    size_t narrowed = 0, widened = 0;
    for (NodeId id : graph->nodes()) {
        const Node& node = graph->node(id);
        if (node.op != Op::Cast)
            continue;
        const bool narrows = node.attributes.integer("to") == onnxNumber(DType::Float16);
        ++(narrows ? narrowed : widened);
    }
    for (const auto* boundary : {&graph->inputs(), &graph->outputs()})
        for (ValueId id : *boundary)
            if (graph->value(id).type.dtype == DType::Float16)
                return failure("ort.fp16", "the boundary is float16", graph->value(id).name);
    if (narrowed == 0 || widened == 0)
        return failure("ort.fp16",
                       fmt::format("{} Casts to float16 and {} back", narrowed, widened), file);
    return {};
}

Result<Subject> prepare(const std::string& model, const std::string& folder, const Options& options,
                        const app::RuleLibrary& library, app::FuseOptions fusing) {
    Subject out;
    Progress progress;
    out.original = model;
    std::string name = fs::path(model).stem();
    if (!model.ends_with(".onnx")) {
        auto graph = isRandom(model) ? randomModel(model) : zoo::written(model);
        if (!graph)
            return failure(graph.error());
        out.original = folder + "/" + model + ".onnx";
        if (auto saved = model_io::save(*graph, out.original); !saved)
            return failure(saved.error());
    }
    app::ModelRequest request;
    request.path = out.original;
    app::readFor(library, fusing.pipeline, request);
    auto loaded = app::loadModel(request, progress);
    if (!loaded)
        return failure(loaded.error());
    const Graph& graph = loaded->graph;
    auto inputs = inputsFor(graph, out.original);
    if (!inputs)
        return failure(inputs.error());
    for (size_t i = 0; i < inputs->size(); ++i)
        out.inputs.push_back({graph.value(graph.inputs()[i]).name, (*inputs)[i]});
    for (ValueId id : graph.outputs())
        out.outputs.push_back(graph.value(id).name);
    fusing.dims = strangers::dimensionsOf(graph, *inputs);
    fusing.precision = options.fp16 ? Precision::Fp16 : Precision::Fp32;
    if (isRandom(model)) // so small that predictions leave most of it alone
        fusing.decide = Decide::Rules;
    auto rewritten = app::fuseGraph(graph, library, fusing, progress);
    if (!rewritten)
        return failure(rewritten.error());
    const auto countFused = [&](const Graph& where) {
        for (NodeId id : where.nodes())
            out.fusedNodes += where.node(id).op == Op::Fused;
    };
    countFused(rewritten->graph);
    for (const BodyPlace& body : bodiesOf(rewritten->graph))
        countFused(*body.graph);
    if (!options.target.empty()) // its rules rewrite, and what they write is no fused node
        for (const RuleCount& rule : rewritten->trace.counts)
            out.fusedNodes += rule.applied;
    out.fused = folder + "/" + name + ".fused.onnx";
    if (auto saved = model_io::save(rewritten->graph, out.fused); !saved)
        return failure(saved.error());
    if (!options.target.empty() && out.fusedNodes == 0)
        return failure("ort.target", "nothing was written for " + options.target, model);
    if (auto cast = options.fp16 ? expectCasts(out.fused) : Result<void>(); !cast)
        return failure(cast.error());
    auto expected = reference(out.original, *inputs);
    if (!expected)
        return failure(expected.error());
    out.expected = std::move(*expected);
    return out;
}

/// The worst output of a comparison.
struct Verdict {
    double relative = 0;
    bool ok = true;
};

void add(Verdict& verdict, const app::OutputAgreement& output) {
    verdict.ok = verdict.ok && output.ok;
    verdict.relative = std::max(verdict.relative, output.maxRelative);
}

std::string textOf(const Verdict& verdict) {
    return fmt::format("{:.1e} {}", verdict.relative, verdict.ok ? "ok" : "FAILED");
}

/// Runs both files and fills a row; the error of what could not be run.
Result<bool> compare(const Subject& subject, const ort::OnnxRuntime& runtime,
                     const std::string& folder, const Options& options, app::TextTable& table,
                     const std::string& name) {
    ort::Job job;
    job.level = options.plain ? "disabled" : job.level;
    job.inputs = subject.inputs;
    job.outputs = subject.outputs;
    job.model = subject.original;
    auto before = runtime.run(job, folder);
    if (!before)
        return failure("ort.original", before.error().text(), subject.original);
    job.model = subject.fused;
    auto after = runtime.run(job, folder);
    if (!after)
        return failure("ort.fused", after.error().text(), subject.fused);
    Verdict original, fused, each;
    for (size_t i = 0; i < subject.outputs.size(); ++i) {
        const std::string& output = subject.outputs[i];
        const ReferenceValue& expected = subject.expected[i];
        auto left = app::compareOutput(output, "original", expected, (*before)[i],
                                       app::originalTolerance(expected.dtype));
        constexpr double ofHalves = 0.02; // eleven bits, through all layers
        double tolerance = options.fp16 ? ofHalves
                           : options.target.empty()
                               ? app::fusedTolerance(expected.dtype, left.maxRelative)
                               : app::originalTolerance(expected.dtype); // its own kernels
        add(original, left);
        add(fused, app::compareOutput(output, "fused", expected, (*after)[i], tolerance));
        add(each, app::compareOutput(output, "fused", ReferenceValue::from((*before)[i]),
                                     (*after)[i], tolerance));
    }
    table.row({name, std::to_string(subject.fusedNodes), std::to_string(subject.outputs.size()),
               textOf(original), textOf(fused), textOf(each)});
    return original.ok && fused.ok && each.ok;
}

Result<bool> check(const std::string& model, const Options& options,
                   const app::RuleLibrary& library, const app::FuseOptions& fusing,
                   const ort::OnnxRuntime& runtime, app::TextTable& table) {
    testing_support::TemporaryFolder folder;
    auto subject = prepare(model, folder.path(), options, library, fusing);
    if (!subject)
        return failure(subject.error());
    if (!options.keep.empty())
        fs::copy_file(subject->fused, fs::path(options.keep) / fs::path(subject->fused).filename(),
                      fs::copy_options::overwrite_existing);
    return compare(*subject, runtime, folder.path(), options, table, fs::path(model).stem());
}

Options parse(int argc, char** argv) {
    Options out;
    for (int i = 1; i < argc; ++i) {
        std::string word = argv[i];
        bool more = i + 1 < argc;
        if (word == "--script" && more)
            out.script = argv[++i];
        else if (word == "--modules" && more)
            out.modules = argv[++i];
        else if (word == "--keep" && more)
            out.keep = argv[++i];
        else if (word == "--target" && more)
            out.target = argv[++i];
        else if (word == "--plain")
            out.plain = true;
        else if (word == "--fp16")
            out.fp16 = true;
        else if (fs::is_directory(word))
            for (const auto& entry : fs::directory_iterator(word)) {
                if (entry.path().extension() == ".onnx")
                    out.models.push_back(entry.path());
            }
        else
            out.models.push_back(word);
    }
    std::sort(out.models.begin(), out.models.end());
    return out;
}

} // namespace

int main(int argc, char** argv) {
    Options options = parse(argc, argv);
    auto runtime = ort::OnnxRuntime::find(options.script, options.modules);
    if (!runtime) {
        fmt::print("{}: {}\n", runtime.error().code == "ort.missing" ? "skipped" : "failed",
                   runtime.error().text());
        return runtime.error().code == "ort.missing" ? 77 : 1;
    }
    app::RuleOptions rules;
    app::FuseOptions fusing;
    if (!options.target.empty())
        if (auto ready = app::writeFor(options.target, rules, fusing); !ready) {
            fmt::print("{}\n", ready.error().text());
            return 2;
        }
    auto library = app::requireRuleLibrary(rules);
    if (!library) {
        fmt::print("{}\n", library.error().text());
        return 1;
    }
    using Align = app::TextTable::Align;
    app::TextTable table(
        {Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right});
    table.row({"model", "fused nodes", "outputs", "original / reference", "fused / reference",
               "fused / original"});
    size_t failed = options.models.empty() ? 1 : 0;
    for (const std::string& model : options.models) {
        auto good = check(model, options, *library, fusing, *runtime, table);
        if (!good)
            fmt::print("{} FAILED {}\n", model, good.error().text());
        failed += good && *good ? 0 : 1;
        std::fflush(stdout);
    }
    fmt::print("ONNX Runtime {}; largest error relative to the largest output\n{}",
               runtime->version(), table.text());
    return failed == 0 ? 0 : 1;
}
