// SPDX-License-Identifier: Apache-2.0
// Quantised models, fused, beside the float models that they were made of, ONNX Runtime on the same
// files, and a loop that only reads as many bytes. Every round runs all sides of a model in turns,
// and whoever is not measured is stopped. Compares times only: whether results agree is the
// business of the tests with the label ort.
#include "app/cli/wait_policy.h"
#include "app/pipeline/machine.h"
#include "app/pipeline/stopwatch.h"
#include "app/report/format.h"
#include "core/cpu/threads.h"
#include "tests/bench/figures.h"
#include "tests/bench/quantised_models.h"
#include "tests/bench/stranger_server.h"
#include "tests/bench/turn_server.h"
#include "tests/ort/onnx_runtime.h"
#include "tests/support/temporary_folder.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <sys/prctl.h>

using namespace fuselage;
using bench::QuantisedModel;
using bench::Rounds;
using bench::TurnServer;
using nlohmann::json;
using testing_support::Process;

namespace {

struct Options {
    std::string program, mode; ///< mode: "serve" and "read" are children of the table
    std::string script, modules, work, file;
    bench::Publication publication;
    std::vector<int> threads{1, 2};
    int rounds = 5, limit = 900;
    int64_t bytes = 0;
    double seconds = 0.4;
    std::vector<std::string> names;
};

/// One model on some threads: median milliseconds of each round and side, in step.
struct Row {
    QuantisedModel model;
    int threads = 1;
    Rounds ours, floats, runtime, reading;
    std::string failure; ///< of what is not in the row
};

Rounds ratio(const Rounds& a, const Rounds& b) {
    Rounds out;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        out.push_back(a[i] / b[i]);
    return out;
}

class Bench {
public:
    Bench(const Options& options, const ort::OnnxRuntime* runtime)
        : m_options(options), m_runtime(runtime) {}

    Row row(const QuantisedModel& model, int threads) const {
        Row out;
        out.model = model;
        out.threads = threads;
        if (auto done = fill(out); !done)
            out.failure = done.error().text();
        return out;
    }

private:
    struct Side {
        TurnServer server;
        const char* order; ///< what is asked of it
        Rounds* to;
    };

    Result<Process> child(int threads, std::vector<std::string> more) const {
        testing_support::ProcessOptions options;
        options.takesInput = true;
        std::vector<std::string> words{m_options.program, "--threads", std::to_string(threads),
                                       "--limit", std::to_string(m_options.limit)};
        words.insert(words.end(), more.begin(), more.end());
        return Process::start(words, options);
    }

    Result<void> fill(Row& row) const {
        const testing_support::TemporaryFolder job, other;
        std::vector<Side> sides;
        const auto add = [&](Result<Process> process, const char* order, Rounds& to,
                             json* ready) -> Result<void> {
            auto made = TurnServer::start(std::move(process), m_options.limit, ready);
            if (!made)
                return failure(made.error());
            sides.push_back({std::move(*made), order, &to});
            return {};
        };
        const auto serve = [&](const std::string& file, const std::string& work) {
            return child(row.threads, {"--mode", "serve", "--file", file, "--work", work});
        };
        json ready;
        if (auto ours = add(serve(row.model.file, job.path()), "fused", row.ours, &ready); !ours)
            return ours;
        if (auto floats = add(serve(row.model.floats, other.path()), "fused", row.floats, nullptr);
            !floats)
            return floats;
        if (m_runtime)
            if (auto theirs = add(m_runtime->serve(ready["ready"].get<std::string>()), "all",
                                  row.runtime, nullptr);
                !theirs)
                row.failure = "ONNX Runtime: " + theirs.error().text();
        if (row.model.reads > 0)
            if (auto reading = add(child(row.threads, {"--mode", "read", "--bytes",
                                                       std::to_string(row.model.reads)}),
                                   "read", row.reading, nullptr);
                !reading)
                return reading;
        for (int round = 0; round < m_options.rounds; ++round)
            for (size_t i = 0; i < sides.size(); ++i) {
                // Forwards and backwards in turns: nobody is always the first.
                Side& side = sides[round % 2 ? sides.size() - 1 - i : i];
                auto taken = side.server.round(side.order, m_options.seconds);
                if (!taken)
                    return failure(taken.error());
                side.to->push_back(*taken);
            }
        return {};
    }

