// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/rule_texts.h"

#include "app/pipeline/imports.h"

#include <QDir>
#include <QFileInfo>
#include <QSaveFile>
#include <QStandardPaths>

namespace fuselage::studio {

namespace {

/// The most that can be lost. Less than the Session's pause after a key, so that a text is kept
/// before it is matched and whatever that may do.
constexpr int recoveryMilliseconds = 100;

std::optional<QString> readText(const QString& path, QString& error) {
    QFile file(path);
    if (!file.open(QFile::ReadOnly)) {
        error = QObject::tr("cannot read `%1`: %2").arg(path, file.errorString());
        return std::nullopt;
    }
    return QString::fromUtf8(file.readAll());
}

/// Written beside and renamed: a full disk leaves the old file.
bool writeText(const QString& path, const QString& text, QString& error) {
    QSaveFile file(path);
    QByteArray bytes = text.toUtf8();
    if (file.open(QFile::WriteOnly) && file.write(bytes) == bytes.size() && file.commit())
        return true;
    error = QObject::tr("cannot write `%1`: %2").arg(path, file.errorString());
    return false;
}

constexpr int mostWindows = 20; ///< that keep unsaved texts at one time

QMap<QString, QString> readRecovery(const QString& path) {
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

} // namespace

QString recoveryFileOfUser() {
    return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/unsaved.rules";
}

RuleTexts::RuleTexts(Session& session, QString recoveryFile, QObject* parent)
    : QObject(parent), m_session(session) {
    m_recoveryPause.setSingleShot(true);
    m_recoveryPause.setInterval(recoveryMilliseconds);
    connect(&m_recoveryPause, &QTimer::timeout, this, &RuleTexts::keepRecovery);
    connect(&m_watcher, &QFileSystemWatcher::fileChanged, this, &RuleTexts::lookAtDisk);
    if (!recoveryFile.isEmpty())
        claimRecovery(recoveryFile);
}

/// The first file that no living program holds; what others have left behind is taken over.
void RuleTexts::claimRecovery(const QString& wanted) {
    QDir().mkpath(QFileInfo(wanted).path());
    for (int number = 1; number <= mostWindows; ++number) {
        const QString path = number == 1 ? wanted : wanted + QStringLiteral(".%1").arg(number);
        const bool mine = m_recoveryFile.isEmpty();
        if (!mine && !QFileInfo::exists(path))
            continue;
        auto lock = std::make_unique<QLockFile>(path + QStringLiteral(".lock"));
        lock->setStaleLockTime(0); // stale is the lock of a program that is gone, however old
        if (!lock->tryLock())
            continue;
        const QMap<QString, QString> texts = readRecovery(path);
        for (auto it = texts.cbegin(); it != texts.cend(); ++it) {
            QString name = it.key();
            while (m_recovered.contains(name))
                name += '\'';
            m_recovered[name] = it.value();
        }
        if (mine) {
            m_recoveryFile = path;
            m_recoveryLock = std::move(lock);
        } else {
            keepRecovery(); // before the other copy goes
            QFile::remove(path);
        }
    }
}

RuleTexts::~RuleTexts() {
    if (m_recoveryPause.isActive())
        keepRecovery();
}

const RuleText* RuleTexts::find(const QString& file) const {
    for (const RuleText& text : m_texts)
        if (text.file == file)
            return &text;
    return nullptr;
}

RuleText* RuleTexts::at(const QString& file) {
    for (RuleText& text : m_texts)
        if (text.file == file)
            return &text;
    return nullptr;
}

/// The name under which the Session matches the file; it is added to the rules if it is new.
QString RuleTexts::sessionName(const QString& path) {
    QString wanted = QFileInfo(path).canonicalFilePath();
    for (const std::string& given : m_session.options().rules.paths)
        if (auto files = app::ruleFiles(given))
            for (const std::string& file : *files)
                if (QFileInfo(QString::fromStdString(file)).canonicalFilePath() == wanted)
                    return QString::fromStdString(file);
    SessionOptions options = m_session.options();
    options.rules.paths.push_back(path.toStdString());
    m_session.setOptions(options);
    return path;
}

void RuleTexts::watch(const QString& path) {
    if (!m_watcher.files().contains(path) && QFileInfo::exists(path))
        m_watcher.addPath(path);
}

QString RuleTexts::open(const QString& file, QString& error) {
    if (find(file)) {
        Q_EMIT opened(file);
        return file;
    }
    RuleText text;
    auto builtin = app::builtinImport(file.toStdString());
    if (builtin && !QFileInfo::exists(file)) {
        text.file = file;
        text.builtin = true;
        text.text = QString::fromStdString(*builtin);
    } else {
        auto found = readText(file, error);
        if (!found)
            return {};
        text.file = sessionName(file);
        if (find(text.file)) {
            Q_EMIT opened(text.file);
            return text.file;
        }
        text.text = *found;
        watch(text.file);
    }
    text.saved = text.text;
    m_texts.push_back(text);
    Q_EMIT opened(text.file);
    return text.file;
}

QString RuleTexts::create(const QString& words) {
    QString name;
    do
        name = QStringLiteral("new-%1.fuse").arg(++m_created);
    while (find(name));
    m_texts.push_back({name, words, words, false, true});
    SessionOptions options = m_session.options();
    options.rules.texts.push_back({name.toStdString(), words.toStdString()});
    m_session.setOptions(options);
    Q_EMIT opened(name);
    keepRecoverySoon();
    return name;
}

QString RuleTexts::editCopy(const QString& builtin, QString& error) {
    auto text = app::builtinImport(builtin.toStdString());
    if (!text) {
        error = QObject::tr("`%1` is not a built-in file").arg(builtin);
        return {};
    }
    // A folder that is given as rules is imported by its name: "std/..." replaces the built-in one.
    QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/rules/";
    QString path = folder + builtin + ".fuse";
    if (!QDir().mkpath(QFileInfo(path).path())) {
        error = QObject::tr("cannot make the folder `%1`").arg(QFileInfo(path).path());
        return {};
    }
    if (!QFileInfo::exists(path) && !writeText(path, QString::fromStdString(*text), error))
        return {};
    SessionOptions options = m_session.options();
    std::string root = (folder + builtin.section('/', 0, 0)).toStdString();
    auto& paths = options.rules.paths;
    if (std::find(paths.begin(), paths.end(), root) == paths.end()) {
        paths.push_back(root);
        m_session.setOptions(options);
    }
    return open(path, error);
}

void RuleTexts::edit(const QString& file, const QString& words) {
    RuleText* text = at(file);
    if (!text || text->builtin || text->text == words)
        return;
    bool was = text->modified();
    text->text = words;
    tell(*text);
    if (was != text->modified())
        Q_EMIT stateChanged(file);
    keepRecoverySoon();
}

void RuleTexts::tell(const RuleText& text) {
    if (text.modified())
        m_session.setUnsaved(text.file, text.text);
    else
        m_session.setUnsaved(text.file, std::nullopt);
}

QString RuleTexts::save(const QString& file, const QString& path, QString& error) {
    RuleText* text = at(file);
    if (!text || text->builtin || (text->isNew && path.isEmpty()))
        return {};
    QString target = path.isEmpty() ? file : path;
    m_watcher.removePath(target); // our own writing is no news
    if (!writeText(target, text->text, error)) {
        watch(target);
        return {};
    }
    if (text->isNew) {
        SessionOptions options = m_session.options();
        std::erase_if(options.rules.texts, [&](const dsl::RuleInput& input) {
            return input.name == file.toStdString();
        });
        m_session.setOptions(options);
        text->isNew = false;
    }
    m_session.setUnsaved(file, std::nullopt);
    text->saved = text->text;
    text->file = sessionName(target);
    QString name = text->file;
    watch(name);
    m_theirs.remove(file);
    if (name != file)
        Q_EMIT renamed(file, name);
    Q_EMIT stateChanged(name);
    keepRecovery();
    return name;
}

void RuleTexts::close(const QString& file) {
    RuleText* text = at(file);
    if (!text)
        return;
    if (text->isNew) {
        SessionOptions options = m_session.options();
        std::erase_if(options.rules.texts, [&](const dsl::RuleInput& input) {
            return input.name == file.toStdString();
        });
        m_session.setOptions(options);
    }
    m_session.setUnsaved(file, std::nullopt);
    m_theirs.remove(file);
    m_watcher.removePath(file);
    std::erase_if(m_texts, [&](const RuleText& each) { return each.file == file; });
    Q_EMIT closed(file);
    keepRecovery();
}

void RuleTexts::lookAtDisk(const QString& path) {
    RuleText* text = at(path);
    QString error;
    auto found = readText(path, error);
    if (!text || !found) // renamed away: it is written again, or stays as it is here
        return;
    watch(path);
    if (*found == text->saved)
        return;
    if (!text->modified()) {
        m_theirs[path] = *found;
        takeTheirs(path);
        return;
    }
    m_theirs[path] = *found;
    Q_EMIT stateChanged(path);
}

void RuleTexts::takeTheirs(const QString& file) {
    RuleText* text = at(file);
    if (!text || !m_theirs.contains(file))
        return;
    text->text = text->saved = m_theirs.take(file);
    m_session.setUnsaved(file, text->text); // read again even when nothing was unsaved
    m_session.setUnsaved(file, std::nullopt);
    Q_EMIT replaced(file);
    Q_EMIT stateChanged(file);
    keepRecoverySoon();
}

void RuleTexts::keepMine(const QString& file) {
    RuleText* text = at(file);
    if (!text || !m_theirs.contains(file))
        return;
    text->saved = m_theirs.take(file);
    Q_EMIT stateChanged(file);
}

bool RuleTexts::anyModified() const {
    return std::any_of(m_texts.begin(), m_texts.end(),
                       [](const RuleText& text) { return text.modified(); });
}

QList<std::pair<QString, QString>> RuleTexts::ruleFiles() const {
    QList<std::pair<QString, QString>> out;
    for (const std::string& given : m_session.options().rules.paths) {
        QString path = QDir::cleanPath(QFileInfo(QString::fromStdString(given)).absoluteFilePath());
        QDir above = QFileInfo(path).dir();
        auto files = app::ruleFiles(given);
        if (!files)
            continue;
        for (const std::string& name : *files) {
            QString file = QString::fromStdString(name);
            QString import = above.relativeFilePath(QFileInfo(file).absoluteFilePath());
            out.append({file, import.left(import.lastIndexOf('.'))});
        }
    }
    return out;
}

QString RuleTexts::importPath(const QString& file) const {
    const RuleText* text = find(file);
    if (text && text->builtin)
        return file;
    for (const auto& [name, import] : ruleFiles())
        if (name == file)
            return import;
    return QFileInfo(file).completeBaseName();
}

std::vector<std::string> RuleTexts::importFolders() const {
    return app::importFolders(m_session.options().rules);
}

std::optional<QString> RuleTexts::onDisk(const QString& file) const {
    QString error;
    return readText(file, error);
}

void RuleTexts::recover() {
    QMap<QString, QString> texts;
    texts.swap(m_recovered);
    QString error;
    for (auto it = texts.begin(); it != texts.end(); ++it) {
        QString file = QFileInfo::exists(it.key()) ? open(it.key(), error) : QString();
        if (file.isNull())
            create(it.value());
        else {
            edit(file, it.value());
            Q_EMIT replaced(file);
        }
    }
    keepRecovery();
}

void RuleTexts::discardRecovered() {
    m_recovered.clear();
    keepRecovery();
}

/// Keys that follow do not put it off.
void RuleTexts::keepRecoverySoon() {
    if (!m_recoveryPause.isActive())
        m_recoveryPause.start();
}

void RuleTexts::keepRecovery() {
    m_recoveryPause.stop();
    if (m_recoveryFile.isEmpty())
        return;
    QMap<QString, QString> unsaved = m_recovered; // not yet answered: still worth keeping
    for (const RuleText& text : m_texts)
        if (text.modified())
            unsaved[text.file] = text.text;
    if (unsaved.isEmpty()) {
        QFile::remove(m_recoveryFile);
        return;
    }
    QDir().mkpath(QFileInfo(m_recoveryFile).path());
    QSaveFile file(m_recoveryFile);
    if (!file.open(QFile::WriteOnly))
        return;
    QDataStream out(&file);
    out.setVersion(QDataStream::Qt_6_0);
    out << unsaved;
    file.commit();
}

} // namespace fuselage::studio
