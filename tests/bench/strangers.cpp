// SPDX-License-Identifier: Apache-2.0
// Trained models of others, fused, unfused and in ONNX Runtime at its two extremes, side by side:
// every round runs all four, and whoever is not measured is stopped, so that no thread that spins
// takes time from another. Once on the machine as it is, once beside a process that keeps one
// processor busy. Compares times only: whether results agree is the business of the tests with the
// label strangers.
#include "app/cli/wait_policy.h"
#include "app/pipeline/machine.h"
#include "tests/bench/stranger_server.h"
#include "tests/bench/stranger_table.h"
#include "tests/bench/turn_server.h"
#include "tests/ort/onnx_runtime.h"
#include "tests/support/temporary_folder.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sys/prctl.h>

using namespace fuselage;
using bench::Rounds;
using bench::Row;
using bench::Times;
using bench::TurnServer;
using nlohmann::json;
using testing_support::Process;

namespace {

struct Options {
    std::string program, mode; ///< mode: "serve", "first" and "spin" are children of the table
    std::string folder, script, modules, work;
    bench::Publication publication;
    int threads = 2, rounds = 5, limit = 600;
    double seconds = 0.3;
    std::vector<std::string> names;
};

constexpr const char* sideNames[] = {"fused", "unfused", "all", "disabled"};

class Bench {
public:
    Bench(const Options& options, const ort::OnnxRuntime* runtime)
        : m_options(options), m_runtime(runtime) {}

    Row row(const strangers::Case& stranger) {
        Row out;
        out.name = stranger.name;
        if (auto done = fill(stranger, out); !done)
            out.failure = done.error().text();
        return out;
    }

private:
    Result<Process> child(const std::string& mode, const std::string& name,
                          const std::string& work) const {
        testing_support::ProcessOptions options;
        options.takesInput = true;
        return Process::start({m_options.program, "--mode", mode, "--folder", m_options.folder,
                               "--threads", std::to_string(m_options.threads), "--limit",
                               std::to_string(m_options.limit), "--work", work, name},
                              options);
    }

    Result<void> fill(const strangers::Case& stranger, Row& row) const {
        testing_support::TemporaryFolder work;
        json ready;
        auto ours =
            TurnServer::start(child("serve", stranger.name, work.path()), m_options.limit, &ready);
        if (!ours)
            return failure(ours.error());
        const std::string job = ready["ready"];
        for (const json& count : ready["fallbacks"])
            row.fallbacks.push_back(count.get<size_t>());
        std::optional<TurnServer> theirs;
        if (m_runtime) {
            auto made = TurnServer::start(m_runtime->serve(job), m_options.limit, nullptr);
            if (made)
                theirs = std::move(*made);
            else
                row.failure = "ONNX Runtime: " + made.error().text();
        }
        auto spinning = child("spin", stranger.name, work.path());
        if (!spinning)
            return failure(spinning.error());
        spinning->signal(SIGSTOP);
        if (auto done = times(*ours, theirs, row.idle); !done)
            return done;
        spinning->signal(SIGCONT);
        if (auto done = times(*ours, theirs, row.busy); !done)
            return done;
        spinning->signal(SIGSTOP);
        return firsts(stranger, theirs ? job : "", work.path(), row);
    }

    Result<void> times(TurnServer& ours, std::optional<TurnServer>& theirs, Times& out) const {
        for (int round = 0; round < m_options.rounds; ++round)
            for (size_t i = 0; i < bench::Sides; ++i) {
                // Forwards and backwards in turns: nobody is always the first.
                const size_t side = round % 2 ? bench::Sides - 1 - i : i;
                const bool isOurs = side == bench::Fused || side == bench::Unfused;
                if (!isOurs && !theirs)
                    continue;
                auto taken = (isOurs ? ours : *theirs).round(sideNames[side], m_options.seconds);
                if (!taken)
                    return failure(taken.error());
                out.of[side].push_back(*taken);
            }
        return {};
    }

