// SPDX-License-Identifier: Apache-2.0
// diagnose: a .fuse text -> the rendered diagnostics. parse: its canonical form, which is a
// fixpoint.
#include "app/pipeline/lint/lint.h"
#include "dsl/parse.h"
#include "dsl/print.h"
#include "tests/filetest/commands.h"

namespace fuselage::filetest {

namespace {

const std::string* inputText(const CaseFile& file, Outcome& outcome) {
    const std::string* text = file.find("input");
    if (!text)
        outcome.broken = "no section `input`";
    return text;
}

/// Canonical text, or nothing with the rendered diagnostics in `problems`.
std::optional<std::string> canonical(const std::string& text, std::string& problems) {
    SourceSet sources;
    dsl::ParsedFile parsed = dsl::parse(sources, sources.add("input.fuse", text));
    if (parsed.diagnostics.empty())
        return dsl::print(parsed.file);
    problems = render(parsed.diagnostics, sources);
    return std::nullopt;
}

/// All lints; a section `model` is a graph that the rules are meant for.
void lintInto(Diagnostics& out, const app::RuleLibrary& library, const CaseFile& file,
              Outcome& outcome) {
    app::LintOptions options;
    options.profile = "h200"; // a profile of data only: the same on every machine
    Graph model;
    if (file.find("model")) {
        Outcome read = readPrepared(file, "model", model);
        outcome.broken = read.broken;
        options.models.push_back({"the model", &model});
    }
    Progress progress;
    auto found = app::lintRules(library, options, progress);
    if (found)
        out.append(*found);
    else
        outcome.broken = found.error().text();
}

} // namespace

Outcome runDiagnose(const CaseFile& file) {
    Outcome outcome;
    const std::string* text = inputText(file, outcome);
    if (!text)
        return outcome;
    // `file NAME` sections are other files that the text may import.
    auto resolver = [&](const std::string& path) -> Result<std::string> {
        if (const std::string* other = file.find("file " + path))
            return *other + "\n";
        return app::builtinImport(path);
    };
    app::RuleLibrary library;
    library.loaded = dsl::loadRules(*library.sources, {{"input.fuse", *text + "\n"}}, resolver);
    Diagnostics& all = library.loaded.diagnostics;
    if (!file.option("lint").empty())
        lintInto(all, library, file, outcome);
    outcome.sections["diagnostics"] =
        all.empty() ? "no diagnostics" : render(all, *library.sources);
    return outcome;
}

Outcome runParse(const CaseFile& file) {
    Outcome outcome;
    const std::string* text = inputText(file, outcome);
    if (!text)
        return outcome;
    std::string problems;
    auto once = canonical(*text + "\n", problems);
    auto again = once ? canonical(*once, problems) : std::nullopt;
    if (!again)
        outcome.sections["output"] = problems;
    else if (*again != *once)
        outcome.broken = "printing twice changes the text:\n" + difference(*once, *again);
    else
        outcome.sections["output"] = *once;
    return outcome;
}

} // namespace fuselage::filetest
