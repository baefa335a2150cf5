// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/studio_phases.h"

#include "app/pipeline/analysis.h"
#include "app/pipeline/compiled.h"
#include "app/report/report_scene.h"
#include "app/studio/graph_view/drawing.h"
#include "app/studio/session/provenance_map.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <ctime>

namespace fuselage {

namespace {

constexpr int edits = 8;

class Stages {
public:
    explicit Stages(std::string prefix) : m_prefix(std::move(prefix)) { m_last = now(); }

    void lap(const std::string& stage) {
        Times next = now();
        add(stage, (next.wall - m_last.wall) * 1e3, (next.processor - m_last.processor) * 1e3);
        m_last = now();
    }

    /// A stage that a library has timed by the clock, inside of the lap that is running.
    void inside(const std::string& stage, double seconds) { add("  " + stage, seconds * 1e3, 0); }

    std::string text() const { return m_text; }

private:
    struct Times {
        double wall, processor;
    };

    static Times now() {
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        auto wall = std::chrono::steady_clock::now().time_since_epoch();
        return {std::chrono::duration<double>(wall).count(),
                static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9};
    }

    void add(const std::string& stage, double wall, double processor) {
        m_text += fmt::format("{:<6} {:<28} {:>9.1f} {:>9.1f}\n", m_prefix, stage, wall, processor);
    }

    std::string m_prefix, m_text;
    Times m_last;
};

void stop(const Error& error) {
    fmt::print(stderr, "{}\n", error.message);
    std::exit(1);
}

/// Each edit is another rule: one that gets no match and one that takes all by turns.
app::RuleOptions rulesOf(int edit) {
    app::RuleOptions out;
    if (edit > 0)
        out.texts.push_back(
            {"typed.fuse", fmt::format("fuse 1;\nrule Typed{} priority {} {{ match {{ y = Conv -> "
                                       "Relu; }} }}\n",
                                       edit, edit % 2 ? -50 : 50)});
    return out;
}

} // namespace

std::string phasesOf(const std::string& path) {
    Progress progress;
    std::string out = fmt::format("{:<6} {:<28} {:>9} {:>9}\n", "", "stage", "wall", "processor");
    auto profile = deviceProfile("cpu");
    if (!profile)
        stop(profile.error());
    Stages opening("open");
    auto model = app::loadModel(path, {}, progress);
    if (!model)
        stop(model.error());
    opening.lap("load and prepare");
    auto backend = makeBackend(CompileOptions{});
    opening.lap("backend");
    app::AnalysisOptions options;
    options.profile = *profile;
    options.backend = backend ? backend->get() : nullptr;
    options.fuse.explain = true;
    app::AnalysisCache known;
    for (int edit = 0; edit <= edits; ++edit) {
        Stages editing("edit");
        Stages& stages = edit == 0 ? opening : editing;
        auto library = app::loadRuleLibrary(rulesOf(edit));
        if (!library)
            stop(library.error());
        stages.lap("rules");
        auto analysis = app::analyse(*model, *library, options, known, progress);
        if (!analysis)
            stop(analysis.error());
        stages.lap("analyse");
        for (const auto& [stage, seconds] : analysis->report.stageSeconds)
            stages.inside(stage, seconds);
        studio::ProvenanceMap provenance(analysis->report.before.graph,
                                         analysis->report.after.graph);
        stages.lap("provenance");
        scene::SideFigures figures = app::figuresOf(analysis->report);
        stages.lap("figures");
        auto scene = scene::build(
            {analysis->report.before.graph, analysis->report.after.graph, figures}, {}, progress);
        stages.lap("scene");
        studio::Drawing drawing(std::move(*scene));
        stages.lap("drawing");
        out += stages.text();
    }
    return out;
}

} // namespace fuselage
