// SPDX-License-Identifier: Apache-2.0
// fuselage check FILES.fuse: parse and check rules; prints every diagnostic. --strict: lints and
// the numeric proof too. --explain CODE: what a code means.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/import_path.h"
#include "app/pipeline/lint/lint.h"
#include "app/pipeline/model.h"
#include "app/pipeline/prove/proof_diagnostics.h"
#include "dsl/codes.h"
#include "dsl/lint.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace fuselage::cli {

namespace {

int explain(const std::string& code) {
    if (code == "all") {
        printOut(dsl::codesAsMarkdown());
        return ExitOk;
    }
    const dsl::CodeRow* row = dsl::codeNamed(code);
    if (!row)
        return reportError(failure("usage.code", "no code `" + code + "`", "",
                                   "take one from `fuselage check --explain all`")
                               .error);
    printOut(dsl::explanation(*row));
    return ExitOk;
}

struct Options {
    std::vector<std::string> paths, importPath, models, dims;
    std::string profile = "cpu", pipeline = "default";
    bool strict = false, noProof = false, quiet = false;
};

/// The lints; those about models only where models are given.
Result<Diagnostics> lints(const app::RuleLibrary& library, const Options& options) {
    ConsoleProgress progress(options.quiet);
    auto dims = parseDims(options.dims);
    if (!dims)
        return failure(dims.error());
    std::vector<app::LoadedModel> loaded;
    app::LintOptions linting;
    for (const std::string& path : options.models) {
        app::ModelRequest request{path, *dims};
        app::readFor(library, "default", request);
        auto model = app::loadModel(request, progress);
        if (!model)
            return failure(model.error());
        printNotes(model->notes, options.quiet);
        loaded.push_back(std::move(*model));
    }
    for (const app::LoadedModel& model : loaded)
        linting.models.push_back({model.path, &model.graph, model.dims});
    linting.strict = options.strict;
    linting.profile = options.profile;
    linting.pipeline = options.pipeline;
    return app::lintRules(library, linting, progress);
}

/// What the numeric proof has against the rules of the files.
Result<Diagnostics> proofs(const app::RuleLibrary& library, const Options& options) {
    ConsoleProgress progress(options.quiet);
    app::ProofOptions proving;
    proving.files = library.files;
    auto found = app::proveRules(library, proving, progress);
    if (!found)
        return failure(found.error());
    Diagnostics out;
    for (const app::RuleProof& proof : *found)
        app::addProof(proof, out);
    return out;
}

int run(const Options& options) {
    const std::vector<std::string>& paths = options.paths;
    auto library = app::loadRuleLibrary({paths, paths.empty(), {}, options.importPath});
    if (!library)
        return reportError(library.error());
    Diagnostics diagnostics = library->loaded.diagnostics;
    if (!options.strict) {
        diagnostics.append(dsl::lintImpossible(library->loaded));
        diagnostics.sort();
    }
    if (options.strict || !options.models.empty()) {
        auto found = lints(*library, options);
        if (!found)
            return reportError(found.error());
        diagnostics.append(*found);
    }
    if (options.strict && !options.noProof && !library->loaded.diagnostics.hasErrors()) {
        auto found = proofs(*library, options);
        if (!found)
            return reportError(found.error());
        diagnostics.append(*found);
        diagnostics.sort();
    }
    printOut(render(diagnostics, *library->sources));
    auto counted = [](size_t count, const char* what) {
        return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    const std::vector<std::string>& files = library->files;
    const auto& known = library->loaded.forms; // of the built-in library too, where `spec` asks
    auto forms = std::count_if(known.begin(), known.end(), [&](const Rule& form) {
        return paths.empty() || std::find(files.begin(), files.end(), form.file) != files.end();
    });
    printOut(counted(library->loaded.rules.rules.size(), "rule") + ", " +
             (forms > 0 ? counted(static_cast<size_t>(forms), "form") + ", " : "") +
             counted(diagnostics.all().size(), "diagnostic") + "\n");
    if (diagnostics.hasErrors())
        return ExitInput;
    const bool isFinding =
        std::any_of(diagnostics.all().begin(), diagnostics.all().end(),
                    [](const Diagnostic& each) { return each.severity != Severity::Note; });
    return options.strict && isFinding ? ExitGate : ExitOk;
}

} // namespace

Action addCheck(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("files", options->paths, ".fuse files or folders; none: the built-in library");
    addImportPath(app, options->importPath, "the folders of the files");
    app.add_flag("--strict", options->strict, "lint and prove as well; exit 1 on any warning");
    app.add_flag("--no-proof", options->noProof, "with --strict only the lints");
    app.add_option("-m,--model", options->models,
                   "a model that every rule should fire on; may be given several times");
    app.add_option("--dim", options->dims, "a symbolic dimension of the models, NAME=NUMBER");
    app.add_option("--pipeline", options->pipeline, "pipeline to run on the models")
        ->capture_default_str();
    app.add_option("--profile", options->profile, "device whose costs the gates see")
        ->capture_default_str();
    app.add_flag("-q,--quiet", options->quiet, "no progress bar");
    auto code = std::make_shared<std::string>();
    app.add_option("--explain", *code, "say what a code means, with an example; all: the table")
        ->type_name("CODE");
    return [options, code] { return code->empty() ? run(*options) : explain(*code); };
}

} // namespace fuselage::cli
