// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/start_page.h"

#include "app/pipeline/backends.h"
#include "app/pipeline/machine.h"
#include "app/zoo/zoo.h"
#include "core/onnx/model_file.h"

#include <QDir>
#include <QFileInfo>
#include <QLocale>
#include <QStandardPaths>
#include <QVBoxLayout>

namespace fuselage::studio {

namespace {

constexpr const char* sampleModel = "resnet18";

QString hardwareText() {
    std::vector<app::BackendState> backends = app::inspectBackends();
    std::string used = app::usedBackend(backends);
    QString out = QObject::tr("Processor: %1\n").arg(text(app::inspectMachine()).c_str());
    for (const app::BackendState& backend : backends)
        if (backend.name != "reference")
            out += QStringLiteral("%1%2: %3\n")
                       .arg(backend.name.c_str(),
                            backend.name == used ? QObject::tr(" (used)") : QString(),
                            backend.text.c_str());
    return out.trimmed();
}

} // namespace

QString sampleFile() {
    return QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation) +
           QStringLiteral("/fuselage/%1.onnx").arg(sampleModel);
}

StartPage::StartPage(QWidget* parent)
    : QWidget(parent), m_recent(new QListWidget(this)), m_hardware(new QLabel(this)),
      m_sample(new QPushButton(tr("Open the sample (ResNet-18, needs no GPU)"), this)) {
    auto* title = new QLabel(tr("<h2>Fuselage Studio</h2>See a model before and after operator "
                                "fusion, and change the rules while looking."),
                             this);
    title->setWordWrap(true);
    auto* open = new QPushButton(tr("Open a model or rules ..."), this);
    auto* drop = new QLabel(tr("or drop an .onnx file, .fuse files, or both, anywhere here"), this);
    drop->setAlignment(Qt::AlignCenter);
    drop->setFrameStyle(QFrame::StyledPanel);
    drop->setMinimumHeight(70);
    m_recent->setAccessibleName(tr("recent files"));
    m_recent->setMaximumHeight(180);
    m_hardware->setAccessibleName(tr("what this machine has"));
    m_hardware->setWordWrap(true);
    m_hardware->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_hardware->setText(tr("looking for devices ..."));
    auto* column = new QVBoxLayout;
    column->addStretch(1);
    for (QWidget* each : {static_cast<QWidget*>(title), static_cast<QWidget*>(m_sample),
                          static_cast<QWidget*>(open), static_cast<QWidget*>(drop)})
        column->addWidget(each);
    column->addWidget(new QLabel(tr("Recent files"), this));
    column->addWidget(m_recent);
    column->addWidget(m_hardware);
    column->addStretch(2);
    auto* layout = new QHBoxLayout(this);
    layout->addStretch(1);
    layout->addLayout(column, 2);
    layout->addStretch(1);
    connect(open, &QPushButton::clicked, this, &StartPage::openWanted);
    connect(m_sample, &QPushButton::clicked, this, &StartPage::makeSample);
    connect(m_recent, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) {
        Q_EMIT filesWanted({item->data(Qt::UserRole).toString()});
    });
    connect(&m_inspection, &JobLane::busyChanged, this, [this](bool busy) {
        if (!busy)
            m_inspected = true;
    });
}

void StartPage::setRecent(const QStringList& paths) {
    m_recent->clear();
    for (const QString& path : paths) {
        const QFileInfo file(path);
        auto* item = new QListWidgetItem(
            tr("%1    %2    %3")
                .arg(file.fileName(), QLocale().toString(file.lastModified(), QLocale::ShortFormat),
                     QDir::toNativeSeparators(file.path())),
            m_recent);
        item->setData(Qt::UserRole, path);
        item->setToolTip(path);
        if (!file.exists()) {
            item->setText(tr("%1    (gone)    %2").arg(file.fileName(), file.path()));
            item->setForeground(palette().brush(QPalette::Disabled, QPalette::Text));
        }
    }
}

void StartPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    m_sample->setFocus(); // Enter shows the whole story
    if (m_inspected || m_inspection.busy())
        return;
    m_inspection.start([this](Progress&) -> JobLane::Delivery {
        QString text = hardwareText();
        return [this, text] { m_hardware->setText(text); };
    });
}

void StartPage::makeSample() {
    QString path = sampleFile();
    if (QFileInfo::exists(path)) {
        Q_EMIT filesWanted({path});
        return;
    }
    m_sample->setEnabled(false);
    m_lane.start([this, path](Progress&) -> JobLane::Delivery {
        QDir().mkpath(QFileInfo(path).path());
        auto graph = zoo::build(sampleModel);
        bool good = graph && model_io::save(*graph, path.toStdString());
        return [this, path, good] {
            m_sample->setEnabled(true);
            if (good)
                Q_EMIT filesWanted({path});
            else
                m_sample->setText(tr("the sample cannot be written to %1").arg(path));
        };
    });
}

} // namespace fuselage::studio
