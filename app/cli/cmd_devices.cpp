// SPDX-License-Identifier: Apache-2.0
// fuselage devices [NAME]: the device profiles, or one as a file that --device reads.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/report/format.h"
#include "core/cost/cost.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace fuselage::cli {

namespace {

int list() {
    using Align = app::TextTable::Align;
    app::TextTable table({Align::Left, Align::Left, Align::Right, Align::Right, Align::Right});
    table.row({"name", "device", "DRAM", "L2", "fp32"});
    for (const std::string& name : deviceProfileNames()) {
        auto profile = deviceProfile(name);
        if (!profile)
            return reportError(profile.error());
        table.row({profile->name, profile->title,
                   app::bytesText(static_cast<int64_t>(profile->dramBandwidth)) + "/s",
                   app::bytesText(static_cast<int64_t>(profile->l2Bytes)),
                   app::flopsText(static_cast<int64_t>(profile->fp32Flops)) + "/s"});
    }
    printOut(table.text(""));
    return ExitOk;
}

int show(const std::string& name) {
    auto profile = deviceProfile(name);
    if (!profile)
        return reportError(profile.error());
    printOut(fmt::format("# {} ({}): {}\n", profile->title, profile->name, profile->origin) +
             text(*profile));
    return ExitOk;
}

} // namespace

Action addDevices(CLI::App& app) {
    auto name = std::make_shared<std::string>();
    app.add_option(
        "name", *name,
        "one profile as a file: every figure, and where it comes from; a start for one of "
        "your own (`devices h200 > mine.toml`, then `--device mine.toml`)");
    return [name] { return name->empty() ? list() : show(*name); };
}

} // namespace fuselage::cli
