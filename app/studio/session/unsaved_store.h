// SPDX-License-Identifier: Apache-2.0
// The file in which texts outlive the program that did not save them. Each program that runs has
// one of its own; what programs that are gone left behind is taken over. Reads and writes, and
// tells nobody.
#pragma once

#include <QLockFile>
#include <QMap>
#include <QString>
#include <memory>

namespace fuselage::studio {

class UnsavedStore {
public:
    /// `wanted`: the file; another program that has it open keeps it, this one takes a file beside
    /// it. Empty: nothing is kept.
    explicit UnsavedStore(QString wanted);

    /// Texts of earlier programs, by file. They stay kept until they are taken.
    const QMap<QString, QString>& found() const { return m_found; }

    QMap<QString, QString> takeFound() { return std::exchange(m_found, {}); }

    /// Keeps these, and what was found; false with `error` where they cannot be kept.
    bool keep(QMap<QString, QString> texts, QString& error);

    const QString& wanted() const { return m_wanted; }

private:
    bool claim(QString& error);
    bool write(const QMap<QString, QString>& texts, QString& error) const;

    QString m_wanted, m_file; ///< m_file: the one that is held; empty: none could be
    std::unique_ptr<QLockFile> m_lock;
    QMap<QString, QString> m_found;
};

} // namespace fuselage::studio
