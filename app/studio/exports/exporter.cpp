// SPDX-License-Identifier: Apache-2.0
#include "app/studio/exports/exporter.h"

#include "app/report/render.h"
#include "app/studio/exports/export_format.h"
#include "app/studio/exports/picture_dialog.h"
#include "app/studio/item_models/table_export.h"
#include "app/studio/panels/table_panel.h"
#include "app/studio/workbench/file_dialogs.h"
#include "core/support/file.h"

#include <QClipboard>
#include <QDockWidget>
#include <QFileInfo>
#include <QGuiApplication>
#include <QRegularExpression>
#include <QStatusBar>

namespace fuselage::studio {

Exporter::Exporter(Workbench& workbench, CanvasPair& canvases, QMainWindow& window)
    : QObject(&window), m_workbench(workbench), m_canvases(canvases), m_window(window) {
    connect(this, &Exporter::written, &window, [&window](const QString& path) {
        window.statusBar()->showMessage(tr("written: %1").arg(path), 5000);
    });
}

void Exporter::ask() {
    if (!m_workbench.session.snapshot())
        return m_window.statusBar()->showMessage(tr("open a model first: Ctrl+O"), 5000);
    static const QRegularExpression count(QStringLiteral(" \\(\\d+\\)$")); // "Problems (3)"
    QList<QPair<QString, QString>> tables;
    for (QDockWidget* dock : m_window.findChildren<QDockWidget*>())
        if (qobject_cast<TablePanel*>(dock->widget()))
            tables.append({dock->objectName(), dock->windowTitle().remove(count)});
    auto* dialog = new ExportDialog(
        tables, [this](const ExportChoice& choice) { return commandOf(choice); }, &m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] { askWhere(dialog->choice()); });
    dialog->open();
}

/// The name that is proposed for the file.
QString Exporter::nameOf(const ExportChoice& choice) const {
    const QString model = QFileInfo(m_workbench.session.modelPath()).completeBaseName();
    return (choice.ending == ".onnx" ? model + ".fused" : model) + choice.ending;
}

/// Tables are as a person sorted and filtered them: no command knows how.
QString Exporter::commandOf(const ExportChoice& choice) const {
    const Session& session = m_workbench.session;
    const Measurements& measurements = m_workbench.measurements;
    const QString &model = session.modelPath(), name = nameOf(choice);
    const auto& reports = app::reportFormats();
    const bool report = std::any_of(reports.begin(), reports.end(), [&](const auto& format) {
        return choice.ending == format.ending;
    });
    if (choice.format < 0)
        return {};
    if (choice.ending == ".onnx")
        return measurements.command("fuselage", fuseArguments(model, session.options(), name));
    if (choice.ending == ".fuseplan")
        return measurements.command("fuselage",
                                    fuseArguments(model, session.options(), name, "--plan-out"));
    if (report) {
        QStringList words = benchArguments(model, session.options(), measurements.settings());
        if (!session.measured())
            words << "--no-measure";
        return measurements.command("fuselage", words << "--report" << name);
    }
    const QStringList drawing = drawingArguments(model, session.options(), name);
    return drawing.isEmpty() ? QString() : measurements.command("fuselage-studio", drawing);
}

void Exporter::askWhere(const ExportChoice& choice) {
    askSaveFile(&m_window, tr("Export: %1").arg(choice.title), nameOf(choice), {},
                [this, choice](const QString& path) {
                    if (choice.format < 0)
                        writeTable(choice.panel, path);
                    else
                        writeAs(exportFormats()[static_cast<size_t>(choice.format)],
                                QFileInfo(path).suffix().isEmpty() ? path + choice.ending : path);
                });
}

bool Exporter::writeFile(const QString& path) {
    const ExportFormat* format = exportFormatOf(path);
    return format && writeAs(*format, path);
}

/// What is open, as other people are to see it; none: nothing is.
std::optional<ExportSource> Exporter::source() const {
    const Session& session = m_workbench.session;
    Canvas &before = m_canvases.canvas(scene::Before), &after = m_canvases.canvas(scene::After);
    if (!session.snapshot() || !before.drawing())
        return std::nullopt;
    return ExportSource{session.snapshot(),
                        session.sharedReport(),
                        before.drawing(),
                        withoutSelection(before.style()),
                        withoutSelection(after.style()),
                        m_canvases.palette()};
}

