// SPDX-License-Identifier: Apache-2.0
// The rule texts that are open for editing: on disk, built-in or new. Keeps what is typed (also in
// a recovery file), gives it to the Session, saves, and notices when a file changes on disk. No
// widgets.
#pragma once

#include "app/studio/session/session.h"

#include <QFileSystemWatcher>
#include <QLockFile>
#include <QMap>
#include <memory>
#include <vector>

namespace fuselage::studio {

struct RuleText {
    QString file; ///< as the Session knows it: a path, "std/activation", "new-1.fuse"
    QString text, saved;
    bool builtin = false; ///< read-only
    bool isNew = false;   ///< not on disk yet

    bool modified() const { return isNew || text != saved; }
};

class RuleTexts : public QObject {
    Q_OBJECT

public:
    /// `recoveryFile`: where unsaved texts are kept; empty: nowhere. Another program that has it
    /// open keeps it, this one takes a file beside it.
    RuleTexts(Session& session, QString recoveryFile, QObject* parent = nullptr);
    ~RuleTexts() override;

    const std::vector<RuleText>& all() const { return m_texts; }

    const RuleText* find(const QString& file) const;

    /// Opens a file on disk or a built-in one; already open is fine. Returns its name in the
    /// Session, or a null string with `error`.
    QString open(const QString& file, QString& error);
    /// A new text that is matched at once but not on disk.
    QString create(const QString& text);
    /// A copy of a built-in file that replaces it, in the person's folder of such copies.
    QString editCopy(const QString& builtin, QString& error);
    void edit(const QString& file, const QString& text);
    /// Empty `path`: where it is. Returns its new name, or a null string with `error`.
    QString save(const QString& file, const QString& path, QString& error);
    /// Forgets what was not saved.
    void close(const QString& file);

    /// The file changed on disk while something else is open here.
    bool changedOnDisk(const QString& file) const { return m_theirs.contains(file); }

    void takeTheirs(const QString& file);
    void keepMine(const QString& file);

    /// Unsaved texts of a run that ended without saving; opens them, or throws them away.
    qsizetype recoverable() const { return m_recovered.size(); }

    void recover();
    void discardRecovered();

    bool anyModified() const;

    /// As other files import it.
    QString importPath(const QString& file) const;
    /// All rule files of the Session with the paths by which they are imported.
    QList<std::pair<QString, QString>> ruleFiles() const;
    /// Where what no file of the Session offers is looked up.
    std::vector<std::string> importFolders() const;
    std::optional<QString> onDisk(const QString& file) const;

Q_SIGNALS:
    void opened(const QString& file);
    void closed(const QString& file);
    void renamed(const QString& from, const QString& to);
    /// Another text than was typed: taken from disk.
    void replaced(const QString& file);
    void stateChanged(const QString& file); ///< modified or not, changed on disk or not

private:
    RuleText* at(const QString& file);
    QString sessionName(const QString& path);
    void watch(const QString& path);
    void lookAtDisk(const QString& path);
    void tell(const RuleText& text);
    void claimRecovery(const QString& wanted);
    void keepRecoverySoon();
    void keepRecovery();

    Session& m_session;
    QString m_recoveryFile;
    std::unique_ptr<QLockFile> m_recoveryLock;
    std::vector<RuleText> m_texts;
    QMap<QString, QString> m_theirs;    ///< texts on disk that differ, by file
    QMap<QString, QString> m_recovered; ///< of an earlier run, by file
    QFileSystemWatcher m_watcher;
    QTimer m_recoveryPause;
    int m_created = 0;
};

/// Beside the person's settings: where texts that were not saved are kept.
QString recoveryFileOfUser();

} // namespace fuselage::studio
