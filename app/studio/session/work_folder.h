// SPDX-License-Identifier: Apache-2.0
// A folder under the temporary one for what another process reads and writes; gone with this
// object. One that a killed program left is known by its lock and taken away at the next start.
#pragma once

#include <QLockFile>
#include <QTemporaryDir>

namespace fuselage::studio {

class WorkFolder {
public:
    WorkFolder();

    QString path() const { return m_folder.path(); }

    QString filePath(const QString& name) const { return m_folder.filePath(name); }

    /// Removes the folders whose programs are gone; says how many.
    static int sweep();

private:
    QTemporaryDir m_folder;
    QLockFile m_lock; ///< let go before the folder goes
};

} // namespace fuselage::studio
