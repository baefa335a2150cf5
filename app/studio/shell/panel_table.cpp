// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/panel_table.h"

#include "app/studio/panels/editor/editor_panel.h"
#include "app/studio/panels/flame/flame_panel.h"
#include "app/studio/panels/help/help_panel.h"
#include "app/studio/panels/inspector/inspector_panel.h"
#include "app/studio/panels/kernels/kernels_panel.h"
#include "app/studio/panels/matches/matches_panel.h"
#include "app/studio/panels/near_misses/near_misses_panel.h"
#include "app/studio/panels/outline/outline_panel.h"
#include "app/studio/panels/problems/problems_panel.h"
#include "app/studio/panels/roofline/roofline_panel.h"
#include "app/studio/panels/rule_list/rule_list_panel.h"
#include "app/studio/panels/runs/runs_panel.h"
#include "app/studio/panels/steps/steps_panel.h"
#include "app/studio/panels/timeline/timeline_panel.h"
#include "app/studio/panels/traffic/traffic_panel.h"
#include "app/studio/panels/values/values_panel.h"

namespace fuselage::studio {

namespace {

constexpr Qt::DockWidgetArea left = Qt::LeftDockWidgetArea;
constexpr Qt::DockWidgetArea right = Qt::RightDockWidgetArea;
constexpr Qt::DockWidgetArea bottom = Qt::BottomDockWidgetArea;

const PanelRow rows[] = {
    {"outline", "Outline", left, makeOutlinePanel,
     "the nodes of the model as a list, with what they became"},
    {"inspector", "Inspector", right, makeInspectorPanel,
     "everything about the selected node: match, kernel, why not"},
    {"values", "Values", right, makeValuesPanel,
     "constants of the selected node: statistics, histogram, saving as .npy"},
    {"help", "Help", right, makeHelpPanel,
     "the language, the library and worked examples that open by a button"},
    {"editor", "Rules", bottom, makeEditorPanel, "rules as text, matched again while you type"},
    {"matches", "Matches", bottom, makeMatchesPanel, "every fused node with what it saved"},
    {"kernels", "Kernels", bottom, makeKernelsPanel,
     "every kernel of the fused plan: time, bytes, tactic, source nodes"},
    {"why_not", "Why not", bottom, makeNearMissesPanel,
     "matches that failed at one step, nearest first"},
    {"rule_list", "Rule list", bottom, makeRuleListPanel,
     "the rules that are asked, with what each saves; a box switches one off"},
    {"traffic", "Traffic", bottom, makeTrafficPanel,
     "bytes saved by rule; before and after: logical, L2, DRAM"},
    {"timeline", "Timeline", bottom, makeTimelinePanel, "kernels one after the other, to scale"},
    {"flame", "Scopes", bottom, makeFlamePanel, "which modules of the model take the time"},
    {"roofline", "Roofline", bottom, makeRooflinePanel,
     "from the nodes that were fused to the fused node"},
    {"steps", "Steps", bottom, makeStepsPanel, "what the rewriter did and refused, in order"},
    {"problems", "Problems", bottom, makeProblemsPanel,
     "mistakes in rules and models, each with a fix"},
    {"runs", "Runs", bottom, makeRunsPanel, "what was measured, each run against a baseline"},
};

} // namespace

std::span<const PanelRow> panelTable() {
    return rows;
}

const PanelRow* panelNamed(std::string_view id) {
    for (const PanelRow& row : rows)
        if (row.id == id)
            return &row;
    return nullptr;
}

} // namespace fuselage::studio
