// SPDX-License-Identifier: Apache-2.0
// Random bodies through a backend, against the interpreter. Shrinks what fails to a smallest body
// and prints it. `bodies --help`.
#include "tests/bodies/body_check.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>

using namespace fuselage;
using namespace fuselage::bodies;
using testing_support::ChoiceList;
using testing_support::Choices;

namespace {

struct Search {
    CheckOptions check;
    std::string type = "float";
    uint32_t first = 0, count = 1000;
    double seconds = 0; ///< 0: `count` decides
    int most = 1;       ///< failures to show
    bool isolated = false;
    std::string file; ///< one body that a person wrote, with `weights`
    std::vector<std::string> weights;
};

std::string current; ///< the body that runs, for a crash

void tellBody(int signal) {
    const auto length = static_cast<ssize_t>(current.size());
    if (write(STDERR_FILENO, current.data(), current.size()) != length)
        std::signal(signal, SIG_DFL);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

/// In a child process, so that a crash is a problem like any other.
std::string isolatedProblemOf(const Body& body, const CheckOptions& options) {
    int ends[2];
    if (pipe(ends) != 0)
        return "pipe: none";
    const pid_t child = fork();
    if (child == 0) {
        for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL})
            std::signal(signal, SIG_DFL);
        const std::string problem = problemOf(body, options);
        const bool told = write(ends[1], problem.data(), problem.size()) >= 0;
        _exit(told ? 0 : 1);
    }
    close(ends[1]);
    std::string out;
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        out.append(buffer, static_cast<size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? "crash: signal " + std::to_string(WTERMSIG(status)) : out;
}

std::string problemIn(const Search& search, const Body& body, uint32_t seed) {
    if (search.isolated)
        return isolatedProblemOf(body, search.check);
    current = "seed " + std::to_string(seed) + " crashes; --isolated shrinks it\n" + body.text;
    return problemOf(body, search.check);
}

/// Which way, without the figures: a smaller body that fails in another way is another mistake.
std::string wayOf(const std::string& problem) {
    return problem.substr(0, problem.find(':'));
}

void show(const Search& search, uint32_t seed, const ChoiceList& drawn,
          const std::string& problem) {
    const std::string way = wayOf(problem);
    auto fails = [&](const ChoiceList& list) {
        Choices choices(list);
        return wayOf(problemIn(search, writeBody(choices, search.type), seed)) == way;
    };
    Choices smallest(testing_support::shrunk(drawn, fails, 3000));
    const Body body = writeBody(smallest, search.type);
    std::printf("seed %u: %s\nsmallest: %s\nweights:", seed, problem.c_str(),
                problemIn(search, body, seed).c_str());
    for (const std::string& name : body.constant)
        std::printf(" %s", name.c_str());
    std::printf("\n%s\n", body.text.c_str());
    std::fflush(stdout);
}

int runFile(const Search& search) {
    std::ifstream in(search.file);
    Body body{{std::istreambuf_iterator<char>(in), {}}, search.weights};
    const std::string problem = problemIn(search, body, 0);
    std::printf("%s\n", problem.empty() ? "right" : problem.c_str());
    return problem.empty() ? 0 : 1;
}

int run(const Search& search) {
    Choices simplest(ChoiceList{});
    problemOf(writeBody(simplest, search.type), search.check); // loads what children share
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    auto isOver = [&](uint32_t done) {
        const std::chrono::duration<double> spent = Clock::now() - begin;
        return search.seconds > 0 ? spent.count() > search.seconds : done >= search.count;
    };
    int failures = 0;
    uint32_t done = 0;
    for (; !isOver(done) && failures < search.most; ++done) {
        Choices choices(search.first + done);
        const uint32_t seed = search.first + done;
        const std::string problem = problemIn(search, writeBody(choices, search.type), seed);
        if (problem.empty())
            continue;
        ++failures;
        show(search, seed, choices.drawn(), problem);
    }
    const std::chrono::duration<double> spent = Clock::now() - begin;
    std::printf("%u bodies of %s on %s in %.0f s, %d wrong\n", done, search.type.c_str(),
                nameOf(search.check.backend), spent.count(), failures);
    return failures == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    Search search;
    CLI::App app(
        "Writes random bodies of contractions, reductions, windows and views, runs each in "
        "every way on a backend and compares with the interpreter.");
    std::string backend = "cpu";
    app.add_option("--backend", backend)
        ->check(CLI::IsMember({"cpu", "reference", "cuda"}))
        ->capture_default_str();
    app.add_option("--type", search.type, "element type")
        ->check(CLI::IsMember({"float", "float16", "bfloat16", "stored"}))
        ->capture_default_str();
    app.add_option("--threads", search.check.threads)->capture_default_str();
    app.add_option("--first", search.first, "seed of the first body")->capture_default_str();
    app.add_option("--count", search.count, "number of bodies")->capture_default_str();
    app.add_option("--seconds", search.seconds, "as many bodies as fit, in place of --count");
    app.add_option("--most", search.most, "stop after this many failures")->capture_default_str();
    app.add_flag("--isolated", search.isolated,
                 "each body in a process of its own: crashes shrink too");
    app.add_option("--body", search.file, "a file with one body in place of random ones")
        ->check(CLI::ExistingFile);
    app.add_option("--weights", search.weights, "inputs of that body that are constants")
        ->delimiter(',');
    CLI11_PARSE(app, argc, argv);
    search.check.backend = *backendFromName(backend);
    search.check.exact = search.type == "stored";
    for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL})
        std::signal(signal, tellBody);
    return search.file.empty() ? run(search) : runFile(search);
}
