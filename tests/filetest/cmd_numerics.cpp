// SPDX-License-Identifier: Apache-2.0
// numerics: a graph and rules -> which rules applied, and whether fused and unfused runs agree with
// the reference on generated inputs. Verdicts only: the figures differ from machine to machine. The
// environment's FUSELAGE_TEST_BACKEND is run too, and is an extra verdict where it differs.
#include "app/pipeline/agreement.h"
#include "app/pipeline/fuse.h"
#include "tests/filetest/commands.h"

#include <fmt/format.h>

#include <cstdlib>

namespace fuselage::filetest {

Outcome runNumerics(const CaseFile& file) {
    Graph graph;
    Outcome outcome = readPrepared(file, "input", graph);
    if (outcome.broken)
        return outcome;
    auto library = readRules(file);
    if (!library) {
        outcome.broken = library.error().text();
        return outcome;
    }
    app::enterDeclared(graph, *library);
    Progress progress;
    app::FuseOptions fusing;
    fusing.profile = "h200";
    auto fused = app::fuseGraph(graph, *library, fusing, progress);
    if (!fused) {
        outcome.broken = fused.error().text();
        return outcome;
    }
    app::AgreementOptions options;
    options.threads = 2;
    options.measureTactics = false;
    options.fallback = file.option("host") == "yes";
    const char* more = std::getenv("FUSELAGE_TEST_BACKEND");
    const std::string extra = more == nullptr ? "" : more;
    if (!extra.empty()) {
        auto backend = backendFromName(extra);
        if (!backend) {
            outcome.broken = "FUSELAGE_TEST_BACKEND names no backend";
            return outcome;
        }
        options.backends.push_back(*backend);
    }
    auto agreements = app::compareForms(graph, fused->graph, options, progress);
    if (!agreements) {
        outcome.broken = agreements.error().text();
        return outcome;
    }
    std::string verdicts, counts;
    for (const app::OutputAgreement& it : *agreements) {
        // A backend that is here by request is not in the file: it shows when it is wrong.
        if (it.ok && !extra.empty() && it.side.ends_with(" " + extra))
            continue;
        verdicts += it.ok ? fmt::format("{} {}: agrees\n", it.output, it.side)
                          : fmt::format("{} {}: differs by {:.3g} of at most {:.3g}, or in what is "
                                        "not finite\n",
                                        it.output, it.side, it.maxRelative, it.tolerance);
    }
    for (const RuleCount& count : fused->trace.counts)
        if (count.applied > 0)
            counts += fmt::format("{} {}\n", count.applied, count.rule);
    outcome.sections["verdict"] = verdicts;
    outcome.sections["counts"] = counts;
    return outcome;
}

} // namespace fuselage::filetest
