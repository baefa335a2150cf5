// SPDX-License-Identifier: Apache-2.0
// Which model of one run is compared with which of another: by id, by what a person says, and one
// against one whatever they are called, since a file's name often holds its release.
#pragma once

#include "app/report/run_report.h"
#include "core/support/result.h"

#include <map>
#include <string>
#include <vector>

namespace fuselage::batch {

/// The models of A by the ids of those of B.
using Pairs = std::map<std::string, const app::ModelRun*>;

/// `mapped` are texts "A=B" of ids; they go before equal ids. `a` must outlive the result. Error
/// "usage.map": no such model, or one in two pairs.
Result<Pairs> pairModels(const app::RunReport& a, const app::RunReport& b,
                         const std::vector<std::string>& mapped);

/// Both ran, and of one kind (see kindOf in baseline.h): what differs else is no regression.
bool areOfOneKind(const app::ModelRun& a, const app::ModelRun& b);

/// Before gates judge B by A. Error "usage.compare" with what helps: no model of A is one of B's,
/// or, where `byBaseline` gates ask for it, no two are of one kind.
Result<void> requirePairs(const app::RunReport& a, const app::RunReport& b, const Pairs& pairs,
                          bool byBaseline);

/// Why B is not whole and right, whatever it is compared with: "verify:MODEL", "partial:shard I/N".
std::vector<std::string> reasonsOfItself(const app::RunReport& b);

/// What of A the comparison has lost, as rows "lost" of B: models that ran in A and that B has not
/// or could not run; where `byBaseline`, also pairs of two kinds, which no gate compares. Where
/// `fail` they fail it, by reasons "lost:MODEL", else they warn. Of a B that is one shard nobody
/// knows what the others have.
void addLost(const app::RunReport& a, const Pairs& pairs, bool byBaseline, bool fail,
             app::RunReport& b);

} // namespace fuselage::batch
