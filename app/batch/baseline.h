// SPDX-License-Identifier: Apache-2.0
// Baselines: a folder for git, one folder in it for each model, profile, precision and dimensions,
// with the results as they were and the last times. Only `update` writes.
#pragma once

#include "app/batch/gates/evaluate.h"
#include "app/report/run_report.h"
#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::batch {

constexpr size_t baselineWindow = 20; ///< runs whose times are kept

/// Where numbers come from.
struct Provenance {
    std::string commit, machine;
    std::string kind; ///< kindOf() of the results
    size_t order = 0; ///< of the baselines of one name and kind, the last written has the highest
    size_t runs = 0;  ///< whose times are there
};

/// "resnet50.0123456789abcdef": the id for people, the hash for finding it.
std::string baselineKey(const app::ModelRun& model);

/// What results must have in common to be compared: "cpu, fp32, N=4", profile, precision and sizes
/// of open dimensions; the backend too, where its name is not the profile's.
std::string kindOf(const app::Report& report);

/// Results of every model that ran; their times are added to those that are there. Error
/// "save.write".
Result<void> updateBaseline(const std::string& folder, const app::RunReport& run,
                            const std::string& commit);

/// By its structure, since files are renamed; else the last one of its id and kind, which is of
/// another structure and says so. Empty when there is none. Error when there is one that cannot
/// be read.
Result<std::optional<Baseline>> findBaseline(const std::string& folder, const app::ModelRun& model);

/// Of the baselines of a model by its id, whatever its structure: for saying what there is.
std::vector<std::string> kindsOf(const std::string& folder, const std::string& id);

/// Ids of baselines that no model of the run is of, by name or by structure, though the run has
/// models of their kind: they may have been lost. None of a run that is a part of one.
std::vector<std::string> baselinesOfNobody(const std::string& folder, const app::RunReport& run);

struct BaselineEntry {
    std::string key;
    Provenance provenance;
};

/// Sorted by key.
Result<std::vector<BaselineEntry>> listBaselines(const std::string& folder);

/// Keeps the newest `keep` times of each; returns how many files went.
Result<size_t> pruneBaseline(const std::string& folder, size_t keep);

} // namespace fuselage::batch
