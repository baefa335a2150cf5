// SPDX-License-Identifier: Apache-2.0
// The rule texts that are open for editing: on disk, built-in or new. Keeps what is typed (also in
// an UnsavedStore), gives it to the Session, saves, and notices when a file changes on disk or goes
// from it. No widgets.
#pragma once

#include "app/studio/session/session.h"
#include "app/studio/session/unsaved_store.h"

#include <QFileSystemWatcher>
#include <QMap>
#include <QSet>
#include <vector>

namespace fuselage::studio {

struct RuleText {
    QString file; ///< as the Session knows it: a path, "std/activation", "new-1.fuse"
    QString text, saved;
    bool builtin = false; ///< read-only
    bool isNew = false;   ///< not on disk yet
    bool offDisk = false; ///< went from the disk; another may have come in its place

    bool modified() const { return isNew || offDisk || text != saved; }
};

class RuleTexts : public QObject {
    Q_OBJECT

public:
    /// `recoveryFile`: where unsaved texts are kept, see UnsavedStore.
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
    /// Empty `path`: where it is, unless it changed on disk and nobody said which one stays.
    /// Returns its new name, or a null string with `error`.
    QString save(const QString& file, const QString& path, QString& error);
    /// Forgets what was not saved.
    void close(const QString& file);

    /// The file changed on disk while something else is open here.
    bool changedOnDisk(const QString& file) const { return m_theirs.contains(file); }

    /// The file went from the disk; it is matched as it is here.
    bool goneFromDisk(const QString& file) const;

    void takeTheirs(const QString& file);
    void keepMine(const QString& file);

    /// Unsaved texts of a run that ended without saving; opens them, or throws them away.
    qsizetype recoverable() const { return m_store.found().size(); }

    void recover();
    void discardRecovered();

    bool anyModified() const;

    /// What is not saved would survive the end of the program. Looks, and keeps it now.
    bool keepsUnsaved();

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
    void lookForMissing();
    void forget(const RuleText& text);
    bool writeRecovery(QString& error);
    void keepRecoverySoon();
    bool keepRecovery();
    void offerRecovered();

    Session& m_session;
    UnsavedStore m_store;
    std::vector<RuleText> m_texts;
    QMap<QString, QString> m_theirs; ///< texts on disk that differ, by file
    QSet<QString> m_missing;         ///< files that may be about to be written anew
    QFileSystemWatcher m_watcher;
    QTimer m_recoveryPause, m_missingPause;
    QString m_unkept; ///< what was said of texts that cannot be kept
    int m_created = 0;
};

/// Beside the person's settings: where texts that were not saved are kept.
QString recoveryFileOfUser();

} // namespace fuselage::studio
