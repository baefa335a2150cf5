// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/editor/match_strip.h"

#include "app/report/format.h"
#include "app/studio/graph_view/colours.h"
#include "app/studio/graph_view/theme_watch.h"
#include "app/studio/item_models/words.h"
#include "core/rewrite/left_out.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QSet>

namespace fuselage::studio {

namespace {

const QString editOwner = QStringLiteral("changes");

QStringList listOf(const std::vector<std::string>& names) {
    QStringList out;
    for (const std::string& name : names)
        out.append(QString::fromStdString(name));
    return out;
}

} // namespace

MatchStrip::MatchStrip(Workbench& workbench, RuleTexts& texts, QWidget* parent)
    : QWidget(parent), m_workbench(workbench), m_texts(texts),
      m_text(new SaidLabel(tr("what the rules change"), this)), m_previous(new QToolButton(this)),
      m_next(new QToolButton(this)) {
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(6, 2, 6, 2);
    layout->addWidget(m_text, 1);
    layout->addWidget(m_previous);
    layout->addWidget(m_next);
    m_text->setObjectName("matchStrip");
    m_text->setTextFormat(Qt::PlainText);
    m_previous->setDefaultAction(workbench.commands.add(
        {"rules.previousChange", "Rules", tr("Previous change"), {QKeySequence("Ctrl+Alt+Up")}},
        [this] { step(-1); }));
    m_next->setDefaultAction(workbench.commands.add(
        {"rules.nextChange", "Rules", tr("Next change"), {QKeySequence("Ctrl+Alt+Down")}},
        [this] { step(1); }));
    connect(&workbench.session, &Session::snapshotChanged, this, &MatchStrip::take);
    connect(&workbench.session, &Session::problemsChanged, this, &MatchStrip::show);
    connect(&workbench.session, &Session::staleChanged, this, &MatchStrip::show);
    connect(&texts, &RuleTexts::stateChanged, this, [this] {
        if (!m_texts.anyModified() && !m_workbench.session.stale())
            take(m_workbench.session.snapshot(), nullptr);
    });
    whenThemeChanges(*this, [this] { show(); });
    take(workbench.session.snapshot(), nullptr);
}

void MatchStrip::take(const SnapshotPtr& now, const SnapshotPtr& previous) {
    m_changes = {};
    m_at = -1;
    if (!now) {
        show();
        return;
    }
    if (!m_texts.anyModified() || (m_baseline && m_baseline->model != now->model))
        m_baseline = now;
    else if (!m_baseline)
        m_baseline = previous ? previous : now;
    m_changes = changesBetween(m_baseline->report(), now->report());
    mark();
    show();
}

void MatchStrip::mark() {
    QList<NodeMark> marks;
    QSet<QString> gained;
    for (const app::MatchReport& match : m_changes.gained) {
        marks.append({NodeMark::Kind::Gained, true, QString::fromStdString(match.fusedNode)});
        for (const QString& node : listOf(match.nodes)) {
            marks.append({NodeMark::Kind::Gained, false, node});
            gained.insert(node);
        }
    }
    for (const app::MatchReport& match : m_changes.lost)
        for (const QString& node : listOf(match.nodes))
            if (!gained.contains(node))
                marks.append({NodeMark::Kind::Lost, false, node});
    m_workbench.marks.set(editOwner, marks);
}

void MatchStrip::show() {
    const Session& session = m_workbench.session;
    qsizetype errors = 0;
    for (const Problem& problem : session.problems())
        errors += problem.severity == Severity::Error &&
                  (problem.line > 0 || problem.code.startsWith("rules."));
    QString text;
    if (!session.snapshot())
        text = tr("open a model to see what the rules match");
    else if (errors > 0 && !session.stale())
        text = errors == 1 ? tr("rules with errors are left out (1 error)")
                           : tr("rules with errors are left out (%1 errors)").arg(errors);
    else if (errors > 0)
        text =
            tr("stale: the rules have errors (%1); what is shown is of the last rules that could "
               "be matched")
                .arg(errors);
    else
        text = tr("matches %1 → %2, gained %3, lost %4")
                   .arg(m_changes.before)
                   .arg(m_changes.now)
                   .arg(m_changes.gained.size())
                   .arg(m_changes.lost.size()) +
               savings() + leftOut();
    if (errors == 0 && session.stale())
        text += tr(" (matching ...)");
    m_text->setText(text);
    QPalette own; // the rest follows the application's
    const QPalette theme = QApplication::palette();
    if (session.stale()) // set back, and still to be read
        own.setColor(QPalette::WindowText, legible(Colours(theme)[errors > 0 ? "loss" : "text.dim"],
                                                   theme.color(QPalette::Window)));
    m_text->setPalette(own);
    m_previous->defaultAction()->setEnabled(m_changes.any());
    m_next->defaultAction()->setEnabled(m_changes.any());
}

/// What the rules are worth against those that are saved: fewer matches may save more.
QString MatchStrip::savings() const {
    if (!m_changes.any() || !m_baseline || !m_workbench.session.snapshot())
        return {};
    const app::SideReport& was = m_baseline->report().after;
    const app::SideReport& now = m_workbench.session.snapshot()->report().after;
    const auto change = [](const QString& what, const std::string& from, const std::string& to) {
        return QStringLiteral("  ·  %1 %2 → %3").arg(what, words(from), words(to));
    };
    return change(tr("launches"), std::to_string(was.launches), std::to_string(now.launches)) +
           change(tr("bytes"), app::bytesText(was.traffic.logical()),
                  app::bytesText(now.traffic.logical())) +
           change(tr("time"), app::secondsText(was.predictedSeconds),
                  app::secondsText(now.predictedSeconds)) +
           tr(" predicted");
}

/// Places of complete matches of rules that are open here which the cost model did not take.
QString MatchStrip::leftOut() const {
    qsizetype count = 0;
    for (const TraceEvent* place : leftOutPlaces(m_workbench.session.snapshot()->analysis.trace)) {
        const RuleText* text = m_texts.find(QString::fromStdString(place->file));
        count += text && !text->builtin ? 1 : 0;
    }
    if (count == 0)
        return {};
    return QStringLiteral("  ·  ") +
           (count == 1
                ? tr("1 match is left out: it would save no time (Options)")
                : tr("%1 matches are left out: they would save no time (Options)").arg(count));
}

void MatchStrip::step(int direction) {
    int gained = static_cast<int>(m_changes.gained.size());
    int count = gained + static_cast<int>(m_changes.lost.size());
    if (count == 0)
        return;
    m_at = m_at < 0 ? (direction > 0 ? 0 : count - 1) : (m_at + direction + count) % count;
    if (m_at < gained)
        m_workbench.selection.selectAfter(
            {QString::fromStdString(m_changes.gained[static_cast<size_t>(m_at)].fusedNode)});
    else
        m_workbench.selection.selectBefore(
            listOf(m_changes.lost[static_cast<size_t>(m_at - gained)].nodes));
}

} // namespace fuselage::studio
