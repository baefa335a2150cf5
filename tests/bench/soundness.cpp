// SPDX-License-Identifier: Apache-2.0
// How many wrong rules the numeric proof catches: rewrite rules and forms of the library, each
// changed in one place. What the proof lets pass is judged by many more samples of another seed;
// the exact level is asked about all of them by itself, and may prove none that is wrong. Rules
// that are right by how they are made may not be blamed.
#include "app/pipeline/prove/proof.h"
#include "app/report/format.h"
#include "core/algebra/exact_proof.h"
#include "tests/bench/figures.h"
#include "tests/bench/lawful.h"
#include "tests/bench/mutants.h"
#include "tests/bench/processor_time.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

using namespace fuselage;

namespace {

struct Options {
    size_t mutants = 600;
    uint32_t slow = 1000;
    uint64_t lawful = 500;
    std::string rule;
    bool list = false;
    bench::Publication publication;
};

enum class Outcome : uint8_t { Caught, Missed, Same, Nowhere };

struct Judged {
    std::string kind;
    Outcome outcome = Outcome::Same;
    double seconds = 0; ///< of the quick proof
    bool isProved = false;

    bool isWrong() const { return outcome == Outcome::Caught || outcome == Outcome::Missed; }
};

std::vector<Rule> subjectsOf(const app::RuleLibrary& library, const std::string& only) {
    std::vector<Rule> out;
    for (const auto* rules : {&library.loaded.rules.rules, &library.loaded.forms})
        for (const Rule& rule : *rules)
            if (rule.isRewrite && (only.empty() || rule.name == only))
                out.push_back(rule);
    return out;
}

Judged judged(const bench::Mutant& mutant, const Options& options) {
    Progress progress;
    Judged out{mutant.kind, Outcome::Same, 0};
    const double begin = bench::processorSeconds();
    const app::RuleProof quick = app::proveRule(mutant.rule, {}, progress);
    out.seconds = bench::processorSeconds() - begin;
    if (quick.failing > 0) {
        out.outcome = Outcome::Caught;
    } else if (quick.samples == 0) {
        out.outcome = Outcome::Nowhere;
    } else {
        app::ProofOptions more;
        more.seed = 77;
        more.samples = options.slow;
        if (app::proveRule(mutant.rule, more, progress).failing > 0)
            out.outcome = Outcome::Missed;
    }
    out.isProved = proveExactly(mutant.rule, progress).level != ExactProof::Level::None;
    if (out.isProved && out.isWrong())
        fmt::print(stderr, "proved though wrong: {}:{} {}: {}, {}\n", mutant.rule.file,
                   mutant.rule.line, mutant.rule.name, mutant.kind, mutant.what);
    constexpr double slow = 2; // seconds that a catch may take
    if (out.outcome == Outcome::Caught && out.seconds > slow)
        fmt::print(stderr, "{:.1f} s: {}:{} {}: {}, {}\n", out.seconds, mutant.rule.file,
                   mutant.rule.line, mutant.rule.name, mutant.kind, mutant.what);
    const bool isOpen = out.outcome == Outcome::Missed || out.outcome == Outcome::Same;
    if (out.outcome == Outcome::Missed || (options.list && isOpen))
        fmt::print(stderr, "{}: {}:{} {}: {}, {}\n",
                   out.outcome == Outcome::Missed ? "missed" : "no difference", mutant.rule.file,
                   mutant.rule.line, mutant.rule.name, mutant.kind, mutant.what);
    return out;
}

std::string tableOf(const std::vector<Judged>& all) {
    std::map<std::string, std::map<Outcome, int>> kinds;
    std::map<std::string, int> proved;
    std::vector<double> seconds;
    int wrongProved = 0;
    for (const Judged& each : all) {
        wrongProved += each.isProved && each.isWrong() ? 1 : 0;
        proved[each.kind] += each.isProved ? 1 : 0;
        proved["all of them"] += each.isProved ? 1 : 0;
        ++kinds[each.kind][each.outcome];
        ++kinds["all of them"][each.outcome];
        if (each.outcome == Outcome::Caught)
            seconds.push_back(each.seconds);
    }
    using Align = app::TextTable::Align;
    app::TextTable table({Align::Left, Align::Right, Align::Right, Align::Right, Align::Right,
                          Align::Right, Align::Right, Align::Right});
    table.row({"change", "mutants", "wrong", "caught", "missed", "no difference", "fire nowhere",
               "proved"});
    auto row = [&](const std::string& kind) {
        auto& of = kinds[kind];
        const int caught = of[Outcome::Caught], missed = of[Outcome::Missed];
        table.row({kind, std::to_string(caught + missed + of[Outcome::Same] + of[Outcome::Nowhere]),
                   std::to_string(caught + missed), std::to_string(caught), std::to_string(missed),
                   std::to_string(of[Outcome::Same]), std::to_string(of[Outcome::Nowhere]),
                   std::to_string(proved[kind])});
    };
    for (const auto& [kind, counts] : kinds)
        if (kind != "all of them")
            row(kind);
    row("all of them");
    std::sort(seconds.begin(), seconds.end());
    auto quantile = [&](double q) {
        return seconds.empty() ? 0.0 : seconds[static_cast<size_t>(q * double(seconds.size() - 1))];
    };
    auto& of = kinds["all of them"];
    const double wrong = of[Outcome::Caught] + of[Outcome::Missed];
    return table.text("") + fmt::format("\nwrong ones proved: {}\ncaught of the wrong ones: {:.1f} "
                                        "%\nprocessor time of a catch: median "
                                        "{:.3f} s, 95th percentile {:.3f} s, longest {:.3f} s\n",
                                        wrongProved,
                                        wrong > 0 ? 100 * of[Outcome::Caught] / wrong : 0,
                                        quantile(0.5), quantile(0.95), quantile(1));
}

/// The library's own rules that the slow proof blames.
std::vector<std::string> blamed(const std::vector<Rule>& rules, uint32_t samples) {
    std::vector<std::string> out;
    app::ProofOptions options;
    options.seed = 78;
    options.samples = samples;
    Progress progress;
    for (const Rule& rule : rules)
        if (app::proveRule(rule, options, progress).failing > 0)
            out.push_back(rule.name);
    return out;
}

/// Rules that are right by how they are made, each with samples of its own seed.
std::string lawfulOnes(uint64_t count) {
    std::string text = "fuse 1;\n";
    for (uint64_t seed = 1; seed <= count; ++seed)
        text += bench::lawfulRule(fmt::format("Lawful{}", seed), seed) + "\n";
    app::RuleOptions options;
    options.builtin = false;
    options.texts.push_back({"lawful.fuse", text});
    auto library = app::requireRuleLibrary(options);
    if (!library)
        return library.error().text() + "\n";
    app::ProofOptions proving;
    proving.exact = false;
    Progress progress;
    size_t sampled = 0, wrongly = 0;
    for (const Rule& rule : library->loaded.rules.rules) {
        ++proving.seed;
        const app::RuleProof proof = app::proveRule(rule, proving, progress);
        sampled += proof.samples > 0 ? 1 : 0;
        wrongly += proof.failing > 0 ? 1 : 0;
        if (proof.failing > 0)
            fmt::print(stderr, "blamed though right: seed {}: {}{}", proving.seed,
                       app::proofText(proof),
                       bench::lawfulRule(rule.name, proving.seed - 1) + "\n");
    }
    return fmt::format("rules made by laws, which are right: {}, with samples: {}, blamed: {}\n",
                       count, sampled, wrongly);
}

/// What `fuselage test --only-proof` takes for the whole library: fuse rules and forms too.
std::string libraryTime(const app::RuleLibrary& library) {
    constexpr double budget = 60; // of a machine with two processors
    Progress progress;
    const auto start = std::chrono::steady_clock::now();
    const double begin = bench::processorSeconds();
    const auto proofs = app::proveRules(library, {}, progress);
    const double spent = bench::processorSeconds() - begin;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    const size_t count = proofs ? proofs->size() : 0;
    return fmt::format("proof of the whole library: {} rules and forms, {:.1f} s of processor "
                       "time, {:.1f} s by the clock (budget {} s)\n",
                       count, spent, wall.count(), budget);
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app("Rules of the library with one mistake each: how many the numeric proof catches.");
    app.add_option("--mutants", options.mutants, "at most, spread over all rules")
        ->capture_default_str();
    app.add_option("--slow", options.slow, "samples that judge what the proof let pass")
        ->capture_default_str();
    app.add_option("--lawful", options.lawful, "rules made by laws, which may not be blamed")
        ->capture_default_str();
    app.add_option("--rule", options.rule, "only mutants of this rule");
    app.add_flag("--list", options.list, "also name the mutants without a difference");
    bench::addOptions(app, options.publication);
    CLI11_PARSE(app, argc, argv);
    auto library = app::requireRuleLibrary({});
    if (!library) {
        fmt::print(stderr, "{}\n", library.error().text());
        return 1;
    }
    const std::vector<Rule> rules = subjectsOf(*library, options.rule);
    std::vector<bench::Mutant> mutants;
    for (const Rule& rule : rules)
        for (bench::Mutant& mutant : bench::mutantsOf(rule))
            mutants.push_back(std::move(mutant));
    const size_t made = mutants.size();
    const size_t taken = std::min(options.mutants, made);
    std::vector<Judged> all;
    for (size_t i = 0; i < taken; ++i)
        all.push_back(judged(mutants[i * made / taken], options));
    const std::vector<std::string> wrongly = blamed(rules, options.slow / 10);
    std::string body =
        fmt::format("{} of {} mutants of {} rewrite rules and forms; load average {}\n\n{}", taken,
                    made, rules.size(), bench::loadText(), tableOf(all));
    body += fmt::format("rules of the library that are blamed: {}", wrongly.size());
    for (const std::string& name : wrongly)
        body += " " + name;
    body += "\n" + lawfulOnes(options.lawful) + libraryTime(*library);
    return bench::publish(
        options.publication, "Wrong rules that the numeric proof catches",
        "Each mutant is a rule of the library with one change. `wrong`: some "
        "sample shows another result. "
        "`caught`: among\nthe samples that `fuselage test` takes. `missed`: only "
        "among the many samples of "
        "another seed that judge what passed.\n`no difference`: not there "
        "either; such a change may mean the "
        "same. `fire nowhere`: W0503, no sample. `proved`: by the exact level, asked by itself.\n",
        body);
}
