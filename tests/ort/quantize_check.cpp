// SPDX-License-Identifier: Apache-2.0
// `ort_quantize`: networks of the zoo quantised, saved, and run by ONNX Runtime with its graph
// optimisations and without. Its error against the float model must be the one that we report:
// single integers differ where float32 rounds to the other side of a step, and layers behind see
// whole steps, but none may be worse for it. Layer by layer, each fed what ONNX Runtime stored
// before it (quantize_steps.h), the integers are the same but for few that are one step apart.
// Exit code 77: no ONNX Runtime here.
//   ort_quantize --script ort.mjs [--modules FOLDER] [--type TYPE] [--weights TYPE]
//                [--opset N] [--plain] NAME...
// --opset: that the float model came in, 13 to 17, and the quantised one keeps.
// --plain: without its optimisations only. Those of ONNX Runtime 1.30 make MatMulIntegerToFloat of
// 8-bit floats, and fail on what they made.
#include "app/quantize/quantize.h"
#include "app/zoo/zoo.h"
#include "core/onnx/file_opset.h"
#include "core/onnx/model_file.h"
#include "tests/ort/onnx_runtime.h"
#include "tests/ort/quantize_steps.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

using namespace fuselage;

namespace {

/// Root of squared differences over root of squares.
double relativeError(const Tensor& wanted, const Tensor& found) {
    double signal = 0, noise = 0;
    for (int64_t i = 0; i < wanted.elementCount(); ++i) {
        signal += wanted.at(i) * wanted.at(i);
        noise += (wanted.at(i) - found.at(i)) * (wanted.at(i) - found.at(i));
    }
    return std::sqrt(noise / signal);
}

/// What is stored: of activations none where they stay float.
struct Types {
    std::optional<quantize::StoredType> values = quantize::StoredType::Int8;
    quantize::StoredType weights = quantize::StoredType::Int8;
    bool plain = false; ///< no optimisations of ONNX Runtime
    int64_t opset = 17; ///< that the float model came in
};

struct Subject {
    ort::Job job;
    Graph quantised;
    std::vector<Tensor> wanted; ///< of the float model
    std::vector<quantize::OutputError> ours;
};

Result<Subject> subjectOf(const std::string& name, const Types& types,
                          const app::RuleLibrary& library, const std::string& folder) {
    Progress progress;
    auto graph = zoo::build(name);
    if (!graph)
        return failure(graph.error());
    const std::string original = folder + "/" + name + ".onnx";
    if (auto saved = model_io::save(*graph, original); !saved)
        return failure(saved.error());
    app::ModelRequest request{original, {}};
    request.keepSymbols = true;
    auto model = app::loadModel(request, progress);
    if (!model)
        return failure(model.error());
    model->graph.opsetImports[""] = types.opset;
    const auto sets = quantize::InputSets::generated(1, 1);
    quantize::QuantizeOptions options;
    options.fuse.decide = Decide::Rules;
    options.type = types.values;
    options.weights = types.weights;
    auto done = quantize::quantizeModel(*model, library, sets, options, progress);
    if (!done)
        return failure(done.error());
    Subject out;
    out.ours = done->errors;
    out.job.model = folder + "/" + name + ".int8.onnx";
    const int64_t opset = model_io::ownOpset(done->graph);
    if (types.opset < 17 && opset != types.opset)
        return failure("ort.opset", fmt::format("opset {}, not {}", opset, types.opset));
    if (auto saved = model_io::saveOf(done->graph, out.job.model, opset); !saved)
        return failure(saved.error());
    auto inputs = sets.read(model->graph, model->dims, 0);
    if (!inputs)
        return failure(inputs.error());
    for (size_t i = 0; i < inputs->size(); ++i)
        out.job.inputs.push_back({model->graph.value(model->graph.inputs()[i]).name, (*inputs)[i]});
    for (ValueId id : model->graph.outputs())
        out.job.outputs.push_back(model->graph.value(id).name);
    out.quantised = std::move(done->graph);
    auto compiled = CompiledGraph::compile(model->graph.clone(), {});
    auto wanted = compiled ? compiled->run(*inputs) : failure(compiled.error());
    if (!wanted)
        return failure(wanted.error());
    out.wanted = std::move(*wanted);
    return out;
}

/// Of all integers so many may be one step apart, and none further. Without optimisations ONNX
/// Runtime sums floats, which now and then round to the other side; with them it sums integers and
/// scales once by a product of scales, which moves what lies near the middle of two steps. Steps of
/// 16 bits are as fine as what float32 loses in long sums.
double mostApart(const std::string& level, const Types& types) {
    if (!isByte(*types.values))
        return 0.01;
    return level == "all" ? 0.001 : 0.0001;
}

/// Whether what each layer stores is what ONNX Runtime stores.
Result<bool> checkSteps(const std::string& name, const Subject& subject, const Types& types,
                        const app::RuleLibrary& library, const ort::OnnxRuntime& runtime,
                        const std::string& folder) {
    auto counts = ort::compareSteps(subject.quantised, library, subject.job, runtime, folder);
    if (!counts)
        return failure(counts.error());
    if (counts->all() == 0)
        return true;
    const double apart = static_cast<double>(counts->one) / static_cast<double>(counts->all());
    const double most = mostApart(subject.job.level, types);
    const bool ok = counts->more == 0 && apart <= most;
    fmt::print(
        "{} at level {}: of {} integers {:.4f} % one step apart (limit {} %), {} more{}, {}\n",
        name, subject.job.level, counts->all(), 100 * apart, 100 * most, counts->more,
        counts->worst.empty() ? "" : ", most in " + counts->worst, ok ? "ok" : "FAILED");
    return ok;
}

/// Whether ONNX Runtime's error is ours, within a quarter.
Result<bool> check(const std::string& name, const Types& types, const app::RuleLibrary& library,
                   const ort::OnnxRuntime& runtime) {
    const testing_support::TemporaryFolder folder;
    auto subject = subjectOf(name, types, library, folder.path());
    if (!subject)
        return failure(subject.error());
    bool ok = true;
    for (const char* level : {"disabled", "all"}) {
        if (types.plain && std::strcmp(level, "all") == 0)
            continue;
        subject->job.level = level;
        auto outputs = runtime.run(subject->job, folder.path());
        if (!outputs)
            return failure(outputs.error());
        for (size_t i = 0; i < outputs->size(); ++i) {
            const double ours = subject->ours[i].relative;
            const double theirs = relativeError(subject->wanted[i], (*outputs)[i]);
            const bool same = theirs <= 1.25 * ours + 1e-3;
            ok = ok && same;
            fmt::print("{} {} at level {}: error {:.2e}, ours {:.2e}, {}\n", name,
                       subject->job.outputs[i], level, theirs, ours, same ? "ok" : "FAILED");
        }
        if (!types.plain && types.values) {
            auto steps = checkSteps(name, *subject, types, library, runtime, folder.path());
            if (!steps)
                return failure(steps.error());
            ok = ok && *steps;
        }
    }
    return ok;
}

} // namespace

