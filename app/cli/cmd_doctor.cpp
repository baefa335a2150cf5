// SPDX-License-Identifier: Apache-2.0
// fuselage doctor: what was found on this machine and what is used of it.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/pipeline/machine.h"
#include "core/plan/backend.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace fuselage::cli {

namespace {

int run() {
    app::MachineInfo machine = app::inspectMachine();
    std::string out = fmt::format("processor   {}\ncores       {}\n", text(machine), machine.cores);
    out += machine.cudaDriver.empty()
               ? "CUDA        libcuda.so.1 not found: no CUDA device can be used\n"
               : fmt::format("CUDA        driver {}; this build has no CUDA backend\n",
                             machine.cudaDriver);
    for (auto make : {+[] { return makeCpuBackend({}); }, +[] { return makeReferenceBackend(); }}) {
        auto backend = make();
        out += fmt::format("backend     {}: {}\n", backend->name(), backend->description());
    }
    out += "used        cpu\n";
    printOut(out);
    return ExitOk;
}

} // namespace

Action addDoctor(CLI::App&) {
    return run;
}

} // namespace fuselage::cli
