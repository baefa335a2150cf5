// SPDX-License-Identifier: Apache-2.0
// fuselage plan diff A B: matches that one .fuseplan has and the other one has not.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/pipeline/fuse_plan.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace fuselage::cli {

namespace {

int diff(const std::string& before, const std::string& after) {
    auto old = app::readPlan(before);
    if (!old)
        return reportError(old.error());
    auto now = app::readPlan(after);
    if (!now)
        return reportError(now.error());
    app::PlanDifference difference = app::comparePlans(*old, *now);
    for (const PlannedMatch& match : difference.lost)
        printOut("- " + app::matchText(match) + "\n");
    for (const PlannedMatch& match : difference.gained)
        printOut("+ " + app::matchText(match) + "\n");
    printOut(fmt::format("{} lost, {} gained, {} the same\n", difference.lost.size(),
                         difference.gained.size(), difference.same));
    return difference.lost.empty() && difference.gained.empty() ? ExitOk : ExitGate;
}

} // namespace

Action addPlan(CLI::App& app) {
    auto before = std::make_shared<std::string>();
    auto after = std::make_shared<std::string>();
    app.require_subcommand(1);
    CLI::App* command = app.add_subcommand("diff", "matches lost and gained; exit 1 when any");
    command->add_option("before", *before, ".fuseplan file")->required();
    command->add_option("after", *after, ".fuseplan file")->required();
    return [before, after] { return diff(*before, *after); };
}

} // namespace fuselage::cli
