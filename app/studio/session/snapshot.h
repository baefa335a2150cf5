// SPDX-License-Identifier: Apache-2.0
// What the window shows at one moment: a model, the rules it was matched with and the analysis of
// both. Immutable and shared; a newer Snapshot replaces it as a whole.
#pragma once

#include "app/pipeline/analysis.h"
#include "app/pipeline/rules.h"
#include "app/studio/session/provenance_map.h"

#include <memory>

namespace fuselage::studio {

struct Snapshot {
    std::shared_ptr<const app::LoadedModel> model;
    std::shared_ptr<const app::RuleLibrary> rules;
    app::Analysis analysis;
    ProvenanceMap provenance;
    QString device;                      ///< profile of the predictions
    std::map<std::string, int64_t> dims; ///< as a person bound them
    Precision precision = Precision::Fp32;
    bool strict = false;

    const Graph& before() const { return *analysis.before.plan->graph; }

    const Graph& after() const { return *analysis.after.plan->graph; }

    const app::Report& report() const { return analysis.report; }
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

/// Whoever lets go of it last does not wait: it is taken apart on a thread of the pool.
SnapshotPtr shared(std::unique_ptr<Snapshot> snapshot);

} // namespace fuselage::studio
