// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/selection_hub.h"

namespace fuselage::studio {

namespace {

constexpr qsizetype historyLength = 100;

QStringList existing(const QStringList& names, const Snapshot& snapshot) {
    QStringList out;
    for (const QString& name : names)
        if (snapshot.provenance.knowsBefore(name))
            out.append(name);
    return out;
}

} // namespace

void SelectionHub::selectBefore(const QStringList& nodes) {
    select({nodes, m_snapshot ? m_snapshot->provenance.after(nodes) : QStringList(), {}});
}

void SelectionHub::selectAfter(const QStringList& nodes) {
    select({m_snapshot ? m_snapshot->provenance.before(nodes) : QStringList(), nodes, {}});
}

void SelectionHub::selectAny(const QStringList& nodes) {
    QStringList before = m_snapshot ? existing(nodes, *m_snapshot) : nodes;
    before.isEmpty() ? selectAfter(nodes) : selectBefore(before);
}

void SelectionHub::selectRule(const QString& rule) {
    Selection out;
    out.rule = rule;
    if (m_snapshot) {
        for (const app::GraphNodeReport& node : m_snapshot->report().after.graph.nodes)
            if (node.rule == rule.toStdString())
                out.after.append(QString::fromStdString(node.name));
        out.before = m_snapshot->provenance.before(out.after);
    }
    select(std::move(out));
}

void SelectionHub::selectValue(const QString& value) {
    select({{}, {}, {}, value});
}

void SelectionHub::clear() {
    select({});
}

void SelectionHub::goBack() {
    if (canGoBack())
        show(m_history[--m_position]);
}

void SelectionHub::goForward() {
    if (canGoForward())
        show(m_history[++m_position]);
}

void SelectionHub::setSnapshot(const SnapshotPtr& snapshot, bool sameModel) {
    bool otherModel = !snapshot || (m_snapshot ? m_snapshot->model != snapshot->model : !sameModel);
    m_snapshot = snapshot;
    if (otherModel) {
        m_history.clear();
        m_position = -1;
    }
    if (!snapshot || otherModel) {
        show({});
        return;
    }
    QStringList before = existing(m_selection.before, *snapshot);
    show({before, snapshot->provenance.after(before), m_selection.rule, m_selection.value});
}

void SelectionHub::select(Selection selection) {
    if (selection == m_selection)
        return;
    m_history.resize(m_position + 1);
    m_history.append(selection);
    if (m_history.size() > historyLength)
        m_history.removeFirst();
    m_position = m_history.size() - 1;
    show(std::move(selection));
}

void SelectionHub::show(Selection selection) {
    if (selection == m_selection)
        return;
    m_selection = std::move(selection);
    Q_EMIT changed(m_selection);
}

} // namespace fuselage::studio
