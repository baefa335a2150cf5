// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/wrong_step.h"

#include "app/pipeline/compiled.h"
#include "core/onnx/model_file.h"
#include "core/support/hash.h"
#if FUSELAGE_HAS_CUDA
#include "gpu/backend/dump_kernels.h"
#include "gpu/backend/step_check.h"
#include "gpu/runtime/cubin_cache.h"
#endif

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace fuselage::app {

namespace {

#if FUSELAGE_HAS_CUDA

Result<void> saveAll(const std::vector<ReferenceValue>& values, const std::string& prefix) {
    for (size_t i = 0; i < values.size(); ++i)
        if (auto saved =
                model_io::saveTensor(values[i].toTensor(), prefix + std::to_string(i) + ".pb");
            !saved)
            return saved;
    return {};
}

/// The step's body with its weights, its operands of this run, what the evaluator makes of them and
/// what the device made.
Result<void> saveModel(const Step& step, const Plan& plan, const gpu::WrongStep& wrong,
                       const std::string& folder) {
    if (!step.program.body)
        return {};
    Graph graph = step.program.body->clone();
    std::vector<std::string> names;
    for (ValueId input : graph.inputs())
        names.push_back(graph.value(input).name);
    std::vector<ReferenceValue> inputs;
    for (size_t i = 0; i < names.size(); ++i) {
        const TensorPtr constant = plan.values[step.inputs[i]].constant;
        if (!constant) {
            inputs.push_back(wrong.inputs[i]);
            continue;
        }
        if (auto bound = bindInput(graph, names[i], *constant); !bound)
            return bound;
    }
    using Saved = std::pair<const std::vector<ReferenceValue>*, const char*>;
    for (const auto& [values, prefix] :
         {Saved{&inputs, "/input_"}, Saved{&wrong.wanted, "/output_"},
          Saved{&wrong.outputs, "/got_"}})
        if (auto saved = saveAll(*values, folder + prefix); !saved)
            return saved;
    auto saved = model_io::save(graph, folder + "/step.onnx");
    return saved ? Result<void>() : failure(saved.error());
}

/// Where it was written; empty: --cache none.
Result<std::string> writeRepro(const WrongStepRequest& request, const gpu::WrongStep& wrong,
                               Progress& progress) {
    const std::string cache = gpu::cacheFolder(request.cache);
    if (cache.empty())
        return std::string();
    const Step& step = request.plan.steps[wrong.step];
    Hasher hasher;
    hasher.text(request.model).text(request.side).text(step.name);
    const std::string folder = cache + "/wrong_steps/" + hasher.hex();
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    std::filesystem::create_directories(folder, error);
    if (error)
        return failure("save.write", "the folder cannot be made: " + error.message(), folder);
    if (auto saved = saveModel(step, request.plan, wrong, folder); !saved)
        return failure(saved.error());
    auto kernels = gpu::dumpStep(request.plan, wrong.step, request.profile, folder, progress);
    if (!kernels)
        return failure(kernels.error());
    return folder;
}

#endif

} // namespace

Result<std::string> describeWrongStep(const WrongStepRequest& request, Progress& progress) {
#if FUSELAGE_HAS_CUDA
    ThreadPool threads(request.threads);
    auto check = gpu::firstWrongStep(request.executable, request.inputs, threads, progress);
    if (!check)
        return failure(check.error());
    if (!check->wrong)
        return fmt::format(
            "each of its steps is right by itself ({} checked, {} not): what differs "
            "adds up, or comes from running them together",
            check->checked, check->unchecked);
    const gpu::WrongStep& wrong = *check->wrong;
    const Step& step = request.plan.steps[wrong.step];
    std::string out = fmt::format("the first wrong step is `{}` ({} of {}), computed by `{}`: {}",
                                  step.name, wrong.step + 1, request.plan.steps.size(),
                                  request.executable.tactic(wrong.step), wrong.how);
    auto folder = writeRepro(request, wrong, progress);
    if (!folder)
        return out + "; its repro was not written: " + folder.error().text();
    return folder->empty() ? out : out + "; its repro is in " + *folder;
#else
    (void)request, (void)progress;
    return failure("step.backend", "this program was built without the cuda backend");
#endif
}

void noteWrongStep(const WrongStepRequest& request, Report& report, Progress& progress) {
    for (OutputAgreement& output : report.agreement) {
        if (output.ok || output.side != request.side)
            continue;
        auto text = describeWrongStep(request, progress);
        output.note += (output.note.empty() ? "" : "; ") +
                       (text ? *text : "the first wrong step is not known: " + text.error().text());
        return;
    }
}

} // namespace fuselage::app
