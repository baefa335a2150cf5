// SPDX-License-Identifier: Apache-2.0
#include "app/studio/exports/headless.h"

#include "app/report/report_scene.h"
#include "app/studio/exports/export_format.h"
#include "app/studio/session/session.h"

#include <QEventLoop>
#include <QGuiApplication>
#include <cstdio>

namespace fuselage::studio {

namespace {

enum ExitCode { Ok = 0, Usage = 2, Input = 3, Resource = 6 };

int complain(const QString& text, int code) {
    std::fprintf(stderr, "fuselage-studio: %s\n", qPrintable(text));
    return code;
}

} // namespace

int exportHeadless(const QString& file, const QStringList& inputs, const DimensionValues& dims) {
    const ExportFormat* format = exportFormatOf(file);
    if (!format) {
        QStringList endings;
        for (const ExportFormat& each : exportFormats())
            endings << each.ending;
        return complain(QObject::tr("no format for `%1`: end the name in one of %2")
                            .arg(file, endings.join(", ")),
                        Usage);
    }
    const QStringList models = modelsAmong(inputs);
    if (models.size() != 1)
        return complain(models.isEmpty() ? QObject::tr("--export needs a model")
                                         : QObject::tr("--export takes one model, here are %1: %2")
                                               .arg(models.size())
                                               .arg(models.join(", ")),
                        Usage);
    Session session;
    SessionOptions options = session.options();
    options.fuse.dims = dims;
    session.setOptions(options);
    session.openFiles(inputs);
    QEventLoop loop;
    auto leave = [&] {
        if (!session.busy() && !session.pending())
            loop.quit();
    };
    QObject::connect(&session, &Session::busyChanged, &loop, leave, Qt::QueuedConnection);
    loop.exec();
    for (const Problem& note : session.notes())
        complain(QObject::tr("note: %1").arg(note.message), Ok);
    // A window says what is not there; a file would not.
    bool wrong = !session.snapshot();
    for (const Problem& problem : session.problems()) {
        complain(problem.file.isEmpty() ? problem.message
                                        : problem.file + QStringLiteral(": ") + problem.message,
                 Input);
        wrong = wrong || problem.severity == Severity::Error;
    }
    if (wrong)
        return complain(QObject::tr("`%1` is not written").arg(file), Input);
    const SnapshotPtr& snapshot = session.snapshot();
    auto drawing = std::make_shared<const Drawing>(app::sceneOf(snapshot->report(), {}));
    auto report = std::make_shared<const app::Report>(snapshot->report());
    ExportSource source{snapshot, report, drawing, {}, {}, QGuiApplication::palette()};
    if (auto written = format->write(source, file); !written)
        return complain(QString::fromStdString(written.error().text()), Resource);
    return Ok;
}

} // namespace fuselage::studio
