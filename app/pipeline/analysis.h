// SPDX-License-Identifier: Apache-2.0
// A loaded model before and after fusion with everything that is known without running it: graphs,
// Trace, plans, traffic and predicted times. `bench` runs what this returns; a window shows it
// while rules change, and a cache takes over what a change does not touch.
#pragma once

#include "app/pipeline/fuse.h"
#include "app/pipeline/model.h"
#include "app/pipeline/planned.h"
#include "app/pipeline/report.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace fuselage::app {

/// What one run of each side showed of shapes that depend on data. Sums in another order may round
/// to other lengths, so each side has its own.
struct ShapesOfSides {
    RunShapes before, after;
};

struct AnalysisOptions {
    FuseOptions fuse; ///< dims go before those of the loaded model
    DeviceProfile profile;
    const Backend* backend = nullptr;      ///< chooses layouts; null: plans for prediction only
    const ShapesOfSides* shapes = nullptr; ///< each side is planned for data that give its own
    bool everyNearMiss = false;            ///< those of foreign rules too (foreign_rules.h)
};

struct Analysis {
    std::shared_ptr<const Graph> fused; ///< with the file's symbolic dimensions, ready to be saved
    Trace trace;
    std::map<std::string, int64_t> dims; ///< what every symbol was bound to
    Planned before, after;
    /// Of the machine only the profile, no measured times and no agreement; stageSeconds of these
    /// stages.
    Report report;
};

/// What analyses of one loaded model leave to the next one. Those that share it wait for each
/// other: cancel the one that runs first.
class AnalysisCache {
public:
    AnalysisCache() = default;

    /// `graph`: the model's, which analyses then share where they would copy it else.
    explicit AnalysisCache(std::shared_ptr<const Graph> graph) : m_graph(std::move(graph)) {}

    struct Known {
        std::string key; ///< of all options that the rest depends on
        std::shared_ptr<const Prepared> prepared;
        RewriteMemo rewriting;
        std::shared_ptr<KnownGains> gains = std::make_shared<KnownGains>();
        std::optional<Planned> before, after;
        RewriteMemo::State afterState = 0; ///< of the graph that `after` is about
    };

    /// Phases and searches of rules that the last analysis took over.
    size_t reused() const { return m_known.rewriting.reused(); }

private:
    friend Result<Analysis> analyse(const LoadedModel&, const RuleLibrary&, const AnalysisOptions&,
                                    AnalysisCache&, Progress&);

    std::shared_ptr<const Graph> m_graph; ///< null: not shared
    std::mutex m_running;
    Known m_known;
};

/// Errors: those of prepare, fuse and planSide, "dim.open", "cancelled".
Result<Analysis> analyse(const LoadedModel& model, const RuleLibrary& library,
                         const AnalysisOptions& options, Progress& progress);

/// The very same, sooner.
Result<Analysis> analyse(const LoadedModel& model, const RuleLibrary& library,
                         const AnalysisOptions& options, AnalysisCache& cache, Progress& progress);

} // namespace fuselage::app
