// SPDX-License-Identifier: Apache-2.0
// What may be asked of a run of the rules, and what comes of it.
#pragma once

#include "core/rewrite/rewriter.h"
#include "core/rewrite/select.h"

#include <memory>
#include <optional>
#include <string_view>

namespace fuselage {

/// Whether a legal match is also wanted.
enum class Decide : uint8_t {
    Rules,   ///< every legal match that the gate of its rule, if it has one, admits
    Cost,    ///< as Rules; fuse rules without a gate must be predicted to save time
    Measure, ///< as Cost; where the prediction cannot tell, `gain` measures
};

/// How a person writes it.
inline const char* nameOf(Decide decide) {
    constexpr const char* names[] = {"rules", "cost", "measure"};
    return names[static_cast<size_t>(decide)];
}

inline std::optional<Decide> decideFromName(std::string_view name) {
    for (Decide decide : {Decide::Rules, Decide::Cost, Decide::Measure})
        if (name == nameOf(decide))
            return decide;
    return std::nullopt;
}

/// Whether costs decide on matches of the rule: it has no gate, and if it rewrites, it gives what
/// is computed another name (phase `convert`).
bool isPriced(const Rule& rule);

/// Before minus after of applying the match to the graph.
using GainFunction = std::function<Gain(const Graph&, const Match&)>;

/// One match by what a person sees of it; stays the same while other rules change.
struct MatchKey {
    std::string rule;
    std::vector<std::string> nodes; ///< the model's nodes that it covers, sorted

    friend auto operator<=>(const MatchKey&, const MatchKey&) = default;
};

struct EngineOptions {
    MatcherOptions matcher;
    Decide decide = Decide::Rules;
    GainFunction gain;                   ///< none: nodes saved; needed unless rules decide
    GainFunction measuredGain;           ///< of `gate measured`; none: `gain`
    std::optional<DeviceFigures> device; ///< what `device` is in rules; none: unknown
    InferenceFunction infer;             ///< none: inferShapes
    std::optional<PhaseStep::Selection> selection; ///< instead of what the pipeline says
    uint64_t selectionSteps = 200'000;             ///< bound of the exact selection
    uint32_t maxIterations = 100;                  ///< of one phase
    std::vector<MatchKey> disabled;                ///< refused wherever they are found
};

struct Rewritten {
    Graph graph;
    Trace trace;
    /// In place of `graph`, which is empty then: one that a run with a memo found unchanged.
    std::shared_ptr<const Graph> known = {};
};

} // namespace fuselage
