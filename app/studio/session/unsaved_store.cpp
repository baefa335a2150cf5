// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/unsaved_store.h"

#include <QDataStream>
#include <QDir>
#include <QFileInfo>
#include <QSaveFile>

namespace fuselage::studio {

namespace {

constexpr int mostWindows = 20; ///< that keep unsaved texts at one time

QMap<QString, QString> readUnsaved(const QString& path) {
    QMap<QString, QString> out;
    QFile file(path);
    if (!file.open(QFile::ReadOnly))
        return out;
    QDataStream in(&file);
    in.setVersion(QDataStream::Qt_6_0);
    in >> out;
    if (in.status() != QDataStream::Ok)
        out.clear();
    return out;
}

/// Two texts may have one name: "new-1.fuse" of two programs.
QString freeName(const QMap<QString, QString>& texts, QString name) {
    while (texts.contains(name))
        name += '\'';
    return name;
}

} // namespace

UnsavedStore::UnsavedStore(QString wanted) : m_wanted(std::move(wanted)) {
    QString error;
    if (!m_wanted.isEmpty())
        claim(error); // said when there is something to keep
}

/// The first file that no living program holds; what others have left behind is taken over.
bool UnsavedStore::claim(QString& error) {
    QDir().mkpath(QFileInfo(m_wanted).path());
    for (int number = 1; number <= mostWindows; ++number) {
        const QString path = number == 1 ? m_wanted : m_wanted + QStringLiteral(".%1").arg(number);
        const bool mine = m_file.isEmpty();
        if (!mine && !QFileInfo::exists(path))
            continue;
        auto lock = std::make_unique<QLockFile>(path + QStringLiteral(".lock"));
        lock->setStaleLockTime(0); // stale is the lock of a program that is gone, however old
        if (!lock->tryLock()) {
            error = lock->error() == QLockFile::LockFailedError
                        ? QObject::tr("too many windows are open")
                        : QObject::tr("the folder cannot be written");
            continue;
        }
        const QMap<QString, QString> texts = readUnsaved(path);
        for (auto it = texts.cbegin(); it != texts.cend(); ++it)
            m_found[freeName(m_found, it.key())] = it.value();
        if (mine) {
            m_file = path;
            m_lock = std::move(lock);
        } else if (write(m_found, error)) { // before the other copy goes
            QFile::remove(path);
        }
    }
    return !m_file.isEmpty();
}

bool UnsavedStore::keep(QMap<QString, QString> texts, QString& error) {
    const bool nothing = texts.isEmpty() && m_found.isEmpty();
    if (m_wanted.isEmpty() || (m_file.isEmpty() && nothing))
        return true;
    if (m_file.isEmpty() && !claim(error))
        return false;
    for (auto it = m_found.cbegin(); it != m_found.cend(); ++it)
        texts[freeName(texts, it.key())] = it.value(); // not yet answered: still worth keeping
    return write(texts, error);
}

bool UnsavedStore::write(const QMap<QString, QString>& texts, QString& error) const {
    if (texts.isEmpty()) {
        QFile::remove(m_file);
        return true;
    }
    QDir().mkpath(QFileInfo(m_file).path());
    QSaveFile file(m_file);
    if (file.open(QFile::WriteOnly)) {
        QDataStream out(&file);
        out.setVersion(QDataStream::Qt_6_0);
        out << texts;
        if (file.commit())
            return true;
    }
    error = file.errorString();
    return false;
}

} // namespace fuselage::studio
