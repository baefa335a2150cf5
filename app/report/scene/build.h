// SPDX-License-Identifier: Apache-2.0
// Graph before and after -> Scene. The same input gives the same scene, in whatever order the nodes
// of the graphs stand.
#pragma once

#include "app/pipeline/graph_report.h"
#include "app/report/scene/layout.h"
#include "app/report/scene/scene.h"

#include <functional>
#include <map>
#include <set>

namespace fuselage::scene {

/// Figures of nodes by name: of the nodes before and of the nodes after.
struct SideFigures {
    std::map<std::string, Figures> before, after;
};

struct Options {
    /// Ids of containers ("c:...") that are open or shut against the default.
    std::set<std::string> expanded, collapsed;
    /// What decides for all others.
    enum class Collapse : uint8_t {
        Default, ///< blocks after the first of their kind, then what is too much
        Nothing, ///< every node is shown
        Blocks,  ///< every scope of the first levels is one box
    } collapse = Collapse::Default;
    /// What QuantizeLinear and DequantizeLinear say.
    enum class Pairs : uint8_t {
        Badges, ///< stands at the edges that carry stored values; no boxes where that says all
        Boxes,  ///< nodes like all others
    } pairs = Pairs::Badges;
    /// What is done with a picture that is much deeper than wide.
    enum class Flow : uint8_t {
        Columns, ///< cut into columns beside each other
        Down,    ///< left as it is
    } flow = Flow::Columns;
    bool details = false;           ///< attributes and shapes of weights in the boxes
    size_t maxBoxes = 600;          ///< by default, deeper scopes are shut until no more are shown
    size_t slice = 400;             ///< a level with more children is split
    LayoutEngine* engine = nullptr; ///< none: the linear one
    /// Rules that had a letter and a colour before: they keep them. Others get the next ones.
    std::vector<std::string> ruleOrder = {};
};

struct Input {
    const app::GraphReport& before;
    const app::GraphReport& after; ///< may be empty: only one side is drawn
    const SideFigures& figures;
};

/// Errors: "cancelled", and those of the engine.
Result<Scene> build(const Input& input, const Options& options, Progress& progress);

} // namespace fuselage::scene
