// SPDX-License-Identifier: Apache-2.0
// fuselage calibrate: measures this device into a profile file that --device takes.
#include "app/cli/command.h"
#include "app/cli/common_options.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/value_checks.h"
#include "app/pipeline/calibrate.h"
#include "app/report/format.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>

namespace fuselage::cli {

namespace {

struct Options {
    app::CalibrateOptions calibrate;
    std::string output;
    bool quiet = false;
};

std::string summaryText(const char* name, const std::vector<app::ScatterPoint>& points) {
    const app::ScatterSummary summary = app::summarise(points);
    return fmt::format("{}: median error {:.0f} %, total {:.2f} of measured, rank correlation "
                       "{:.2f}\n",
                       name, 100 * summary.medianError, summary.total, summary.tau);
}

std::string resultText(const app::Calibration& result) {
    using Align = app::TextTable::Align;
    app::TextTable table({Align::Left, Align::Left, Align::Right, Align::Right, Align::Right});
    table.row({"probe", "kernel", "measured", "predicted before", "after"});
    for (size_t i = 0; i < result.probesAfter.size(); ++i) {
        const app::ScatterPoint &before = result.probesBefore[i], &after = result.probesAfter[i];
        table.row({after.name, after.kind, app::secondsText(after.measured),
                   app::secondsText(before.predicted), app::secondsText(after.predicted)});
    }
    return table.text("") + summaryText("before", result.probesBefore) +
           summaryText("after", result.probesAfter);
}

/// Where the profile goes that `cpu` means from then on.
Result<void> useDefaultOutput(Options& options) {
    namespace fs = std::filesystem;
    if (!options.output.empty())
        return {};
    options.output = options.calibrate.device == "cpu" ? calibratedProfilePath() : "";
    if (options.output.empty())
        return failure("usage.output", "no file was named for this profile", "--output",
                       "add -o FILE.toml");
    std::error_code error;
    fs::create_directories(fs::path(options.output).parent_path(), error);
    return {};
}

int run(Options& options) {
    if (auto named = useDefaultOutput(options); !named)
        return reportError(named.error());
    if (auto fine = checkWritable(options.output); !fine)
        return reportError(fine.error());
    ConsoleProgress progress(options.quiet);
    auto result = app::calibrate(options.calibrate, progress);
    if (!result)
        return reportError(result.error());
    if (auto written = writeFile(options.output, text(result->after)); !written)
        return reportError(written.error());
    printOut(resultText(*result) + "wrote " + options.output + "\n");
    return ExitOk;
}

} // namespace

Action addCalibrate(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app::CalibrateOptions& calibrate = options->calibrate;
    app.add_option("-o,--output", options->output,
                   "profile file, *.toml (default: the one that `cpu` means from then on: "
                   "$FUSELAGE_CPU_PROFILE, else fuselage/cpu.toml in the person's configuration "
                   "folder)");
    addBackendOption(app, calibrate.backend, "cpu or cuda");
    app.add_option("--device", calibrate.device, "profile to begin with (see devices)")
        ->capture_default_str();
    app.add_option("--threads", calibrate.threads, "0: all of this machine")
        ->check(threadCount())
        ->capture_default_str();
    app.add_option("--seconds", calibrate.seconds, "for each program")
        ->check(seconds(mostSeconds, true))
        ->capture_default_str();
    app.add_flag("-q,--quiet", options->quiet, "no progress");
    return [options] { return run(*options); };
}

} // namespace fuselage::cli
