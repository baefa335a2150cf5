// SPDX-License-Identifier: Apache-2.0
// `conformance`: ONNX's backend tests through loading, inference and interpret() or the cpu
// backend, with a table of what passes and what is not claimed. Exit codes: 0 good, 1 a claimed
// test failed or too little is covered, 2 wrong use, 77 the test data is absent.
#include "core/onnx/model_file.h"
#include "tests/conformance/backend_test.h"
#include "tests/conformance/claims.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

using namespace fuselage;
using namespace fuselage::conformance;

namespace {

constexpr int newestCoveredOpset = 24;
constexpr double wantedCoverage = 0.95;

struct Options {
    std::string data = "/usr/share/libonnx-testdata/data";
    std::string list;
    std::string op;
    std::string test;
    std::string backend = "reference";
    bool verbose = false;

    bool partial() const { return !op.empty() || !test.empty(); }
};

struct Count {
    size_t passed = 0, failed = 0, notClaimed = 0;

    size_t total() const { return passed + failed + notClaimed; }
};

struct Totals {
    std::map<std::string, Count> sets, ops;
    Count covered; ///< node tests up to newestCoveredOpset
    std::map<std::string, size_t> reasons;
    std::vector<std::string> failures;
    size_t typesOnly = 0;
};

struct Outcome {
    std::set<std::string> ops;
    int64_t opset = 0;
    bool typesOnly = false;
    std::optional<std::string> error;
    std::optional<std::string> notPlanned; ///< why a backend with plans does not take it
};

Outcome runOne(const BackendTest& test, Runner& runner) {
    Outcome out;
    std::ifstream file(std::filesystem::path(test.path) / "model.onnx", std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    auto graph = model_io::loadBytes(bytes, test.path, {});
    if (!graph) {
        out.error = "load: " + graph.error().text();
        return out;
    }
    out.ops = operatorsOf(*graph);
    auto opset = graph->opsetImports.find("");
    out.opset = opset == graph->opsetImports.end() ? 0 : opset->second;
    auto compared = runTest(test, *graph, runner);
    if (!compared && compared.error().code == "conformance.plan")
        out.notPlanned = compared.error().message;
    else if (!compared)
        out.error = compared.error().message;
    else
        out.typesOnly = *compared == Comparison::TypesOnly;
    return out;
}

void add(Totals& totals, const BackendTest& test, const Outcome& outcome,
         const std::optional<std::string>& excuse) {
    auto bump = [&](Count& count) {
        if (excuse)
            ++count.notClaimed;
        else
            ++(outcome.error ? count.failed : count.passed);
    };
    bump(totals.sets[test.set]);
    for (const std::string& op : outcome.ops)
        bump(totals.ops[op]);
    if (test.set == "node" && outcome.opset <= newestCoveredOpset)
        bump(totals.covered);
    totals.typesOnly += outcome.typesOnly;
    if (excuse)
        ++totals.reasons[*excuse];
    else if (outcome.error)
        totals.failures.push_back(fmt::format("{}/{}: {}", test.set, test.name, *outcome.error));
}

void printCounts(const char* title, const std::map<std::string, Count>& counts, bool all) {
    fmt::print("\n{:<40}{:>8}{:>8}{:>13}\n", title, "passed", "failed", "not claimed");
    for (const auto& [name, count] : counts)
        if (all || count.failed + count.notClaimed > 0)
            fmt::print("{:<40}{:>8}{:>8}{:>13}\n", name, count.passed, count.failed,
                       count.notClaimed);
}

void print(const Totals& totals, const Claims& claims, const Options& options) {
    for (const std::string& failure : totals.failures)
        fmt::print("FAILED {}\n", failure);
    printCounts("set", totals.sets, true);
    printCounts(options.verbose ? "operator" : "operator (all passed: not shown)", totals.ops,
                options.verbose);
    if (totals.typesOnly > 0)
        fmt::print("\n{} passed by types only: they draw random numbers\n", totals.typesOnly);
    if (!totals.reasons.empty())
        fmt::print("\nnot claimed, because\n");
    for (const auto& [reason, count] : totals.reasons)
        fmt::print("{:>6}  {}\n", count, reason);
    for (const NotClaimed& entry : claims.entries())
        if (entry.uses == 0 && !options.partial())
            fmt::print("note: `{}` in the list excuses nothing\n", entry.pattern);
    if (totals.covered.total() > 0)
        fmt::print("\nnode tests of opset <= {}: {} of {} pass ({:.1f} %)\n", newestCoveredOpset,
                   totals.covered.passed, totals.covered.total(),
                   100.0 * double(totals.covered.passed) / double(totals.covered.total()));
}

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        std::string* target = word == "--data"          ? &options.data
                              : word == "--not-claimed" ? &options.list
                              : word == "--op"          ? &options.op
                              : word == "--test"        ? &options.test
                              : word == "--backend"     ? &options.backend
                                                        : nullptr;
        if (word == "--verbose")
            options.verbose = true;
        else if (target && i + 1 < argc)
            *target = argv[++i];
        else
            return false;
    }
    return options.backend == "reference" || options.backend == "cpu";
}

int run(const Options& options) {
    const std::vector<BackendTest> tests = findTests(options.data);
    if (tests.empty()) {
        fmt::print("skipped: no ONNX backend tests under {} (install libonnx-testdata)\n",
                   options.data);
        return 77;
    }
    Claims claims;
    if (!options.list.empty()) {
        auto read = Claims::read(options.list);
        if (!read) {
            fmt::print(stderr, "{}\n", read.error().text());
            return 2;
        }
        claims = std::move(*read);
    }
    Totals totals;
    Runner runner;
    if (options.backend == "cpu") {
        runner.backend = makeCpuBackend({.threads = 1});
        auto profile = deviceProfile("cpu");
        if (!profile) {
            fmt::print(stderr, "{}\n", profile.error().text());
            return 2;
        }
        runner.profile = std::move(*profile);
    }
    for (const BackendTest& test : tests) {
        if (!options.test.empty() && test.name.find(options.test) == std::string::npos)
            continue;
        if (options.verbose) {
            fmt::print("{}/{}\n", test.set, test.name);
            std::fflush(stdout);
        }
        const Outcome outcome = runOne(test, runner);
        if (!options.op.empty() && !outcome.ops.contains(options.op))
            continue;
        auto excuse = claims.reasonAgainst(test.name, outcome.ops);
        if (excuse && !outcome.error)
            fmt::print("note: {} passes though it is not claimed\n", test.name);
        if (!excuse)
            excuse = outcome.notPlanned;
        add(totals, test, outcome, excuse);
    }
    print(totals, claims, options);
    const Count& covered = totals.covered;
    const bool enough =
        options.partial() || double(covered.passed) >= wantedCoverage * double(covered.total());
    return totals.failures.empty() && enough ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, options)) {
        fmt::print(stderr, "usage: conformance [--backend reference|cpu] [--data FOLDER] "
                           "[--not-claimed FILE] [--op NAME] [--test TEXT] [--verbose]\n");
        return 2;
    }
    return run(options);
}
