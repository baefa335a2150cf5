// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/work_folder.h"

#include <QDateTime>
#include <QDir>

namespace fuselage::studio {

namespace {

const QString prefix = QStringLiteral("fuselage-studio-work-"), lockName = QStringLiteral("lock");
constexpr qint64 youngest = 60; ///< seconds: one without a lock may be in the making

} // namespace

WorkFolder::WorkFolder()
    : m_folder(QDir::tempPath() + '/' + prefix + QStringLiteral("XXXXXX")),
      m_lock(m_folder.filePath(lockName)) {
    m_lock.setStaleLockTime(0); // stale is the lock of a program that is gone, however old
    m_lock.tryLock();
}

int WorkFolder::sweep() {
    int out = 0;
    const QDir temporary(QDir::tempPath());
    for (const QFileInfo& each :
         temporary.entryInfoList({prefix + '*'}, QDir::Dirs | QDir::NoDotAndDotDot)) {
        if (each.isSymLink() || !each.isWritable())
            continue;
        const QString path = QDir(each.filePath()).filePath(lockName);
        if (!QFileInfo::exists(path) &&
            each.lastModified().secsTo(QDateTime::currentDateTime()) < youngest)
            continue;
        QLockFile lock(path);
        lock.setStaleLockTime(0);
        if (!lock.tryLock())
            continue;
        lock.unlock();
        out += QDir(each.filePath()).removeRecursively() ? 1 : 0;
    }
    return out;
}

} // namespace fuselage::studio
