// SPDX-License-Identifier: Apache-2.0
// diagnose: a .fuse text -> the rendered diagnostics. parse: its canonical form, which is a
// fixpoint.
#include "app/pipeline/rules.h"
#include "dsl/lint.h"
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
    SourceSet sources;
    dsl::LoadedRules loaded = dsl::loadRules(sources, {{"input.fuse", *text + "\n"}}, resolver);
    if (!file.option("lint").empty())
        loaded.diagnostics.append(dsl::lint(loaded));
    outcome.sections["diagnostics"] =
        loaded.diagnostics.empty() ? "no diagnostics" : render(loaded.diagnostics, sources);
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
