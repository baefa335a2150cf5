// SPDX-License-Identifier: Apache-2.0
// Fused, unfused and ONNX Runtime side by side on the same inputs: every round runs all three, each
// alone, since what one leaves in the caches would be lost by another; whoever is not measured is
// stopped. The stages before the first result are those of one `fuselage bench`. Compares times
// only: whether results agree is ort_check's business.
#include "app/cli/wait_policy.h"
#include "app/pipeline/machine.h"
#include "app/report/format.h"
#include "tests/bench/figures.h"
#include "tests/bench/stranger_server.h"
#include "tests/bench/subjects.h"
#include "tests/bench/turn_server.h"
#include "tests/ort/onnx_runtime.h"
#include "tests/support/temporary_folder.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sys/prctl.h>

using namespace fuselage;
using bench::loadText;
using bench::median;
using bench::Rounds;
using bench::spread;
using bench::TurnServer;
using nlohmann::json;
using testing_support::Process;

namespace {

struct Options {
    std::string program, script, modules;
    std::string self, mode, data, work; ///< of a child, which has the mode "serve"
    bench::Publication publication;
    std::vector<int> threads{2};
    int rounds = 5, limit = 900;
    double seconds = 2;
    std::vector<std::string> models{"resnet50", "resnet50:16", "vit_b_16", "bert_base"};
};

struct Row {
    std::string model;
    int threads = 2;
    Rounds fused, unfused, runtime; ///< median milliseconds of each round
    Rounds toUnfused, toRuntime;    ///< ratios within a round
    json stages;                    ///< seconds by name
};

/// What `fuselage bench` says of its stages.
Result<json> stagesOf(const Options& options, const Row& row, const bench::Subject& subject,
                      const std::string& folder) {
    const std::string report = folder + "/report.json";
    std::vector<std::string> command{options.program,
                                     "bench",
                                     subject.stored.model,
                                     "--quiet",
                                     "--no-verify",
                                     "--threads",
                                     std::to_string(row.threads),
                                     "--seconds",
                                     "0.1",
                                     "--report",
                                     report};
    for (const auto& [symbol, size] : subject.dims)
        command.insert(command.end(), {"--dim", fmt::format("{}={}", symbol, size)});
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
    return parsed["timings"]["stages_s"];
}

Result<Process> serve(const Options& options, const Row& row, const bench::Subject& subject,
                      const std::string& work) {
    testing_support::ProcessOptions input;
    input.takesInput = true;
    return Process::start({options.self, "--mode", "serve", "--program", options.program,
                           "--script", options.script, "--threads", std::to_string(row.threads),
                           "--limit", std::to_string(options.limit), "--data", subject.stored.data,
                           "--work", work, subject.stored.model},
                          input);
}

Result<void> fill(const Options& options, const ort::OnnxRuntime* runtime,
                  const bench::Subject& subject, Row& row) {
    const testing_support::TemporaryFolder work;
    auto stages = stagesOf(options, row, subject, work.path());
    if (!stages)
        return failure(stages.error());
    row.stages = std::move(*stages);
    json ready;
    auto ours = TurnServer::start(serve(options, row, subject, work.path()), options.limit, &ready);
    if (!ours)
        return failure(ours.error());
    std::optional<TurnServer> theirs;
    if (runtime) {
        auto made = TurnServer::start(runtime->serve(ready["ready"].get<std::string>()),
                                      options.limit, nullptr);
        if (!made)
            return failure(made.error());
        theirs = std::move(*made);
    }
    struct Side {
        TurnServer* server;
        const char* order;
        Rounds* to;
    };
    std::vector<Side> sides = {{&*ours, "fused", &row.fused}, {&*ours, "unfused", &row.unfused}};
    if (theirs)
        sides.push_back({&*theirs, "all", &row.runtime});
    for (int round = 0; round < options.rounds; ++round) {
        fmt::print(stderr, "{} on {} threads, round {} of {}\n", row.model, row.threads, round + 1,
                   options.rounds);
        for (size_t i = 0; i < sides.size(); ++i) {
            // Forwards and backwards in turns: nobody is always the first.
            const Side& side = sides[round % 2 ? sides.size() - 1 - i : i];
            auto taken = side.server->round(side.order, options.seconds);
            if (!taken)
                return failure(taken.error());
            side.to->push_back(*taken);
        }
        row.toUnfused.push_back(row.fused.back() / row.unfused.back());
        if (theirs)
            row.toRuntime.push_back(row.fused.back() / row.runtime.back());
    }
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
            cells.push_back(row.stages.contains(stage)
                                ? fmt::format("{:.3f}", row.stages[stage].get<double>())
                                : "-");
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
            if (auto filled = fill(options, runtime ? &*runtime : nullptr, *subject, row); !filled)
                return failure(filled.error());
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
    cli::shortenSpins(argv);
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
    app.add_option("--limit", options.limit, "seconds that one model may take")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--mode", options.mode, "what a child of the table does")
        ->check(CLI::IsMember({"serve"}))
        ->group("");
    for (auto [word, to] : {std::pair("--data", &options.data), std::pair("--work", &options.work)})
        app.add_option(word, *to, "of a child")->group("");
    bench::addOptions(app, options.publication);
    app.add_option("models", options.models, "names of the zoo, with :BATCH or without")
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    if (!options.mode.empty()) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL); // whoever is stopped ends with the table, too
        const std::string& model = options.models.at(0);
        return bench::serveStranger({{model, model, options.data},
                                     options.work,
                                     options.threads.at(0),
                                     static_cast<unsigned>(options.limit)});
    }
    options.self = std::filesystem::read_symlink("/proc/self/exe");
    auto results = compare(options);
    if (!results) {
        fmt::print(stderr, "{}\n", results.error().text());
        return 1;
    }
    return bench::publish(options.publication, "Fused, unfused and ONNX Runtime", "", *results);
}
