// SPDX-License-Identifier: Apache-2.0
#include "app/report/junit.h"

#include "app/report/escape.h"
#include "app/report/run_text.h"

#include <fmt/format.h>

#include <map>

namespace fuselage::app {

namespace {

struct Case {
    enum class Outcome : uint8_t { Passed, Failed, Broken, Skipped };

    std::string name;
    Outcome outcome = Outcome::Passed;
    std::string message;
    double seconds = 0;
};

Case runCase(const ModelRun& model) {
    Case out{"run", Case::Outcome::Passed, {}, model.seconds};
    if (model.state == ModelRun::State::NotRun)
        out.outcome = Case::Outcome::Skipped;
    else if (model.state != ModelRun::State::Done)
        out.outcome = Case::Outcome::Broken;
    if (out.outcome != Case::Outcome::Passed)
        out.message = fmt::format("{}: {} {}", nameOf(model.state), model.message, model.code);
    return out;
}

Case agreementCase(const OutputAgreement& output) {
    Case out{fmt::format("verify {} {}", output.side, output.output), Case::Outcome::Passed, {}, 0};
    if (!output.ok) {
        out.outcome = Case::Outcome::Failed;
        out.message = fmt::format("relative difference {:.3g} is above {:.3g}", output.maxRelative,
                                  output.tolerance);
        if (!output.note.empty())
            out.message += ": " + output.note;
    }
    return out;
}

Case gateCase(const GateRow& gate) {
    Case out{"gate " + gate.id, Case::Outcome::Passed, {}, 0};
    if (gate.verdict == GateRow::Verdict::Fail)
        out.outcome = Case::Outcome::Failed;
    else if (gate.verdict != GateRow::Verdict::Pass)
        out.outcome = Case::Outcome::Skipped;
    if (out.outcome != Case::Outcome::Passed)
        out.message = fmt::format("{}: {} was {}, is {}, limit {}. {}", nameOf(gate.verdict),
                                  gate.metric, gate.base.empty() ? "unknown" : gate.base,
                                  gate.now.empty() ? "unknown" : gate.now, gate.limit, gate.note);
    return out;
}

std::vector<Case> casesOf(const RunReport& run, const ModelRun& model) {
    std::vector<Case> out{runCase(model)};
    if (model.report)
        for (const OutputAgreement& output : model.report->agreement)
            out.push_back(agreementCase(output));
    for (const GateRow& gate : run.gates)
        if (gate.model == model.id)
            out.push_back(gateCase(gate));
    return out;
}

struct Counts {
    size_t all = 0, failed = 0, broken = 0, skipped = 0;

    void add(const Case& one) {
        ++all;
        failed += one.outcome == Case::Outcome::Failed;
        broken += one.outcome == Case::Outcome::Broken;
        skipped += one.outcome == Case::Outcome::Skipped;
    }

    std::string text() const {
        return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", all, failed,
                           broken, skipped);
    }
};

std::string caseText(const std::string& suite, const Case& one) {
    std::string head = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                                   escaped(suite), escaped(one.name), one.seconds);
    const char* elements[] = {"", "failure", "error", "skipped"};
    if (one.outcome == Case::Outcome::Passed)
        return head + "/>\n";
    return head + fmt::format("><{} message=\"{}\"/></testcase>\n",
                              elements[static_cast<size_t>(one.outcome)], escaped(one.message));
}

} // namespace

std::string renderJUnit(const RunReport& run) {
    Counts all;
    std::string suites;
    const auto addSuite = [&](const std::string& name, const std::vector<Case>& members,
                              double seconds) {
        Counts counts;
        std::string cases;
        for (const Case& one : members) {
            counts.add(one);
            all.add(one);
            cases += caseText(name, one);
        }
        suites += fmt::format("  <testsuite name=\"{}\" {} time=\"{:.3f}\">\n{}  </testsuite>\n",
                              escaped(name), counts.text(), seconds, cases);
    };
    for (const std::string& shard : missingShards(run))
        addSuite(shard, {{"run", Case::Outcome::Broken, "its folder is missing", 0}}, 0);
    for (const ModelRun& model : run.models)
        addSuite(model.id, casesOf(run, model), model.seconds);
    std::map<std::string, std::vector<Case>> others; // of models that are gone, and of none
    for (const GateRow* gate : rowsOfNoModel(run))
        others[gate->model.empty() ? "gates" : gate->model].push_back(gateCase(*gate));
    for (const auto& [name, cases] : others)
        addSuite(name, cases, 0);
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"fuselage\" " +
           all.text() + ">\n" + suites + "</testsuites>\n";
}

} // namespace fuselage::app