    Result<void> firsts(const strangers::Case& stranger, const std::string& job,
                        const std::string& work, Row& row) const {
        constexpr int most = 3; // each is a fresh process
        for (int round = 0; round < std::min(m_options.rounds, most); ++round) {
            auto process = child("first", stranger.name, work);
            if (!process)
                return failure(process.error());
            auto line = TurnServer(std::move(*process), m_options.limit).answer();
            if (!line)
                return failure(line.error());
            row.first.push_back((*line)["seconds"][0].get<double>());
            if (job.empty())
                continue;
            auto seconds = m_runtime->first(job);
            if (!seconds)
                return failure(seconds.error());
            row.firstOfRuntime.push_back(*seconds);
        }
        return {};
    }

    const Options& m_options;
    const ort::OnnxRuntime* m_runtime;
};

Result<std::string> measure(const Options& options) {
    auto cases = strangers::findCases(options.folder, options.names);
    if (!cases)
        return failure(cases.error());
    if (cases->empty())
        return failure("strangers.none", "no model is called so", options.folder,
                       "NAME.onnx, with its inputs in NAME_data");
    auto runtime = ort::OnnxRuntime::find(options.script, options.modules);
    if (!runtime && runtime.error().code != "ort.missing")
        return failure(runtime.error());
    const std::string before = bench::loadText();
    Bench bench(options, runtime ? &*runtime : nullptr);
    std::vector<Row> rows;
    for (const strangers::Case& stranger : *cases) {
        fmt::print(stderr, "{} ({} of {})\n", stranger.name, rows.size() + 1, cases->size());
        rows.push_back(bench.row(stranger));
    }
    return fmt::format(
        "{}\n{}, {} threads\n{} rounds of {} s a side, all sides in each; median of the rounds' "
        "medians (lowest-highest round)\nload average before and after: {}, {}\n\n{}",
        app::text(app::inspectMachine()),
        runtime ? "ONNX Runtime " + runtime->version()
                : "ONNX Runtime is not here (`./dev oracle` fetches it): our side only",
        options.threads, options.rounds, options.seconds, before, bench::loadText(),
        bench::tables(rows));
}

[[noreturn]] void spin() {
    for (volatile uint64_t i = 0;;)
        i = i + 1;
}

/// Serving the case that has exactly this name.
int serve(const Options& options) {
    auto cases = strangers::findCases(options.folder, options.names);
    if (!cases)
        return 1;
    for (const strangers::Case& stranger : *cases)
        if (stranger.name == options.names.at(0)) {
            const bench::ServerOptions serving{stranger, options.work, options.threads,
                                               static_cast<unsigned>(options.limit)};
            return options.mode == "first" ? bench::firstOfStranger(serving)
                                           : bench::serveStranger(serving);
        }
    return 1;
}

} // namespace

int main(int argc, char** argv) {
    cli::shortenSpins(argv);
    Options options;
    CLI::App app("Trained models of others, fused, unfused and in ONNX Runtime, side by side.");
    app.add_option("--folder", options.folder, "NAME.onnx, with its inputs in NAME_data")
        ->required();
    app.add_option("--script", options.script, "tests/ort/ort.mjs");
    app.add_option("--modules", options.modules, "folder of ONNX Runtime's npm package");
    app.add_option("--threads", options.threads)->check(CLI::PositiveNumber)->capture_default_str();
    app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber)->capture_default_str();
    app.add_option("--seconds", options.seconds, "of each round and side")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--limit", options.limit, "seconds that one model may take")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--mode", options.mode, "what a child of the table does")
        ->check(CLI::IsMember({"serve", "first", "spin"}))
        ->group("");
    app.add_option("--work", options.work, "of a child")->group("");
    bench::addOptions(app, options.publication);
    app.add_option("names", options.names, "of models; all of the folder unless named");
    CLI11_PARSE(app, argc, argv);
    if (!options.mode.empty()) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL); // whoever is stopped ends with the table, too
        return options.mode == "spin" ? (spin(), 0) : serve(options);
    }
    options.program = std::filesystem::read_symlink("/proc/self/exe");
    auto results = measure(options);
    if (!results) {
        fmt::print(stderr, "{}\n", results.error().text());
        return 1;
    }
    return bench::publish(options.publication, "Trained models of others", "", *results);
}
