// SPDX-License-Identifier: Apache-2.0
// fuselage reduce MODEL -o SMALL -- COMMAND...: the smallest model for which a command still fails.
#include "app/batch/reduce/reduce.h"
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/value_checks.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace fuselage::cli {

namespace {

struct Options {
    batch::ReduceOptions reduce;
    bool quiet = false;
};

int run(const Options& options) {
    ConsoleProgress progress(true);
    auto log = [&](const std::string& line) {
        if (!options.quiet)
            fmt::print(stderr, "{}\n", line);
    };
    auto result = batch::reduceModel(options.reduce, log, progress);
    if (!result)
        return reportError(result.error());
    printOut(fmt::format("{}: still {}, after {} runs\n  was {}\n  is  {}\n", options.reduce.output,
                         result->failure, result->runs, result->before.text(),
                         result->after.text()));
    if (result->finished)
        return ExitOk;
    fmt::print(stderr, "fuselage: {}; the smallest so far is in {}\n",
               progress.cancelled() ? "interrupted" : "out of runs", options.reduce.output);
    return progress.cancelled() ? interruptedCode() : ExitPartial;
}

} // namespace

Action addReduce(CLI::App& app) {
    auto options = std::make_shared<Options>();
    batch::ReduceOptions& reduce = options->reduce;
    app.add_option("model", reduce.model, "ONNX file for which the command fails")->required();
    app.add_option("command", reduce.command,
                   "behind `--`: a program and its words; {} stands for the model, else it is the "
                   "last word")
        ->required();
    app.add_option("-o,--output", reduce.output, "file for the small model")->required();
    app.add_option("--exit", reduce.exitCode,
                   "exit code that is looked for (128 + N for signal N; default: that of the model "
                   "as it is)")
        ->check(wholeNumber(0, 255));
    app.add_option("--text", reduce.text, "has to stand in what the command prints");
    app.add_option("--timeout", reduce.seconds, "seconds for one run; longer is a failure too")
        ->check(seconds(mostSeconds, false))
        ->capture_default_str();
    app.add_option("--max-runs", reduce.maxRuns, "of the command")
        ->check(wholeNumber(2, 1'000'000'000))
        ->capture_default_str();
    app.add_flag("-q,--quiet", options->quiet, "no progress");
    return [options] { return run(*options); };
}

} // namespace fuselage::cli
