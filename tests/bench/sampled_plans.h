// SPDX-License-Identifier: Apache-2.0
// What deciding costs: the time of the plan that the engine chose over the best of plans that it
// did not choose, measured side by side. The others come from the same rules with random matches
// switched off.
#pragma once

#include "app/pipeline/analysis.h"

namespace fuselage::bench {

struct RegretOptions {
    int plans = 20;
    double seconds = 1; ///< of the rounds of one plan beside the chosen one
};

struct Regret {
    int plans = 0;          ///< that ran
    double regret = 0;      ///< chosen over best, less one; 0 where the chosen one is the best
    double planTau = 0;     ///< Kendall's tau of predicted and measured times of the plans
    size_t switchedOff = 0; ///< matches of `matches` that the best plan lacks
    size_t matches = 0;
};

/// `chosen` is the analysis of the model with `options`. The same plans every time: they follow
/// from its matches alone.
Result<Regret> regretOf(const app::LoadedModel& model, const app::RuleLibrary& library,
                        const app::AnalysisOptions& options, const app::Analysis& chosen,
                        Backend& backend, std::span<const Tensor> inputs,
                        const RegretOptions& regret);

} // namespace fuselage::bench
