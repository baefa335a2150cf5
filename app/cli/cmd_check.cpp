// SPDX-License-Identifier: Apache-2.0
// fuselage check FILES.fuse: parse and check rules; prints every diagnostic. --explain CODE: what a
// code means.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/pipeline/rules.h"
#include "dsl/codes.h"
#include "dsl/lint.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

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

int run(const std::vector<std::string>& paths, bool strict) {
    auto library = app::loadRuleLibrary({paths, paths.empty()});
    if (!library)
        return reportError(library.error());
    Diagnostics diagnostics = library->loaded.diagnostics;
    if (strict)
        diagnostics.append(dsl::lint(library->loaded));
    printOut(render(diagnostics, *library->sources));
    auto counted = [](size_t count, const char* what) {
        return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    printOut(counted(library->loaded.rules.rules.size(), "rule") + ", " +
             counted(diagnostics.all().size(), "diagnostic") + "\n");
    if (diagnostics.hasErrors())
        return ExitInput;
    return strict && !diagnostics.empty() ? ExitGate : ExitOk;
}

} // namespace

Action addCheck(CLI::App& app) {
    auto paths = std::make_shared<std::vector<std::string>>();
    app.add_option("files", *paths, ".fuse files or folders; none: the built-in library");
    auto strict = std::make_shared<bool>(false);
    app.add_flag("--strict", *strict, "lint as well; exit 1 on any warning");
    auto code = std::make_shared<std::string>();
    app.add_option("--explain", *code, "say what a code means, with an example; all: the table")
        ->type_name("CODE");
    return [paths, strict, code] { return code->empty() ? run(*paths, *strict) : explain(*code); };
}

} // namespace fuselage::cli
