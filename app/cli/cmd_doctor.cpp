// SPDX-License-Identifier: Apache-2.0
// fuselage doctor: what was found on this machine and what is used of it.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/pipeline/backends.h"
#include "app/pipeline/counters.h"
#include "app/pipeline/machine.h"
#include "core/cost/cost.h"

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
    std::vector<app::BackendState> backends = app::inspectBackends();
    for (const app::BackendState& backend : backends)
        out += fmt::format("backend     {}: {}\n", backend.name, backend.text);
    out += fmt::format("used        {}\n", app::usedBackend(backends));
    auto profile = deviceProfile("cpu");
    if (!profile)
        return reportError(profile.error());
    out += fmt::format("profile     {}: {}\n", profile->name, profile->origin);
    out += fmt::format("counters    {}\n", app::countersText());
    printOut(out);
    return ExitOk;
}

} // namespace

Action addDoctor(CLI::App&) {
    return run;
}

} // namespace fuselage::cli
