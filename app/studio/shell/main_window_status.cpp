// SPDX-License-Identifier: Apache-2.0
// The window's status line: numbers before -> after, what is being done and for how long.
#include "app/studio/session/counted.h"
#include "app/studio/shell/main_window.h"
#include "app/studio/shell/status_text.h"

#include <QStatusBar>

namespace fuselage::studio {

void MainWindow::addStatusLine() {
    m_numbers = new SaidLabel(tr("numbers before and after fusion"), this);
    m_numbers->setObjectName("numbers");
    m_numbers->setTextFormat(Qt::RichText);
    m_numbers->setToolTip(tr("± is half of the 95 % interval of the median of one run, which holds "
                             "within that run: on a busy machine the next one may lie elsewhere"));
    m_progress = new QProgressBar(this);
    m_progress->setAccessibleName(tr("progress"));
    m_progress->setMaximumWidth(220);
    m_cancel = new QToolButton(this);
    m_cancel->setDefaultAction(m_commands.find("work.cancel"));
    m_cancel->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    statusBar()->addWidget(m_numbers, 1);
    statusBar()->addPermanentWidget(m_progress);
    statusBar()->addPermanentWidget(m_cancel);
    m_progress->hide();
    m_cancel->hide();
    auto showBusy = [this] {
        bool busy = m_session.busy() || m_measurements.running();
        m_progress->setVisible(busy);
        m_cancel->setVisible(busy);
        m_progress->setRange(0, 0);
        if (!m_measurements.running())
            statusBar()->clearMessage();
    };
    connect(&m_session, &Session::busyChanged, this, showBusy);
    connect(&m_session, &Session::busyChanged, this, &MainWindow::showNumbers);
    connect(&m_measurements, &Measurements::runningChanged, this, showBusy);
    m_clock.setInterval(500);
    connect(&m_clock, &QTimer::timeout, this, &MainWindow::showMeasuring);
    connect(&m_measurements, &Measurements::runningChanged, this, [this](bool running) {
        if (running) {
            m_stage = tr("measuring");
            m_since.start();
            m_clock.start();
        } else if (m_clock.isActive()) {
            m_clock.stop();
            m_took[m_session.modelPath()] = m_since.elapsed();
        }
    });
    connect(&m_measurements, &Measurements::progressed, this, [this](const QString& stage) {
        m_stage = stage;
        showMeasuring();
    });
    connect(&m_session, &Session::progressed, this,
            [this](const QString& stage, qulonglong done, qulonglong total) {
                m_progress->setFormat(stage);
                m_progress->setRange(0, total ? 1000 : 0);
                m_progress->setValue(total ? static_cast<int>(1000 * done / total) : 0);
            });
}

void MainWindow::showNumbers() {
    const app::Report* report = m_session.report();
    if (m_session.previewing())
        return m_numbers->setText(
            m_session.busy() ? tr("%1 nodes; being analysed ...").arg(report->before.nodes)
                             : tr("%1 nodes; not analysed: it was cancelled, Ctrl+R begins anew")
                                   .arg(report->before.nodes));
    if (m_session.sketch())
        return m_numbers->setText(tr("%1; not analysed: see the notice above the graph")
                                      .arg(counted(static_cast<qsizetype>(report->before.nodes),
                                                   tr("node"), tr("nodes"))));
    m_numbers->setText(report ? statusText(*report, m_session.stale(), m_session.measurementStale(),
                                           Colours(palette()))
                       : m_session.busy() ? tr("opening ...")
                                          : tr("open a model: Ctrl+O, or drop a file here"));
}

/// What is measured now, for how long; and how long it took the last time.
void MainWindow::showMeasuring() {
    constexpr double milli = 1e-3;
    const auto elapsed = static_cast<double>(m_since.elapsed()) * milli;
    const double before = static_cast<double>(m_took.value(m_session.modelPath())) * milli;
    QString text = tr("%1, %2 s").arg(m_stage).arg(elapsed, 0, 'f', 0);
    if (before > 0)
        text += tr(" of about %1 s").arg(std::max(before, elapsed), 0, 'f', 0);
    m_progress->setRange(0, before > 0 ? 100 : 0);
    m_progress->setValue(before > 0 ? static_cast<int>(std::min(99.0, 100 * elapsed / before)) : 0);
    m_progress->setFormat(text);
    statusBar()->showMessage(tr("%1; %2").arg(text, loadText()));
}

void MainWindow::measure() {
    m_measurements.start();
    if (m_measurements.running())
        statusBar()->showMessage(
            tr("measuring with backend %1; %2").arg(m_measurements.settings().backend, loadText()));
}

} // namespace fuselage::studio