    const Options& m_options;
    const ort::OnnxRuntime* m_runtime;
};

/// "0.52 (0.51-0.54), aim 0.55: held".
std::string judged(const Rounds& ratios, double aim, bool atMost) {
    if (ratios.empty() || aim == 0)
        return bench::spread(ratios, 2);
    const double middle = bench::median(ratios);
    const bool held = atMost ? middle <= aim : middle >= aim;
    return fmt::format("{}, aim {}: {}", bench::spread(ratios, 2), aim, held ? "held" : "MISSED");
}

std::string table(const std::vector<Row>& rows) {
    using Align = app::TextTable::Align;
    app::TextTable out({Align::Left, Align::Right, Align::Right, Align::Right, Align::Right,
                        Align::Left, Align::Left, Align::Left});
    out.row({"model", "threads", "fused ms", "float fused ms", "ONNX Runtime ms", "of float fused",
             "of ONNX Runtime", "of the pace of reading"});
    std::string failures;
    for (const Row& row : rows) {
        out.row({row.model.name, std::to_string(row.threads), bench::spread(row.ours, 2),
                 bench::spread(row.floats, 2), bench::spread(row.runtime, 2),
                 judged(ratio(row.ours, row.floats), row.model.ofFloat, true),
                 judged(ratio(row.ours, row.runtime), row.model.ofRuntime, true),
                 judged(ratio(row.reading, row.ours), row.model.ofReading, false)});
        if (!row.failure.empty())
            failures +=
                fmt::format("{} on {} threads: {}\n", row.model.name, row.threads, row.failure);
    }
    return out.text("") + failures;
}

Result<std::string> measure(const Options& options) {
    auto library = app::requireRuleLibrary({});
    if (!library)
        return failure(library.error());
    auto runtime = ort::OnnxRuntime::find(options.script, options.modules);
    if (!runtime && runtime.error().code != "ort.missing")
        return failure(runtime.error());
    const std::string before = bench::loadText();
    const Bench bench(options, runtime ? &*runtime : nullptr);
    std::vector<Row> rows;
    for (const std::string& name :
         options.names.empty() ? bench::quantisedNames() : options.names) {
        const testing_support::TemporaryFolder folder;
        auto model = bench::makeQuantised(name, *library, folder.path());
        if (!model)
            return failure(model.error());
        for (int threads : options.threads) {
            fmt::print(stderr, "{} on {} threads\n", name, threads);
            rows.push_back(bench.row(*model, threads));
        }
    }
    return fmt::format(
        "{}\n{}\n{} rounds of {} s a side, all sides in each; median of the rounds' medians "
        "(lowest-highest round)\nload average before and after: {}, {}\n\n{}",
        app::text(app::inspectMachine()),
        runtime ? "ONNX Runtime " + runtime->version()
                : "ONNX Runtime is not here (`./dev oracle` fetches it): our side only",
        options.rounds, options.seconds, before, bench::loadText(), table(rows));
}

#if defined(__x86_64__) && !defined(__clang__)
#define FUSELAGE_ANY_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FUSELAGE_ANY_WIDTH
#endif

/// In sums that do not wait for each other: nothing but reading takes time.
FUSELAGE_ANY_WIDTH uint64_t sumOf(const uint64_t* words, size_t count) {
    constexpr size_t apart = 64;
    uint64_t parts[apart] = {};
    size_t i = 0;
    for (; i + apart <= count; i += apart)
        for (size_t j = 0; j < apart; ++j)
            parts[j] += words[i + j];
    for (; i < count; ++i)
        parts[0] += words[i];
    uint64_t out = 0;
    for (uint64_t part : parts)
        out += part;
    return out;
}

/// Sums of all words of a buffer, again and again: as fast as the processor reads it.
class Reading {
public:
    Reading(int64_t bytes, int threads)
        : m_threads(threads), m_words(static_cast<size_t>(bytes) / sizeof(uint64_t), 1) {}

    uint64_t sum() const {
        std::vector<uint64_t> parts(static_cast<size_t>(m_threads.count()) * apart, 0);
        m_threads.forRange(m_words.size(), 1, [&](size_t worker, size_t begin, size_t end) {
            parts[worker * apart] += sumOf(m_words.data() + begin, end - begin);
        });
        uint64_t out = 0;
        for (uint64_t part : parts)
            out += part;
        return out;
    }

private:
    static constexpr size_t apart = 8; ///< words of a line of cache

    cpu::Threads m_threads;
    std::vector<uint64_t> m_words;
};

int read(const Options& options) {
    const Reading reading(options.bytes, options.threads.at(0));
    uint64_t sum = reading.sum();
    fmt::print("{}\n", json{{"ready", sum}}.dump());
    std::fflush(stdout);
    std::string side;
    double seconds = 0;
    while (std::cin >> side >> seconds) {
        std::vector<double> times;
        const app::Stopwatch whole;
        while (times.empty() || whole.seconds() < seconds) {
            const app::Stopwatch one;
            sum += reading.sum();
            times.push_back(one.seconds());
        }
        fmt::print("{}\n", json{{"seconds", times}, {"sum", sum}}.dump());
        std::fflush(stdout);
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    cli::shortenSpins(argv);
    Options options;
    CLI::App app("Quantised models, float ones and ONNX Runtime, side by side.");
    app.add_option("--script", options.script, "tests/ort/ort.mjs");
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
        ->check(CLI::IsMember({"serve", "read"}))
        ->group("");
    for (auto [word, to] : {std::pair("--work", &options.work), std::pair("--file", &options.file)})
        app.add_option(word, *to, "of a child")->group("");
    app.add_option("--bytes", options.bytes, "of a child")->group("");
    bench::addOptions(app, options.publication);
    app.add_option("names", options.names, "rows of the table; all unless named");
    CLI11_PARSE(app, argc, argv);
    if (!options.mode.empty())
        ::prctl(PR_SET_PDEATHSIG, SIGKILL); // whoever is stopped ends with the table, too
    if (options.mode == "read")
        return read(options);
    if (options.mode == "serve")
        return bench::serveStranger({{options.file, options.file, ""},
                                     options.work,
                                     options.threads.at(0),
                                     static_cast<unsigned>(options.limit)});
    options.program = std::filesystem::read_symlink("/proc/self/exe");
    auto results = measure(options);
    if (!results) {
        fmt::print(stderr, "{}\n", results.error().text());
        return 1;
    }
    return bench::publish(options.publication, "Quantised models", "", *results);
}
