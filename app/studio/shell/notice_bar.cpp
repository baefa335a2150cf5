// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/notice_bar.h"

#include "app/studio/graph_view/colours.h"
#include "app/studio/graph_view/theme_watch.h"

#include <QApplication>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QStyle>
#include <algorithm>

namespace fuselage::studio {

namespace {

/// What helps against a kind of problem: a command of the table. The first prefix that fits.
struct Remedy {
    const char* code;
    const char* command;
    const char* title;
    const char* other = nullptr; ///< the command of a second button
    const char* otherTitle = nullptr;
};

constexpr Remedy remedies[] = {
    {"dim.", "run.dimensions", QT_TRANSLATE_NOOP("NoticeBar", "Dimensions ...")},
    {"load.sizes", "run.dimensions", QT_TRANSLATE_NOOP("NoticeBar", "Dimensions ...")},
    {"infer.", "run.dimensions", QT_TRANSLATE_NOOP("NoticeBar", "Other dimensions ...")},
    {"model.changed", "file.reload", QT_TRANSLATE_NOOP("NoticeBar", "Load it again")},
    {"model.gone", "file.open", QT_TRANSLATE_NOOP("NoticeBar", "Open another ...")},
    {"load.external", "file.reload", QT_TRANSLATE_NOOP("NoticeBar", "Try again")},
    {"load.", "file.open", QT_TRANSLATE_NOOP("NoticeBar", "Open another ...")},
    {"precision.", "run.options", QT_TRANSLATE_NOOP("NoticeBar", "Options ...")},
    {"measure.trial", "panel.runs", QT_TRANSLATE_NOOP("NoticeBar", "Show the runs")},
    {"measure.slower", "match.slower", QT_TRANSLATE_NOOP("NoticeBar", "Show them")},
    {"measure.nothing", "file.open", QT_TRANSLATE_NOOP("NoticeBar", "Open a model ...")},
    {"measure.stale", "panel.problems", QT_TRANSLATE_NOOP("NoticeBar", "Show Problems")},
    {"measure.sketch", "panel.problems", QT_TRANSLATE_NOOP("NoticeBar", "Show Problems")},
    {"measure.", "run.measure", QT_TRANSLATE_NOOP("NoticeBar", "Measure again")},
    {"errors.", "run.options", QT_TRANSLATE_NOOP("NoticeBar", "Options ...")},
    {"start.ended", "file.recent1", QT_TRANSLATE_NOOP("NoticeBar", "Open it")},
    {"unsaved.offered", "editor.recover", QT_TRANSLATE_NOOP("NoticeBar", "Restore"),
     "editor.discard", QT_TRANSLATE_NOOP("NoticeBar", "Throw away")},
    {"unsaved.kept", "editor.save", QT_TRANSLATE_NOOP("NoticeBar", "Save ...")},
    {"unsaved.write", "editor.saveAs", QT_TRANSLATE_NOOP("NoticeBar", "Save elsewhere ...")},
    {"save.", "file.export", QT_TRANSLATE_NOOP("NoticeBar", "Export again ...")},
};

const Remedy* remedyOf(const QString& code) {
    for (const Remedy& remedy : remedies)
        if (code.startsWith(QLatin1String(remedy.code)))
            return &remedy;
    return nullptr;
}

int weight(const Problem& problem) {
    return problem.severity == Severity::Error ? 2 : problem.severity == Severity::Warning ? 1 : 0;
}

/// What a person has just asked for stands beside errors.
int urgency(const Problem& problem) {
    return problem.code == "measure.trial" ? 2 : weight(problem);
}

} // namespace

NoticeBar::NoticeBar(Workbench& workbench, std::function<bool(const Problem&)> elsewhere,
                     QWidget* parent)
    : QFrame(parent), m_workbench(workbench), m_elsewhere(std::move(elsewhere)),
      m_icon(new QLabel(this)), m_text(new SaidLabel(tr("what should be known"), this)),
      m_button(new QPushButton(this)), m_other(new QPushButton(this)),
      m_more(new QToolButton(this)), m_close(new QToolButton(this)) {
    setObjectName("noticeBar");
    setAutoFillBackground(true);
    setFrameStyle(QFrame::StyledPanel);
    m_text->setObjectName("noticeText");
    m_text->setWordWrap(true);
    m_text->setTextFormat(Qt::RichText);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_button->setObjectName("noticeButton");
    m_button->setText(tr("Show the line"));
    m_other->setObjectName("noticeOther");
    m_other->setText(tr("Leave it"));
    m_more->setAccessibleName(tr("all problems"));
    m_close->setText(QStringLiteral("×"));
    m_close->setAccessibleName(tr("hide this notice"));
    m_close->setToolTip(m_close->accessibleName());
    for (QToolButton* each : {m_more, m_close})
        each->setAutoRaise(true);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(8, 4, 4, 4);
    layout->addWidget(m_icon);
    layout->addWidget(m_text, 1);
    layout->addWidget(m_button);
    layout->addWidget(m_other);
    layout->addWidget(m_more);
    layout->addWidget(m_close);
    connect(m_button, &QPushButton::clicked, this, &NoticeBar::act);
    connect(m_other, &QPushButton::clicked, this, [this] { trigger(m_otherCommand); });
    connect(m_close, &QToolButton::clicked, this, &NoticeBar::dismiss);
    connect(m_more, &QToolButton::clicked, this, [this] {
        if (QAction* problems = m_workbench.commands.find("panel.problems"))
            problems->trigger();
    });
    connect(&workbench.session, &Session::problemsChanged, this, &NoticeBar::refresh);
    whenThemeChanges(*this, [this] { refresh(); });
    hide();
}

QString NoticeBar::keyOf(const Problem& problem) {
    return problem.code + '\n' + problem.file + '\n' + problem.message;
}

void NoticeBar::dismiss() {
    if (m_shown)
        m_dismissed.insert(keyOf(*m_shown));
    refresh();
}

/// The gravest that was not put away; of equal ones that which came last.
void NoticeBar::refresh() {
    const Session& session = m_workbench.session;
    const QList<Problem> all = session.problems() + session.notes();
    QHash<QString, int> present;
    for (const Problem& each : all) {
        const QString key = keyOf(each);
        const auto known = m_came.constFind(key);
        present.insert(key, known == m_came.constEnd() ? ++m_last : *known);
    }
    m_came = present;
    m_dismissed.removeIf([&](const QString& key) { return !present.contains(key); });
    const Problem* best = nullptr;
    qsizetype count = 0;
    for (const Problem& each : all) {
        const bool offer = each.code == "load.sizes" || each.code == "measure.trial";
        if (m_dismissed.contains(keyOf(each)) || m_elsewhere(each) ||
            (each.severity == Severity::Note && !offer) || each.code.startsWith("layout."))
            continue;
        ++count;
        const auto isBefore = [&](const Problem& other) {
            return std::pair(urgency(other), m_came[keyOf(other)]) <
                   std::pair(urgency(each), m_came[keyOf(each)]);
        };
        if (best == nullptr || isBefore(*best))
            best = &each;
    }
    if (best == nullptr) {
        m_shown.reset();
        return hide();
    }
    say(*best, count - 1);
}

void NoticeBar::say(const Problem& problem, qsizetype others) {
    m_shown = problem;
    QString message = problem.message.toHtmlEscaped();
    const Session& session = m_workbench.session;
    const QString file = QFileInfo(problem.file.section(QStringLiteral(": "), 0, 0)).fileName();
    if (!file.isEmpty() && !message.contains(file.toHtmlEscaped()))
        message.prepend(file.toHtmlEscaped() + QStringLiteral(": "));
    QString text = QStringLiteral("<b>%1</b>").arg(message);
    if (!problem.fix.isEmpty())
        text += tr(" &nbsp;%1").arg(problem.fix.toHtmlEscaped());
    if (session.sketch() && !session.previewing() && weight(problem) == 2)
        text += tr(" <i>The graph is shown as the file has it; what needs more is not known.</i>");
    m_text->setText(text);
    const Remedy* remedy = remedyOf(problem.code);
    // Sizes help only where some are open.
    if (remedy && QLatin1String(remedy->command) == "run.dimensions" &&
        session.openDimensions().isEmpty())
        remedy = nullptr;
    m_command = remedy ? QString::fromLatin1(remedy->command) : QString();
    m_button->setText(remedy ? tr(remedy->title) : tr("Show the line"));
    m_button->setAccessibleName(m_button->text());
    m_button->setVisible(remedy || problem.line > 0);
    const bool two = remedy && remedy->other;
    m_otherCommand = two ? QString::fromLatin1(remedy->other) : QString();
    if (two)
        m_other->setText(tr(remedy->otherTitle));
    m_other->setAccessibleName(m_other->text());
    m_other->setVisible(two);
    m_more->setText(tr("%1 more").arg(others));
    m_more->setVisible(others > 0);
    const auto icon = weight(problem) == 2   ? QStyle::SP_MessageBoxCritical
                      : weight(problem) == 1 ? QStyle::SP_MessageBoxWarning
                                             : QStyle::SP_MessageBoxInformation;
    const int size = style()->pixelMetric(QStyle::PM_SmallIconSize);
    m_icon->setPixmap(style()->standardIcon(icon).pixmap(size, size));
    QPalette own; // the rest follows the application's
    const Colours colours(QApplication::palette());
    const char* tint = weight(problem) == 2   ? "loss"
                       : weight(problem) == 1 ? "tunnel.line"
                                              : "accent";
    own.setColor(QPalette::Window, mixed(colours["background"], colours[tint], 0.14));
    own.setColor(QPalette::WindowText, colours["text"]);
    setPalette(own);
    setVisible(true);
}

void NoticeBar::act() {
    if (!m_shown)
        return;
    if (m_command.isEmpty()) {
        Q_EMIT m_workbench.session.placeWanted(m_shown->file, m_shown->line);
        return;
    }
    trigger(m_command);
}

void NoticeBar::trigger(const QString& command) {
    if (QAction* action = m_workbench.commands.find(command))
        action->trigger();
}

} // namespace fuselage::studio
