// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/steps/step_transport.h"

#include "app/report/format.h"
#include "app/studio/session/counted.h"

#include <QHBoxLayout>
#include <QToolButton>

namespace fuselage::studio {

namespace {

constexpr int playMilliseconds = 350;
const QString stepOwner = QStringLiteral("step");

/// The fused node that the step made as the report knows it; null for rewrites.
const app::MatchReport* matchOf(const app::Report& report, const app::StepReport& step) {
    for (const app::MatchReport& match : report.matches)
        for (const std::string& made : step.made)
            if (match.fusedNode == made)
                return &match;
    return nullptr;
}

QString bytes(int64_t value) {
    return QString::fromStdString(app::bytesText(value));
}

} // namespace

StepTransport::StepTransport(Workbench& workbench, QWidget* parent)
    : QWidget(parent), m_workbench(workbench), m_slider(new QSlider(Qt::Horizontal, this)),
      m_text(new SaidLabel(tr("what the step did"), this)) {
    m_slider->setAccessibleName(tr("step of the rewriting"));
    m_slider->setPageStep(1);
    m_text->setTextFormat(Qt::PlainText);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(4, 4, 4, 0);
    auto add = [&](const char* id, const QString& title, const QString& sign, const char* key,
                   auto run) {
        auto* button = new QToolButton(this);
        button->setDefaultAction(workbench.commands.add(
            {id, "Select", title, QKeySequence::listFromString(key), KeyScope::Canvas}, run));
        button->setText(sign);
        button->setAccessibleName(title);
        layout->addWidget(button);
    };
    add("step.previous", tr("Previous step"), QStringLiteral("◂"), "K",
        [this] { show(done() - 1); });
    add("step.play", tr("Play the steps"), QStringLiteral("▶"), "Shift+J", [this] { play(); });
    add("step.next", tr("Next step"), QStringLiteral("▸"), "J", [this] {
        show(m_workbench.marks.step() ? done() + 1 : 0); // the first press shows the beginning
    });
    add("step.leave", tr("Leave the steps"), QStringLiteral("×"), "Shift+K", [this] { leave(); });
    layout->addWidget(m_slider, 2);
    layout->addWidget(m_text, 3);
    m_timer.setInterval(playMilliseconds);
    connect(&m_timer, &QTimer::timeout, this,
            [this] { done() < count() ? show(done() + 1) : m_timer.stop(); });
    connect(m_slider, &QSlider::valueChanged, this, [this](int value) {
        if (!m_moving)
            show(value);
    });
    connect(&workbench.session, &Session::reportChanged, this, &StepTransport::take);
    take();
}

void StepTransport::take() {
    m_applied.clear();
    if (const app::Report* report = m_workbench.session.report())
        for (size_t i = 0; i < report->steps.size(); ++i)
            if (!report->steps[i].made.empty())
                m_applied.push_back(static_cast<int>(i));
    m_moving = true;
    m_slider->setRange(0, count());
    m_slider->setValue(m_workbench.marks.step() ? std::min(done(), count()) : count());
    m_moving = false;
    m_slider->setEnabled(count() > 0);
    if (m_workbench.marks.step())
        show(done());
    tell();
}

void StepTransport::show(int wanted) {
    const app::Report* report = m_workbench.session.report();
    if (!report || count() == 0)
        return;
    int done = std::clamp(wanted, 0, count());
    m_moving = true;
    m_slider->setValue(done);
    m_moving = false;
    int last = done > 0 ? m_applied[static_cast<size_t>(done) - 1] : -1;
    QList<NodeMark> marks;
    if (last >= 0)
        for (const std::string& made : report->steps[static_cast<size_t>(last)].made)
            marks.append({NodeMark::Kind::Gained, true, QString::fromStdString(made)});
    // All done is also what ends with nodes that no step made.
    m_workbench.marks.setStep(done == count() ? static_cast<int>(report->steps.size()) : last + 1);
    m_workbench.marks.set(stepOwner, marks);
    tell();
    Q_EMIT reached(last);
}

void StepTransport::play() {
    if (m_timer.isActive()) {
        m_timer.stop();
        return;
    }
    if (!m_workbench.marks.step() || done() == count())
        show(0);
    m_timer.start();
}

void StepTransport::leave() {
    m_timer.stop();
    m_moving = true;
    m_slider->setValue(count());
    m_moving = false;
    m_workbench.marks.setStep(std::nullopt);
    m_workbench.marks.set(stepOwner, {});
    tell();
}

void StepTransport::tell() {
    const app::Report* report = m_workbench.session.report();
    if (!report || count() == 0) {
        m_text->setText(tr("no rule changed the graph"));
        return;
    }
    if (!m_workbench.marks.step()) {
        m_text->setText(
            tr("%1; J replays them on the graph").arg(counted(count(), tr("step"), tr("steps"))));
        return;
    }
    int64_t launches = 0, saved = 0;
    for (int i = 0; i < done(); ++i)
        if (const auto* match = matchOf(
                *report, report->steps[static_cast<size_t>(m_applied[static_cast<size_t>(i)])])) {
            launches += match->launchesSaved();
            saved += match->bytesSaved();
        }
    QString text = tr("step %1 of %2").arg(done()).arg(count());
    if (done() > 0) {
        const auto& step =
            report->steps[static_cast<size_t>(m_applied[static_cast<size_t>(done()) - 1])];
        text += tr(" · %1").arg(QString::fromStdString(step.rule));
        if (const auto* match = matchOf(*report, step))
            text += tr(": −%1 launches, −%2")
                        .arg(match->launchesSaved())
                        .arg(bytes(match->bytesSaved()));
    }
    m_text->setText(text +
                    tr(" · so far −%1 launches, −%2 logical").arg(launches).arg(bytes(saved)));
}

} // namespace fuselage::studio
