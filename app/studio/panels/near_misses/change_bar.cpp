// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/near_misses/change_bar.h"

#include <QHBoxLayout>

namespace fuselage::studio {

ChangeBar::ChangeBar(Workbench& workbench, ChangeTrial& trial, QWidget* parent)
    : QWidget(parent), m_trial(trial), m_cancel(new QToolButton(this)),
      m_progress(new QProgressBar(this)), m_text(new QLabel(this)) {
    m_try = workbench.commands.add({"miss.try",
                                    "Rules",
                                    tr("Try what might change this near miss"),
                                    {QKeySequence("Ctrl+Alt+T")}},
                                   [this] {
                                       if (m_chosen)
                                           m_trial.start(*m_chosen);
                                   });
    auto* start = new QToolButton(this);
    start->setDefaultAction(m_try);
    start->setText(tr("Try it"));
    start->setAccessibleName(m_try->text());
    m_cancel->setText(tr("Stop"));
    m_cancel->setAccessibleName(tr("stop trying"));
    connect(m_cancel, &QToolButton::clicked, &trial, &ChangeTrial::cancel);
    m_progress->setAccessibleName(tr("progress of the trial"));
    m_progress->setMaximumWidth(200);
    m_text->setObjectName("triedText");
    m_text->setTextFormat(Qt::PlainText);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(start);
    row->addWidget(m_cancel);
    row->addWidget(m_progress);
    row->addWidget(m_text, 1);
    connect(&trial, &ChangeTrial::changed, this, &ChangeBar::show);
    connect(&trial, &ChangeTrial::found, this, &ChangeBar::show);
    connect(&trial, &ChangeTrial::progressed, this,
            [this](const QString& stage, qulonglong done, qulonglong total) {
                m_progress->setFormat(stage);
                m_progress->setRange(0, static_cast<int>(total));
                m_progress->setValue(static_cast<int>(done));
            });
    show();
}

void ChangeBar::choose(std::optional<size_t> miss) {
    m_chosen = miss;
    show();
}

void ChangeBar::show() {
    const bool running = m_trial.running(), possible = m_chosen && m_trial.possible(*m_chosen);
    m_try->setEnabled(possible && !running);
    m_cancel->setVisible(running);
    m_progress->setVisible(running);
    if (!running)
        m_progress->setRange(0, 0);
    const TriedChange* tried = m_chosen ? m_trial.tried(*m_chosen) : nullptr;
    m_text->setText(running    ? tr("the rules are tried with the change ...")
                    : tried    ? textOf(*tried)
                    : possible ? tr("not tried yet: the model is fused once more with the change")
                    : m_chosen ? tr("no change of the rule's text is known that could be tried")
                               : tr("choose a row: what might change it can be tried"));
}

} // namespace fuselage::studio
