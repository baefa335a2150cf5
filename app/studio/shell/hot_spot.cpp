// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/hot_spot.h"

#include "app/report/format.h"
#include "app/report/report_scene.h"

#include <algorithm>

namespace fuselage::studio {

namespace {

void goToNext(Workbench& workbench, const std::function<void(const QString& words)>& say) {
    const app::Report* report = workbench.session.report();
    if (!report)
        return;
    const std::vector<HotSpot> spots = hotSpotsOf(*report);
    if (spots.empty())
        return say(QObject::tr("a rule took every node that takes time"));
    const QStringList& selected = workbench.selection.selection().after;
    const auto here = std::find_if(spots.begin(), spots.end(), [&](const HotSpot& spot) {
        return selected.size() == 1 && selected.first() == spot.node;
    });
    const auto next = here == spots.end() || here + 1 == spots.end() ? spots.begin() : here + 1;
    workbench.selection.selectAfter({next->node});
    if (QAction* show = workbench.commands.find("view.reveal"))
        show->trigger();
    say(QObject::tr("hot spot %1 of %2: %3, %4 %5, %6 % of what no rule took")
            .arg(next - spots.begin() + 1)
            .arg(spots.size())
            .arg(next->node, QString::fromStdString(app::secondsText(next->seconds)),
                 next->measured ? QObject::tr("measured") : QObject::tr("predicted"))
            .arg(100 * next->share, 0, 'f', 1));
}

} // namespace

std::vector<HotSpot> hotSpotsOf(const app::Report& report) {
    const scene::SideFigures figures = app::figuresOf(report);
    std::vector<HotSpot> out;
    double sum = 0;
    for (const app::GraphNodeReport& node : report.after.graph.nodes) {
        if (node.fused)
            continue;
        const auto found = figures.after.find(node.name);
        if (found == figures.after.end() || !(found->second.seconds > 0))
            continue;
        out.push_back(
            {QString::fromStdString(node.name), found->second.seconds, found->second.measured, 0});
        sum += found->second.seconds;
    }
    for (HotSpot& spot : out)
        spot.share = spot.seconds / sum;
    std::stable_sort(out.begin(), out.end(),
                     [](const HotSpot& a, const HotSpot& b) { return a.seconds > b.seconds; });
    return out;
}

void addHotSpotCommand(Workbench& workbench, std::function<void(const QString& words)> say) {
    workbench.commands.add({"select.hotSpot",
                            "Select",
                            QObject::tr("Next hot spot that no rule took"),
                            {QKeySequence("H")},
                            KeyScope::Canvas},
                           [&workbench, say = std::move(say)] { goToNext(workbench, say); });
    workbench.commands.setReason("select.hotSpot", [&workbench] {
        return workbench.session.snapshot() ? QString() : QObject::tr("open a model first: Ctrl+O");
    });
}

} // namespace fuselage::studio
