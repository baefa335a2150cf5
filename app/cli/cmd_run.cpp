// SPDX-License-Identifier: Apache-2.0
// fuselage run MODEL: one run on a backend, unfused or fused; outputs saved as output_N. Checks
// the numbers on request only.
#include "app/cli/command.h"
#include "app/cli/common_options.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/pipeline/run_model.h"
#include "app/pipeline/tensor_facts.h"
#include "app/report/escape.h"
#include "app/report/verdict.h"
#include "core/onnx/model_file.h"
#include "core/onnx/npy_file.h"
#include "core/support/file.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>

namespace fuselage::cli {

namespace {

struct Options {
    std::string model, inputs, output;
    app::InputNumbers numbers;
    RewriteOptions rewrite;
    app::RunModelOptions run;
    bool npy = false; ///< outputs are saved as NumPy's
};

/// File names are numbers, whatever the values are called; the tensors in them have the names.
Result<void> saveOutputs(const std::vector<Tensor>& outputs, const std::vector<std::string>& names,
                         const std::string& folder, bool npy) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        return failure("save.write", "the folder cannot be made: " + error.message(), folder,
                       "check permissions and free space");
    for (size_t i = 0; i < outputs.size() && npy; ++i)
        if (!model_io::isNumpyType(outputs[i].dtype()))
            return failure("save.type",
                           fmt::format("NumPy has no element type {}", nameOf(outputs[i].dtype())),
                           names[i], "leave out --npy");
    for (size_t i = 0; i < outputs.size(); ++i) {
        const std::string path = folder + "/output_" + std::to_string(i) + (npy ? ".npy" : ".pb");
        auto saved = npy ? fuselage::writeFile(*model_io::npyOf(outputs[i]), path)
                         : model_io::saveTensor(outputs[i], path, names[i]);
        if (!saved)
            return failure(saved.error());
    }
    return {};
}

/// What a value inside holds.
std::string holdsText(const Tensor& tensor) {
    if (tensor.elementCount() == 0) // nothing to count
        return tensor.extents().size() == 1
                   ? "empty, as where it is in a branch of If that does not run"
                   : "empty";
    return factsText(*app::factsOf(tensor, [] { return false; }));
}

Result<app::RunModelResult> runFile(Options& options) {
    ConsoleProgress progress(options.rewrite.quiet);
    app::ModelRequest request{options.model, options.rewrite.fuse.dims, options.inputs};
    request.numbers = options.numbers;
    if (options.run.fused || !options.rewrite.rules.paths.empty()) {
        auto library = app::requireRuleLibrary(options.rewrite.rules);
        if (!library)
            return failure(library.error());
        app::readFor(*library, options.rewrite.fuse.pipeline, request);
    }
    auto model = app::loadModel(request, progress);
    if (!model)
        return failure(model.error());
    printNotes(model->notes, options.rewrite.quiet);
    const size_t known = model->notes.size();
    options.run.rules = options.rewrite.rules;
    options.run.fuse = options.rewrite.fuse;
    auto out = app::runModel(*model, options.run, progress);
    printNotes({model->notes.begin() + static_cast<ptrdiff_t>(known), model->notes.end()});
    if (out)
        printNotes(out->notes);
    return out;
}

int run(Options& options) {
    if (auto ready = finish(options.rewrite); !ready)
        return reportError(ready.error());
    auto ran = runFile(options);
    if (!ran)
        return reportError(ran.error());
    if (!options.output.empty())
        if (auto saved = saveOutputs(ran->outputs, ran->names, options.output, options.npy); !saved)
            return reportError(saved.error());
    std::string out;
    const size_t outputs = ran->names.size() - ran->inner;
    for (size_t i = 0; i < ran->names.size(); ++i) {
        const Tensor& tensor = ran->outputs[i];
        const std::string holds = i < outputs ? "" : holdsText(tensor);
        out += fmt::format("{}: {}{}{}\n", app::visible(ran->names[i]), tensor.type().text(),
                           holds.empty() ? "" : "  ", holds);
    }
    bool right = true;
    for (const app::AgreementLine& line : app::agreementLines(ran->checked)) {
        const app::OutputAgreement& worst = line.worst;
        right = right && worst.ok;
        const std::string figures = worst.empty && worst.ok
                                        ? ""
                                        : fmt::format("max abs {:.2e}, relative {:.2e}, ",
                                                      worst.maxAbsolute, worst.maxRelative);
        out += fmt::format("verify {}: {}: {}{}\n", app::visible(line.outputs()), worst.side,
                           figures, line.verdict());
    }
    for (const std::string& note : ran->checkNotes)
        out += "verify: " + note + "\n";
    if (options.run.verify && options.rewrite.fuse.strict && !options.run.fused)
        out += "verify: nothing is fused, so that --strict has no bits to compare: --fuse does\n";
    if (!right && ran->jumps)
        out += "verify: this model rounds or compares values on the way, so that roundings alone "
               "may turn a result over: `fuselage bench` tells that from a mistake\n";
    printOut(out);
    return right ? ExitOk : ExitVerification;
}

} // namespace

Action addRun(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("model", options->model, "ONNX file")->required();
    addRewriteOptions(app, options->rewrite);
    app.add_flag("--fuse", options->run.fused,
                 "run the fused model; nothing is checked without --verify");
    app.add_flag("--verify", options->run.verify,
                 "compare the outputs: of --fuse with one unfused run on the same backend (in fp32 "
                 "for --precision fp16 and bf16; with --strict bit by bit), else or where those "
                 "differ with the double-precision interpreter; then again with other sizes of "
                 "open dimensions and inputs that enter other bodies of If and Loop; exit 4 where "
                 "wrong. "
                 "bench compares both sides with the interpreter always");
    addRunOptions(app, options->run.run, {options->run.seed, options->inputs, options->numbers});
    app.add_option("--value", options->run.values,
                   "also give out what is inside: the name of a value, or of a node for all that "
                   "it makes; `*` stands for any text; repeatable. Prints what each holds: of "
                   "a value in a Loop or Scan what it held in each iteration, along a new first "
                   "axis; of one in an If what it held where its branch ran. "
                   "--verify compares it where the model has a value of that name, -o saves it")
        ->type_name("NAME ...");
    auto* output = app.add_option("-o,--save-outputs", options->output,
                                  "folder for output_N.pb; each tensor keeps its name");
    app.add_flag("--npy", options->npy, "output_N.npy in their place, which numpy.load reads")
        ->needs(output);
    return [options, &app] {
        auto fits = checkTuneOptions(app, options->run.run.backend);
        return fits ? run(*options) : reportError(fits.error());
    };
}

} // namespace fuselage::cli
