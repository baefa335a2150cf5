// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/rule_list/rule_list_panel.h"

#include "app/studio/item_models/rule_table.h"
#include "app/studio/panels/table_panel.h"
#include "app/studio/workbench/undo.h"

namespace fuselage::studio {

namespace {

void setWithout(Session& session, const std::set<std::string>& names) {
    SessionOptions options = session.options();
    if (options.rules.without == names)
        return;
    options.rules.without = names;
    session.setOptions(options);
}

void switchRule(Workbench& workbench, const RuleRow& row, bool on) {
    const std::set<std::string> earlier = workbench.session.options().rules.without;
    std::set<std::string> names = earlier;
    if (on)
        names.erase(row.name.toStdString());
    else
        names.insert(row.name.toStdString());
    if (names == earlier)
        return;
    Session* session = &workbench.session;
    workbench.undo.push(new UndoStep(
        (on ? QObject::tr("switch rule %1 on") : QObject::tr("switch rule %1 off")).arg(row.name),
        [session, names] { setWithout(*session, names); },
        [session, earlier] { setWithout(*session, earlier); }));
}

} // namespace

QWidget* makeRuleListPanel(Workbench& workbench, QWidget* parent) {
    RuleTable* table = makeRuleTable(
        nullptr, [&workbench](const RuleRow& row, bool on) { switchRule(workbench, row, on); });
    auto* panel = new TablePanel(table, QObject::tr("rules that are asked"), workbench, parent);
    panel->sayWhenEmpty(QObject::tr("no rules are loaded"));
    panel->showReport(workbench.session, [table, &workbench](const app::Report& report) {
        const SnapshotPtr& snapshot = workbench.session.snapshot();
        table->setRows(snapshot ? ruleRows(report, *snapshot->rules) : std::vector<RuleRow>());
    });
    QObject::connect(panel, &TablePanel::chosen, panel, [table, &workbench](int row) {
        if (row >= 0 && table->row(row).matches > 0)
            workbench.selection.selectRule(table->row(row).name);
    });
    QObject::connect(panel, &TablePanel::activated, panel, [table, &workbench](int row) {
        Q_EMIT workbench.session.placeWanted(table->row(row).file, table->row(row).line);
    });
    panel->table().setToolTip(QObject::tr("Enter or double-click: the rule's line"));
    QAction* toggle = workbench.commands.add(
        {"rule.switch", "Rules", QObject::tr("Switch this rule off or on"), {}},
        [panel, table, &workbench] {
            const QModelIndexList rows = panel->table().selectionModel()->selectedRows();
            if (rows.isEmpty())
                return;
            const QVariant name = rows.first().data();
            for (int row = 0; row < table->rowCount(); ++row)
                if (const RuleRow& each = table->row(row); each.name == name.toString())
                    return switchRule(workbench, each, !each.on);
        });
    panel->table().addAction(toggle);
    return panel;
}

} // namespace fuselage::studio