int main(int argc, char** argv) {
    std::string script, modules;
    Types types;
    std::vector<std::string> names;
    for (int i = 1; i < argc; ++i)
        if (std::strcmp(argv[i], "--script") == 0 && i + 1 < argc)
            script = argv[++i];
        else if (std::strcmp(argv[i], "--modules") == 0 && i + 1 < argc)
            modules = argv[++i];
        else if (std::strcmp(argv[i], "--plain") == 0)
            types.plain = true;
        else if (std::strcmp(argv[i], "--opset") == 0 && i + 1 < argc)
            types.opset = std::stoll(argv[++i]);
        else if (std::strcmp(argv[i], "--type") == 0 && i + 1 < argc)
            types.values = quantize::storedTypeFromName(argv[++i]);
        else if (std::strcmp(argv[i], "--weights") == 0 && i + 1 < argc)
            types.weights = quantize::storedTypeFromName(argv[++i]).value_or(types.weights);
        else
            names.emplace_back(argv[i]);
    auto runtime = ort::OnnxRuntime::find(script, modules);
    if (!runtime) {
        fmt::print("skipped: {}\n", runtime.error().text());
        return 77;
    }
    auto library = app::requireRuleLibrary({});
    if (!library) {
        fmt::print("{}\n", library.error().text());
        return 1;
    }
    int wrong = names.empty() ? 1 : 0;
    for (const std::string& name : names) {
        auto ok = check(name, types, *library, *runtime);
        if (!ok)
            fmt::print("{}: FAILED: {}\n", name, ok.error().text());
        wrong += ok && *ok ? 0 : 1;
    }
    return wrong == 0 ? 0 : 1;
}
