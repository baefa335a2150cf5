// SPDX-License-Identifier: Apache-2.0
// Fused, unfused and ONNX Runtime side by side: `fuselage bench` and ONNX Runtime take turns, so
// that what disturbs the machine disturbs all of them. Prints a table; --publish also writes it to
// a file. Compares times only: whether results agree is ort_check's business.
#include "app/pipeline/machine.h"
#include "app/report/format.h"
#include "tests/bench/figures.h"
#include "tests/bench/subjects.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

using namespace fuselage;
using bench::loadText;
using bench::median;
using bench::Rounds;
using bench::spread;
using nlohmann::json;

namespace {

struct Options {
    std::string program, script, modules;
    bench::Publication publication;
    std::vector<int> threads{2};
    int rounds = 5;
    double seconds = 2;
    std::vector<std::string> models{"resnet50", "resnet50:16", "vit_b_16", "bert_base"};
};

struct Row {
    std::string model;
    int threads = 2;
    Rounds fused, unfused, runtime; ///< median milliseconds of each round
    Rounds toUnfused, toRuntime;    ///< ratios within a round
    std::map<std::string, Rounds> stages;
};

Result<json> benchOnce(const Options& options, const Row& row, const bench::Subject& subject,
                       const std::string& folder) {
    std::string report = folder + "/report.json";
    std::vector<std::string> command{options.program,
                                     "bench",
                                     subject.job.model,
                                     "--quiet",
                                     "--no-verify",
                                     "--threads",
                                     std::to_string(row.threads),
                                     "--seconds",
                                     fmt::format("{}", options.seconds),
                                     "--report",
                                     report};
    if (subject.images > 1)
        command.insert(command.end(), {"--dim", fmt::format("N={}", subject.images)});
    auto ran = testing_support::runProcess(command, {});
    if (!ran)
        return failure(ran.error());
    if (ran->exitCode != 0)
        return failure("bench.run", fmt::format("exit code {}: {}", ran->exitCode, ran->errors),
                       row.model);
    std::ifstream in(report);
    json parsed = json::parse(in, nullptr, false);
    if (parsed.is_discarded() || !parsed.contains("timings"))
        return failure("bench.report", "is not a report", report);
    return parsed["timings"];
}

Result<void> addRound(const Options& options, const ort::OnnxRuntime* runtime,
                      const bench::Subject& subject, const std::string& folder, Row& row) {
    auto timings = benchOnce(options, row, subject, folder);
    if (!timings)
        return failure(timings.error());
    row.unfused.push_back((*timings)["before"]["median_us"].get<double>() / 1e3);
    row.fused.push_back((*timings)["after"]["median_us"].get<double>() / 1e3);
    row.toUnfused.push_back((*timings)["ratio"]["median"].get<double>());
    for (const auto& [stage, seconds] : (*timings)["stages_s"].items())
        row.stages[stage].push_back(seconds.get<double>());
    if (!runtime)
        return {};
    ort::Job job = subject.job;
    job.threads = row.threads;
    job.seconds = options.seconds;
    auto seconds = runtime->time(job, folder);
    if (!seconds)
        return failure(seconds.error());
    row.runtime.push_back(median(*seconds) * 1e3);
    row.toRuntime.push_back(row.fused.back() / row.runtime.back());
    return {};
}

std::string tables(const std::vector<Row>& rows) {
    using Align = app::TextTable::Align;
    auto columns = [](size_t numbers) {
        std::vector<Align> out(numbers + 1, Align::Right);
        out[0] = Align::Left;
        return out;
    };
    app::TextTable times(columns(6));
    times.row({"model", "threads", "fused ms", "unfused ms", "ONNX Runtime ms", "fused/unfused",
               "fused/ONNX Runtime"});
    constexpr const char* stages[] = {"rules",        "load",       "prepare",   "fuse",
                                      "plan_unfused", "plan_fused", "first_run", "first_result"};
    app::TextTable seconds(columns(1 + std::size(stages)));
    std::vector<std::string> head = {"seconds", "threads"};
    head.insert(head.end(), std::begin(stages), std::end(stages));
    seconds.row(head);
    for (const Row& row : rows) {
        std::string threads = std::to_string(row.threads);
        times.row({row.model, threads, spread(row.fused, 2), spread(row.unfused, 2),
                   spread(row.runtime, 2), spread(row.toUnfused, 3), spread(row.toRuntime, 3)});
        std::vector<std::string> cells = {row.model, threads};
        for (const char* stage : stages) {
            auto found = row.stages.find(stage);
            cells.push_back(
                found == row.stages.end() ? "-" : fmt::format("{:.3f}", median(found->second)));
        }
        seconds.row(cells);
    }
    return times.text("") + "\n" + seconds.text("");
}

Result<std::string> compare(const Options& options) {
    testing_support::TemporaryFolder folder;
    auto runtime = ort::OnnxRuntime::find(options.script, options.modules);
    if (!runtime && runtime.error().code != "ort.missing")
        return failure(runtime.error());
    std::string loadBefore = loadText();
    std::vector<Row> rows;
    for (const std::string& model : options.models) {
        auto subject = bench::makeSubject(model, folder.path());
        if (!subject)
            return failure(subject.error());
        for (int threads : options.threads) {
            Row row;
            row.model = model;
            row.threads = threads;
            for (int round = 0; round < options.rounds; ++round) {
                fmt::print(stderr, "{} on {} threads, round {} of {}\n", model, threads, round + 1,
                           options.rounds);
                if (auto added = addRound(options, runtime ? &*runtime : nullptr, *subject,
                                          folder.path(), row);
                    !added)
                    return failure(added.error());
            }
            rows.push_back(std::move(row));
        }
    }
    auto large = bench::measureLargeGraph(folder.path());
    if (!large)
        return failure(large.error());
    return fmt::format(
        "{}\n{}\n{} rounds of {} s each; median of the rounds' medians (lowest-highest round)\n"
        "load average before and after: {}, {}\n\n{}\n"
        "{} nodes: loaded in {:.2f} s, rewritten with the whole library in {:.2f} s into {} fused "
        "nodes\n",
        app::text(app::inspectMachine()),
        runtime ? "ONNX Runtime " + runtime->version()
                : "ONNX Runtime is not here (`./dev oracle` fetches it): our side only",
        options.rounds, options.seconds, loadBefore, loadText(), tables(rows), large->nodes,
        large->loadSeconds, large->fuseSeconds, large->fusedNodes);
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app("Fused and unfused plans and ONNX Runtime in turns, so that what disturbs the "
                 "machine disturbs all of them.");
    app.add_option("--program", options.program, "the fuselage to run")->required();
    app.add_option("--script", options.script, "tests/ort/ort.mjs")->required();
    app.add_option("--modules", options.modules, "folder of ONNX Runtime's npm package");
    app.add_option("--threads", options.threads, "one or several")
        ->check(CLI::PositiveNumber)
        ->capture_default_str()
        ->allow_extra_args(false);
    app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber)->capture_default_str();
    app.add_option("--seconds", options.seconds, "of each round and side")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    bench::addOptions(app, options.publication);
    app.add_option("models", options.models, "names of the zoo, with :BATCH or without")
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    auto results = compare(options);
    if (!results) {
        fmt::print(stderr, "{}\n", results.error().text());
        return 1;
    }
    return bench::publish(options.publication, "Fused, unfused and ONNX Runtime", "", *results);
}
