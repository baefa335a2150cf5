// SPDX-License-Identifier: Apache-2.0
// fuselage doctor: what was found on this machine and what is used of it.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/pipeline/compiled.h"
#include "app/pipeline/machine.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace fuselage::cli {

namespace {

int run() {
    app::MachineInfo machine = app::inspectMachine();
    std::string out = fmt::format("processor   {}\ncores       {}\n", text(machine), machine.cores);
    for (const app::FoundLibrary& library : app::inspectCudaLibraries())
        out += fmt::format(
            "{:<11} {}\n", library.name,
            library.path.empty()
                ? library.missing
                : fmt::format("{} ({})",
                              library.version.empty() ? "unknown version" : library.version,
                              library.path));
    std::string used = "cpu";
    for (const char* name : {"cuda", "cpu", "reference"}) {
        CompileOptions options;
        options.backend = name;
        auto backend = makeBackend(options);
        out += fmt::format("backend     {}: {}\n", name,
                           backend ? (*backend)->description()
                                   : "not usable: " + backend.error().text());
        if (backend && name == std::string_view("cuda"))
            used = name;
    }
    out += fmt::format("used        {}\n", used);
    printOut(out);
    return ExitOk;
}

} // namespace

Action addDoctor(CLI::App&) {
    return run;
}

} // namespace fuselage::cli
