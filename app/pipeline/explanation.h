// SPDX-License-Identifier: Apache-2.0
// Why rules did not fire, or fired less than they could, as plain data: findings in the order in
// which a person should read them. `explain` prints it as text or JSON; nothing here computes.
#pragma once

#include "app/pipeline/pair_report.h"
#include "app/pipeline/report.h"
#include "core/rewrite/trace.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

/// A place in a .fuse file with its line of text.
struct TextPlace {
    std::string file;
    uint32_t line = 0, column = 0; ///< from 1
    uint32_t length = 0;           ///< bytes on that line
    std::string text;              ///< the line
};

/// A change of a rule's text: what stands at the place goes, `insert` comes.
struct TextChange {
    TextPlace place;
    std::string remove, insert;
};

/// What happens with the change, found by making it and running all rules again.
struct ChangeOutcome {
    uint32_t before = 0, fires = 0; ///< matches of the rule that are applied now and then
    double us = 0;                  ///< predicted for the whole model as it runs now, minus then
    int64_t nodes = 0;              ///< of the whole model then, minus now
    int64_t bytes = 0;              ///< logical, of the whole model then, minus now
    bool isUnsound = false;         ///< a rewrite that the proof lets pass now and not then

    /// The rule takes more then, in other places or more nodes in the same ones, and costs no time.
    bool helps() const { return !isUnsound && us >= -leastUs && (fires > before || nodes < 0); }

    /// The model is faster by it: one that only takes what another rule had changes no plan.
    bool saves() const { return us > leastUs; }

    static constexpr double leastUs = 0.01; ///< sums of times in another order differ by less
};

/// Where in the model.
struct FindingSite {
    std::string node;               ///< where the search ended
    std::vector<std::string> nodes; ///< of the match, as far as it came
    bool taken = false;             ///< another match has its nodes
    std::string origin = {};        ///< "layers.0.attention, model.py:123", as the exporter says
    std::string holder = {};        ///< of a taken one: "`y_fused`, fused by ConvBNReLU"
};

/// One reason with all places that share it.
struct Finding {
    enum class Stage : uint8_t {
        Start,   ///< the rule was not searched for
        Match,   ///< a part of the pattern did not fit
        Legal,   ///< complete, but an inner value is read outside, or it would close a cycle
        Gate,    ///< complete and legal, but not worth it
        Rewrite, ///< what the rule makes cannot stand there
        Lower,   ///< fused, but no single kernel computes it
        Select,  ///< another match took its nodes
    };

    std::string rule, file;
    uint32_t line = 0;   ///< of the rule
    bool absent = false; ///< the model has no node that the search of the rule could start at
    bool isHeld =
        false; ///< it has some, and other matches took them before the rule was searched for
    bool isStrange = false; ///< it wants an operator that is nowhere in the model
    Stage stage = Stage::Match;
    Reason reason; ///< of the first place; facts "found" and "expected" where there are two values
    uint32_t step = 0, steps = 0; ///< nodes of the pattern that fitted, and all of them
    bool isAllButOne = false;     ///< somewhere all the rest of the pattern fits
    std::optional<TextPlace> place;
    std::vector<FindingSite> sites;
    std::optional<TextChange> change;
    std::optional<ChangeOutcome> outcome; ///< none: not tried, or the change is for a person
    std::vector<std::string> parts;       ///< of Lower: the operators of each kernel
    int64_t launches = 0, bytes = 0;      ///< of Lower: what one kernel would save

    /// Places whose nodes no other match has.
    size_t openSites() const {
        return static_cast<size_t>(std::count_if(
            sites.begin(), sites.end(), [](const FindingSite& site) { return !site.taken; }));
    }
};

/// How a rule did in this model.
struct RuleStanding {
    std::string rule, file;
    uint32_t line = 0;
    std::string phase;
    uint32_t matched = 0, applied = 0;
    uint32_t places = 0; ///< where the search came to something: matches, refusals, near misses
    std::vector<std::string> hints = {}; ///< what the rule says to its users
};

struct Explanation {
    std::string model, pipeline, decide, device;
    size_t nodesBefore = 0, nodesAfter = 0;
    std::vector<RuleStanding> rules;  ///< those asked for, in rule order
    std::vector<Finding> findings;    ///< what to look at first stands first
    std::vector<TraceEvent> happened; ///< what was done to the node asked for
    /// Complete matches that lost their nodes to others, or left them to others by an `unless` ...
    uint32_t takenMatches = 0;
    std::vector<std::string> takenRules; ///< ... and their rules; as findings only when asked for
    uint32_t absentRules = 0; ///< of the library, whose operators the model does not have
    uint32_t heldRules = 0; ///< of the library, whose nodes others took before it was searched for
    uint32_t tidyRules = 0; ///< of the library's phase canonicalize, that came near somewhere
    std::string rule, node; ///< what was asked for; empty: everything
    std::string with = {};  ///< the other node, where two were asked for
    std::vector<std::string> planned = {}; ///< what the planner does with the node asked for
    std::vector<std::string> origins = {}; ///< of the node asked for, as the exporter says
    std::vector<std::string> notes = {};   ///< of LoadedModel
    std::vector<PairReport> pairs = {};    ///< of a quantised model; those of the node asked for
    std::vector<PairRemark> remarks = {};  ///< the same of what is amiss with pairs
    /// Nodes that stay in float32 beside others in 16 bits; the one asked for.
    std::vector<PrecisionReport::Kept> kept = {};
};

} // namespace fuselage::app
