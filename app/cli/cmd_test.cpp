// SPDX-License-Identifier: Apache-2.0
// fuselage test FILES.fuse: runs the tests inside of rule files and the numeric proof of each rule.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/import_path.h"
#include "app/cli/value_checks.h"
#include "app/pipeline/prove/proof.h"
#include "app/pipeline/rule_tests.h"
#include "app/report/rules_json.h"
#include "app/report/trace_text.h"
#include "app/zoo/zoo.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fuselage::cli {

namespace {

struct Options {
    std::vector<std::string> paths, importPath;
    std::string rule;
    uint64_t seed = 1;
    uint32_t samples = 0;
    bool verbose = false, quiet = false, noProof = false, onlyProof = false, strict = false;
    bool asJson = false; ///< and no other text
};

std::string failureText(const app::RuleTestResult& result) {
    std::string out =
        fmt::format("{}: {} \"{}\" failed\n", result.where, result.test->rule, result.test->name);
    for (const app::RuleTestFailure& failure : result.failures)
        out += fmt::format("  expected: {}\n  found:    {}\n", failure.expected, failure.found);
    for (const Reason& reason : result.refused)
        out += fmt::format("  refused[{}]: {}\n", reason.code, reason.message);
    for (const NearMiss& miss : result.nearest)
        out += "  " + app::text(miss);
    return out;
}

std::string cutOffText(const std::vector<std::string>& rules) {
    return fmt::format("the search of {} was cut off (M0307), so that a match may be missing",
                       fmt::join(rules, ", "));
}

/// Prints what is worth reading and returns how many tests failed; in a strict run those that
/// decided nothing too.
size_t printResults(const std::vector<app::RuleTestResult>& results, const Options& options,
                    app::RulesReport& report) {
    size_t failed = 0, skipped = 0, cutOff = 0;
    for (const app::RuleTestResult& result : results) {
        failed += result.failures.empty() ? 0 : 1;
        skipped += result.skipped ? 1 : 0;
        const bool isCut = !result.cutOff.empty() || !result.stopped.empty();
        cutOff += result.failures.empty() && isCut ? 1 : 0;
        app::RuleTestEntry& entry = report.tests.emplace_back();
        entry = {result.test->rule,
                 result.test->name,
                 result.where,
                 result.skipped            ? "skipped"
                 : result.failures.empty() ? "passed"
                                           : "failed",
                 result.cutOff.empty() ? result.skipped.value_or("") : cutOffText(result.cutOff),
                 {}};
        for (const app::RuleTestFailure& failure : result.failures)
            entry.failures.emplace_back(failure.expected, failure.found);
        if (options.asJson)
            continue;
        std::string name =
            fmt::format("{}: {} \"{}\"", result.where, result.test->rule, result.test->name);
        if (!result.failures.empty())
            printOut(failureText(result));
        else if (result.skipped)
            printOut(fmt::format("{} skipped: {}\n", name, *result.skipped));
        else if (!result.cutOff.empty())
            printOut(fmt::format("{}: {}\n", name, cutOffText(result.cutOff)));
        else if (options.verbose)
            printOut(name + " passed\n");
        for (const std::string& why : result.stopped)
            printOut(fmt::format("{}: {}\n", name, why));
    }
    if (!options.asJson)
        printOut(fmt::format("{} rule tests passed, {} failed, {} skipped\n",
                             results.size() - failed - skipped, failed, skipped));
    return failed + (options.strict ? skipped + cutOff : 0);
}

/// How far the exact level reaches, of what has two sides at all.
std::string shareText(size_t rewrites, size_t exact, size_t real) {
    if (rewrites == 0)
        return {};
    auto percent = [&](size_t count) { return (200 * count + rewrites) / (2 * rewrites); };
    std::string out = fmt::format("of {} rewrites and forms {} are proved ({} %)", rewrites, exact,
                                  percent(exact));
    if (real > 0)
        out += fmt::format(", {} more {} equal over the reals ({} % together)", real,
                           real == 1 ? "is" : "are", percent(exact + real));
    return out + "\n";
}

/// Prints the proofs that failed and returns how many; in a strict run those without a sample too.
size_t printProofs(const std::vector<app::RuleProof>& proofs, const Options& options,
                   app::RulesReport& report) {
    size_t failed = 0, unsampled = 0, open = 0, exact = 0, real = 0, fuse = 0, rewrites = 0;
    for (const app::RuleProof& proof : proofs) {
        const bool hasExample = !proof.counterexamples.empty();
        const std::string obstacle = proof.open.empty() ? proof.obstacle : proof.open;
        report.rules.push_back({proof.rule, proof.where, app::verdictOf(proof), proof.samples,
                                proof.attempts, proof.failing, proof.conditions, obstacle,
                                proof.unsampled, hasExample ? proof.counterexamples[0].graph : "",
                                hasExample ? proof.counterexamples[0].difference : "",
                                proof.guard});
        failed += proof.failing > 0 ? 1 : 0;
        unsampled += proof.failing == 0 && proof.samples == 0 && !proof.isExact() ? 1 : 0;
        open += proof.open.empty() ? 0 : 1;
        rewrites += proof.isRewrite ? 1 : 0;
        exact += proof.level == app::ProofLevel::Bits ? 1 : 0;
        real += proof.level == app::ProofLevel::Reals ? 1 : 0;
        fuse += !proof.isRewrite && proof.failing == 0 && proof.samples > 0 && !proof.isExact();
        if (options.asJson)
            continue;
        printOut(app::proofText(proof));
        if (options.verbose && proof.passed())
            printOut(
                fmt::format("{}: {} is {}\n", proof.where, proof.rule, app::verdictText(proof)));
    }
    // A fused node is what it replaces: there is nothing to prove of it.
    const std::string fused =
        fuse > 0 ? fmt::format(" (of them {} fuse rule{})", fuse, fuse > 1 ? "s" : "") : "";
    const std::string summary = fmt::format(
        "{} rules proved, {} equal over the reals, {} tested{}, {} unsound, "
        "{} without a sample\n",
        exact, real, proofs.size() - exact - real - failed - unsampled, fused, failed, unsampled);
    if (!options.asJson)
        printOut(summary + shareText(rewrites, exact, real));
    return failed + (options.strict ? unsampled - open : 0); // what has no body cannot be sampled
}

Result<size_t> prove(const app::RuleLibrary& library, const Options& options,
                     app::RulesReport& report, Progress& progress) {
    app::ProofOptions proving;
    proving.rule = options.rule;
    proving.files = library.files;
    proving.seed = options.seed;
    proving.samples = options.samples;
    auto proofs = app::proveRules(library, proving, progress);
    if (!proofs)
        return failure(proofs.error());
    return printProofs(*proofs, options, report);
}

int run(const Options& options) {
    ConsoleProgress progress(options.quiet);
    auto library =
        app::requireRuleLibrary({options.paths, options.paths.empty(), {}, options.importPath});
    if (!library)
        return reportError(library.error());
    bool known = options.rule.empty();
    for (const auto* rules : {&library->loaded.forms, &library->loaded.rules.rules})
        for (const Rule& rule : *rules)
            known = known || rule.name == options.rule;
    if (!known)
        return reportError(failure("usage.rule", "no rule `" + options.rule + "`").error);
    app::RuleTestOptions testing;
    testing.rule = options.rule;
    testing.files = library->files;
    testing.zoo = [](const std::string& name) { return zoo::build(name); };
    app::RulesReport report;
    size_t failed = 0;
    if (!options.onlyProof) {
        auto results = app::runRuleTests(*library, testing, progress);
        if (!results)
            return reportError(results.error());
        const std::vector<std::string> untested = app::rulesWithoutTests(*library, testing);
        report.untested = untested;
        for (const std::string& rule : options.asJson ? std::vector<std::string>() : untested)
            printOut(fmt::format("warning: {} has no test\n", rule));
        failed += options.strict ? untested.size() : 0;
        failed += printResults(*results, options, report);
    }
    if (!options.noProof) {
        auto unsound = prove(*library, options, report, progress);
        if (!unsound)
            return reportError(unsound.error());
        failed += *unsound;
    }
    if (options.asJson)
        writeOut(app::renderRulesJson(report));
    return failed > 0 ? ExitGate : ExitOk;
}

} // namespace

Action addTest(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("files", options->paths, ".fuse files or folders; none: the built-in library");
    addImportPath(app, options->importPath, "the folders of the files");
    app.add_option("--rule", options->rule, "only the tests of this rule");
    app.add_flag("--no-proof", options->noProof, "only the tests, no numeric proof of the rules");
    app.add_flag("--only-proof", options->onlyProof, "only the numeric proof of the rules");
    app.add_flag("--strict", options->strict,
                 "fails too: a rule without a test, a skipped test, a search that was cut off, a "
                 "rule for which the proof found no sample");
    app.add_option("--seed", options->seed, "of the proof's graphs and inputs")
        ->check(seedNumber())
        ->capture_default_str();
    app.add_option("--samples", options->samples, "of the proof, for each rule")
        ->check(wholeNumber(1, 100000));
    app.add_flag("--json", options->asJson,
                 "results and verdicts as JSON (resources/schemas/rules.schema.json)");
    app.add_flag("-v,--verbose", options->verbose, "name the tests that passed too");
    app.add_flag("-q,--quiet", options->quiet, "no progress bar");
    return [options] { return run(*options); };
}

} // namespace fuselage::cli