bool Exporter::writeAs(const ExportFormat& format, const QString& path) {
    const std::optional<ExportSource> from = source();
    if (!from)
        return false;
    start(path, [write = format.write, from, path] { return write(*from, path); });
    return true;
}

bool Exporter::writePicture(const PictureChoice& choice, const QString& path) {
    const std::optional<ExportSource> from = source();
    if (!from)
        return false;
    start(path, [choice, from, path] { return studio::writePicture(choice, *from, path); });
    return true;
}

bool Exporter::copyPicture(const PictureChoice& choice) {
    const std::optional<ExportSource> from = source();
    if (!from)
        return false;
    m_workbench.session.removeProblems(QStringLiteral("save."));
    m_lane.start([this, choice, from](Progress&) -> JobLane::Delivery {
        auto made = makePicture(choice, *from);
        return [this, made = std::move(made)] {
            if (!made)
                return m_workbench.session.addProblem(problemOf(made.error(), {}));
            QGuiApplication::clipboard()->setImage(*made);
            m_window.statusBar()->showMessage(tr("the picture is on the clipboard: %1 x %2")
                                                  .arg(made->width())
                                                  .arg(made->height()),
                                              5000);
            Q_EMIT copied();
        };
    });
    return true;
}

void Exporter::askPicture() {
    if (!source())
        return m_window.statusBar()->showMessage(tr("open a model first: Ctrl+O"), 5000);
    PictureChoice views[2];
    scene::Side focused = scene::Before;
    for (scene::Side side : {scene::Before, scene::After}) {
        Canvas& canvas = m_canvases.canvas(side);
        PictureChoice& view = views[side == scene::Before ? 0 : 1];
        view.side = side;
        view.view = canvas.viewport();
        view.canvas = canvas.size();
        if (canvas.hasFocus())
            focused = side;
    }
    auto* dialog =
        new PictureDialog(m_canvases.canvas(scene::Before).drawing(), views, focused, &m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &PictureDialog::copyWanted, this,
            [this, dialog] { copyPicture(dialog->choice()); });
    connect(dialog, &QDialog::accepted, this, [this, dialog] {
        const PictureChoice choice = dialog->choice();
        const QString ending = choice.svg ? QStringLiteral(".svg") : QStringLiteral(".png");
        const QString name =
            QFileInfo(m_workbench.session.modelPath()).completeBaseName() +
            (choice.side == scene::Before ? QStringLiteral(".before") : QStringLiteral(".after"));
        askSaveFile(&m_window, tr("Export picture"), name + ending, {},
                    [this, choice, ending](const QString& path) {
                        writePicture(choice,
                                     QFileInfo(path).suffix().isEmpty() ? path + ending : path);
                    });
    });
    dialog->open();
}

bool Exporter::writeTable(const QString& panel, const QString& path) {
    auto* dock = m_window.findChild<QDockWidget*>(panel);
    auto* table = dock ? qobject_cast<TablePanel*>(dock->widget()) : nullptr;
    if (!table)
        return false;
    TableFormat format = path.endsWith(".md") ? TableFormat::Markdown : TableFormat::Csv;
    std::string text = exportTable(table->visibleRows(), format).toStdString();
    start(path, [text, path] { return fuselage::writeFile(text, path.toStdString()); });
    return true;
}

void Exporter::start(const QString& path, std::function<Result<void>()> work) {
    m_workbench.session.removeProblems(QStringLiteral("save."));
    m_lane.start([this, path, work = std::move(work)](Progress&) -> JobLane::Delivery {
        auto done = work();
        std::optional<Problem> problem;
        if (!done)
            problem = problemOf(done.error(), path);
        return [this, path, problem] {
            if (problem)
                m_workbench.session.addProblem(*problem);
            else
                Q_EMIT written(path);
        };
    });
}

} // namespace fuselage::studio
