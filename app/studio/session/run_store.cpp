// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/run_store.h"

#include "app/report/json_read.h"

#include <QDataStream>
#include <QDir>
#include <QSaveFile>

namespace fuselage::studio {

namespace {

constexpr quint32 magic = 0x46525531; ///< "FRU1"
constexpr int mostKept = 30;
constexpr qint64 largest = 64 << 20; ///< bytes of a file that is read

QStringList filesIn(const QString& folder) {
    return QDir(folder).entryList({QStringLiteral("*.run")}, QDir::Files, QDir::Name);
}

} // namespace

bool RunStore::keep(const Run& run, const QByteArray& json) const {
    QDir folder(m_folder);
    if (!folder.mkpath(QStringLiteral(".")))
        return false;
    // Names sort by time.
    QSaveFile file(folder.filePath(
        run.when.toUTC().toString(QStringLiteral("yyyyMMdd-HHmmss-zzz")) + QStringLiteral(".run")));
    if (!file.open(QFile::WriteOnly))
        return false;
    QDataStream out(&file);
    out.setVersion(QDataStream::Qt_6_0);
    out << magic << run.when << run.model << run.command << run.load << qCompress(json);
    if (!file.commit())
        return false;
    QStringList files = filesIn(m_folder);
    while (files.size() > mostKept)
        folder.remove(files.takeFirst());
    return true;
}

std::vector<Run> RunStore::all() const {
    std::vector<Run> out;
    for (const QString& name : filesIn(m_folder)) {
        QFile file(QDir(m_folder).filePath(name));
        if (file.size() > largest || !file.open(QFile::ReadOnly))
            continue;
        QDataStream in(&file);
        in.setVersion(QDataStream::Qt_6_0);
        quint32 begin = 0;
        Run run;
        QByteArray packed;
        in >> begin;
        if (begin != magic)
            continue;
        in >> run.when >> run.model >> run.command >> run.load >> packed;
        if (in.status() != QDataStream::Ok)
            continue;
        auto report = app::readJson(qUncompress(packed).toStdString());
        if (!report || !report->after.measured || !report->before.measured)
            continue;
        run.report = std::make_shared<const app::Report>(std::move(*report));
        out.push_back(std::move(run));
    }
    return out;
}

} // namespace fuselage::studio
