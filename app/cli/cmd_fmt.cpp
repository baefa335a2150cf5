// SPDX-License-Identifier: Apache-2.0
// fuselage fmt FILES.fuse: canonical layout, in place; `-` reads standard input, --check only
// compares.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/pipeline/rules.h"
#include "core/support/file.h"
#include "dsl/parse.h"
#include "dsl/service/format.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <iostream>
#include <iterator>

namespace fuselage::cli {

namespace {

struct Options {
    std::vector<std::string> paths;
    bool check = false;
};

/// The canonical form; nothing after the mistakes were printed when the text has any.
std::optional<std::string> formatted(const std::string& name, const std::string& text) {
    SourceSet sources;
    dsl::ParsedFile parsed = dsl::parse(sources, sources.add(name, text));
    if (!parsed.diagnostics.hasErrors())
        return dsl::formatText(text);
    std::cerr << render(parsed.diagnostics, sources);
    return std::nullopt;
}

/// The first line that differs, as people read a diff.
std::string firstDifference(const std::string& before, const std::string& after) {
    SourceSet texts;
    const Source& a = texts[texts.add("a", before)];
    std::string was(a.text());
    const Source old("", was), now("", after);
    for (uint32_t line = 1;; ++line)
        if (old.line(line) != now.line(line))
            return fmt::format("  line {}\n  - {}\n  + {}\n", line, old.line(line), now.line(line));
}

int formatInput(bool check) {
    std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    std::optional<std::string> out = formatted("standard input", text);
    if (!out)
        return ExitInput;
    if (!check)
        writeOut(*out);
    return check && *out != text ? ExitGate : ExitOk;
}

int run(const Options& options) {
    if (options.paths == std::vector<std::string>{"-"})
        return formatInput(options.check);
    int code = ExitOk;
    for (const std::string& path : options.paths) {
        auto files = app::ruleFiles(path);
        if (!files)
            return reportError(files.error());
        for (const std::string& file : *files) {
            auto text = readFile(file);
            if (!text)
                return reportError(text.error());
            std::optional<std::string> out = formatted(file, *text);
            if (!out) {
                code = ExitInput;
            } else if (*out != *text) {
                printOut(options.check ? file + "\n" + firstDifference(*text, *out) : file + "\n");
                if (options.check)
                    code = code == ExitOk ? ExitGate : code;
                else if (auto written = writeFile(*out, file); !written)
                    return reportError(written.error());
            }
        }
    }
    return code;
}

} // namespace

Action addFmt(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("files", options->paths, ".fuse files or folders; `-` is standard input")
        ->required();
    app.add_flag("--check", options->check, "change nothing; exit 1 when a file would change");
    return [options] { return run(*options); };
}

} // namespace fuselage::cli
