// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/start_page.h"

#include "app/pipeline/backends.h"
#include "app/pipeline/machine.h"
#include "app/studio/item_models/plain_tip.h"
#include "app/studio/session/sample_model.h"
#include "app/studio/shell/thumbnails.h"

#include <QDir>
#include <QFileInfo>
#include <QLocale>
#include <QVBoxLayout>

namespace fuselage::studio {

namespace {

struct Sample {
    const char* model; ///< of the zoo
    const char* title;
};

constexpr Sample samples[] = {
    {"resnet18", "Open the sample (ResNet-18, needs no GPU)"},
    {"mobilenet_v3_large", "MobileNetV3"},
    {"unet", "U-Net"},
};

/// What a newcomer wants to know; the rest is in the tool tip.
struct Hardware {
    QString text, details;
};

Hardware inspectHardware() {
    const std::vector<app::BackendState> backends = app::inspectBackends();
    const std::string used = app::usedBackend(backends);
    const app::MachineInfo machine = app::inspectMachine();
    Hardware out;
    out.details = QString::fromStdString(text(machine));
    bool gpu = false;
    for (const app::BackendState& backend : backends) {
        gpu = gpu || (backend.name == "cuda" && backend.usable);
        if (backend.name != "reference")
            out.details += QStringLiteral("\n%1%2: %3")
                               .arg(backend.name.c_str(),
                                    backend.name == used ? QObject::tr(" (used)") : QString(),
                                    backend.text.c_str());
    }
    out.text = QObject::tr("Processor: %1, %2; measures on the %3")
                   .arg(machine.cpu.c_str(),
                        machine.cores == 1 ? QObject::tr("1 core")
                                           : QObject::tr("%1 cores").arg(machine.cores),
                        gpu ? QObject::tr("GPU") : QObject::tr("processor: no NVIDIA GPU found"));
    return out;
}

} // namespace

StartPage::StartPage(QWidget* parent)
    : QWidget(parent), m_recent(new QTreeWidget(this)),
      m_hardware(new SaidLabel(tr("what this machine has"), this)), m_samples(new QHBoxLayout) {
    for (const Sample& sample : samples) {
        auto* button = new QPushButton(tr(sample.title), this);
        m_samples->addWidget(button, m_samples->count() == 0 ? 1 : 0);
        connect(button, &QPushButton::clicked, this,
                [this, button, model = QString(sample.model)] { makeSample(*button, model); });
        if (!m_sample)
            m_sample = button;
    }
    auto* tour = new QPushButton(tr("Tour"), this);
    tour->setToolTip(tr("worked examples, each with its model and rule"));
    connect(tour, &QPushButton::clicked, this, &StartPage::tourWanted);
    m_samples->addWidget(tour);
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
    m_recent->setHeaderLabels({tr("Model"), tr("Changed"), tr("Folder")});
    m_recent->setRootIsDecorated(false);
    m_recent->setAllColumnsShowFocus(true);
    m_recent->setUniformRowHeights(true);
    m_recent->setIconSize({Thumbnails::width, Thumbnails::height});
    m_recent->setTextElideMode(Qt::ElideMiddle);
    m_recent->setMinimumHeight(120);
    m_hardware->setWordWrap(true);
    m_hardware->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_hardware->setText(tr("looking for devices ..."));
    auto* column = new QVBoxLayout;
    column->addStretch(1);
    column->addWidget(title);
    column->addLayout(m_samples);
    column->addWidget(open);
    column->addWidget(drop);
    column->addWidget(new QLabel(tr("Recent files"), this));
    column->addWidget(m_recent, 6);
    column->addWidget(m_hardware);
    column->addStretch(1);
    auto* layout = new QHBoxLayout(this);
    layout->addStretch(1);
    layout->addLayout(column, 4);
    layout->addStretch(1);
    setTabOrder(m_sample, open); // the first sample and a model of one's own come before the rest
    connect(open, &QPushButton::clicked, this, &StartPage::openWanted);
    connect(m_recent, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
        Q_EMIT filesWanted({item->data(0, Qt::UserRole).toString()});
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
        const bool there = file.exists();
        auto* item = new QTreeWidgetItem(
            m_recent,
            {file.fileName(),
             there ? QLocale().toString(file.lastModified(), QLocale::ShortFormat) : tr("gone"),
             QDir::toNativeSeparators(file.path())});
        item->setData(0, Qt::UserRole, path);
        for (int column = 0; column < m_recent->columnCount(); ++column) {
            item->setToolTip(column, plainTip(path));
            if (!there)
                item->setForeground(column, palette().brush(QPalette::Disabled, QPalette::Text));
        }
    }
    if (isVisible())
        showPictures();
}

/// Those that are there; a frame where there is none, so that names stand in one line.
void StartPage::showPictures() {
    QPixmap none(m_recent->iconSize());
    none.fill(palette().color(QPalette::AlternateBase));
    for (int row = 0; row < m_recent->topLevelItemCount(); ++row) {
        QTreeWidgetItem* item = m_recent->topLevelItem(row);
        QPixmap picture(Thumbnails::fileOf(item->data(0, Qt::UserRole).toString()));
        item->setIcon(0, picture.isNull() ? none : picture);
    }
    for (int column = 0; column < m_recent->columnCount(); ++column)
        m_recent->resizeColumnToContents(column);
}

void StartPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    showPictures();
    m_sample->setFocus(); // Enter shows the whole story
    if (m_inspected || m_inspection.busy())
        return;
    m_inspection.start([this](Progress&) -> JobLane::Delivery {
        const Hardware found = inspectHardware();
        return [this, found] {
            m_hardware->setText(found.text);
            m_hardware->setToolTip(found.details);
        };
    });
}

void StartPage::makeSample(QPushButton& button, const QString& model) {
    QString path = sampleFile(model);
    if (QFileInfo::exists(path)) {
        Q_EMIT filesWanted({path});
        return;
    }
    for (int i = 0; i < m_samples->count(); ++i) // a later click takes the place of this one
        m_samples->itemAt(i)->widget()->setEnabled(true);
    button.setEnabled(false);
    m_lane.start([this, path, model, &button](Progress&) -> JobLane::Delivery {
        const bool good = studio::makeSample(model);
        return [this, path, good, &button] {
            button.setEnabled(true);
            if (good)
                Q_EMIT filesWanted({path});
            else
                button.setText(tr("the sample cannot be written to %1").arg(path));
        };
    });
}

} // namespace fuselage::studio
