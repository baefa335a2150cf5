// SPDX-License-Identifier: Apache-2.0
#include "app/studio/workbench/match_commands.h"

#include "app/studio/session/match_keys.h"
#include "app/studio/session/match_trial.h"
#include "app/studio/workbench/undo.h"

#include <algorithm>
#include <memory>

namespace fuselage::studio {

namespace {

void disableSelected(Workbench& workbench) {
    const SnapshotPtr& snapshot = workbench.session.snapshot();
    if (!snapshot)
        return;
    auto keys = workbench.session.options().fuse.disabled;
    auto selected = keysOf(*snapshot, workbench.selection.selection().after);
    for (const MatchKey& key : selected)
        if (std::find(keys.begin(), keys.end(), key) == keys.end())
            keys.push_back(key);
    changeDisabled(workbench,
                   selected.size() == 1 ? QObject::tr("disable %1").arg(textOf(selected[0]))
                                        : QObject::tr("disable %1 matches").arg(selected.size()),
                   keys);
}

} // namespace

void changeDisabled(Workbench& workbench, const QString& text, std::vector<MatchKey> keys) {
    auto earlier = workbench.session.options().fuse.disabled;
    if (keys == earlier)
        return;
    Session* session = &workbench.session;
    workbench.undo.push(new UndoStep(
        text, [session, keys] { setDisabled(*session, keys); },
        [session, earlier] { setDisabled(*session, earlier); }));
}

void addMatchCommands(Workbench& workbench) {
    CommandTable& table = workbench.commands;
    table.add({"match.disable",
               "Rules",
               QObject::tr("Disable this match"),
               {QKeySequence("Ctrl+Shift+D")}},
              [&workbench] { disableSelected(workbench); });
    table.add({"match.enableAll", "Rules", QObject::tr("Enable all disabled matches"), {}},
              [&workbench] { changeDisabled(workbench, QObject::tr("enable all matches"), {}); });
    auto* trial = new MatchTrial(workbench.session, workbench.measurements, &table);
    table.add({"match.trial",
               "Rules",
               QObject::tr("Measure with and without this match"),
               {QKeySequence("Ctrl+Alt+M")}},
              [&workbench, trial] {
                  if (const SnapshotPtr& snapshot = workbench.session.snapshot())
                      trial->start(keysOf(*snapshot, workbench.selection.selection().after));
              });
    // Asked with every refresh, found out where it can change.
    auto selected = std::make_shared<bool>(false);
    auto update = [&workbench, &table, selected] {
        const SnapshotPtr& snapshot = workbench.session.snapshot();
        const QStringList& after = workbench.selection.selection().after;
        *selected = snapshot && !keysOf(*snapshot, after).empty();
        table.refresh();
    };
    const auto needsMatch = [&workbench, selected] {
        return *selected                      ? QString()
               : workbench.session.snapshot() ? QObject::tr("select a fused node first")
                                              : QObject::tr("open a model first: Ctrl+O");
    };
    table.setReason("match.disable", needsMatch);
    table.setReason("match.trial", [&workbench, needsMatch] {
        return workbench.measurements.running()
                   ? QObject::tr("a measurement is running: Shift+F5 ends it")
                   : needsMatch();
    });
    table.setReason("match.enableAll", [&workbench] {
        return workbench.session.options().fuse.disabled.empty()
                   ? QObject::tr("no match is disabled")
                   : QString();
    });
    QObject::connect(&workbench.selection, &SelectionHub::changed, &table, update);
    QObject::connect(&workbench.session, &Session::snapshotChanged, &table, update);
    update();
}

} // namespace fuselage::studio
