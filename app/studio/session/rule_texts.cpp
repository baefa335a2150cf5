// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/rule_texts.h"

#include "app/pipeline/imports.h"
#include "app/studio/session/counted.h"

#include <QDir>
#include <QFileInfo>
#include <QSaveFile>
#include <QStandardPaths>
#include <utility>

namespace fuselage::studio {

namespace {

/// The most that can be lost. Less than the Session's pause after a key, so that a text is kept
/// before it is matched and whatever that may do.
constexpr int recoveryMilliseconds = 100;

/// A file that is away for so long was deleted; many programs write one by deleting it first.
constexpr int missingMilliseconds = 400;

/// Of what cannot be kept, and of what was left behind: rows of Problems.
const QString unkeptCode = QStringLiteral("unsaved.kept");
const QString offeredCode = QStringLiteral("unsaved.offered");

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

} // namespace

QString recoveryFileOfUser() {
    return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/unsaved.rules";
}

RuleTexts::RuleTexts(Session& session, QString recoveryFile, QObject* parent)
    : QObject(parent), m_session(session), m_store(std::move(recoveryFile)) {
    m_recoveryPause.setSingleShot(true);
    m_recoveryPause.setInterval(recoveryMilliseconds);
    m_missingPause.setSingleShot(true);
    m_missingPause.setInterval(missingMilliseconds);
    connect(&m_recoveryPause, &QTimer::timeout, this, &RuleTexts::keepRecovery);
    connect(&m_missingPause, &QTimer::timeout, this, &RuleTexts::lookForMissing);
    connect(&m_watcher, &QFileSystemWatcher::fileChanged, this, &RuleTexts::lookAtDisk);
    connect(&m_watcher, &QFileSystemWatcher::directoryChanged, this, [this] {
        for (size_t i = 0; i < m_texts.size(); ++i) // one that is taken may tell others
            if (m_texts[i].offDisk && QFileInfo::exists(m_texts[i].file))
                lookAtDisk(m_texts[i].file);
    });
    offerRecovered();
}

RuleTexts::~RuleTexts() {
    QString error; // the Session may be gone: nobody is told
    if (m_recoveryPause.isActive())
        writeRecovery(error);
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
    if (target == file && !text->isNew)
        lookAtDisk(file); // what another program has just written, too
    if (target == file && m_theirs.contains(file)) {
        error =
            tr("`%1` was changed on disk: say first which one stays, yours or theirs").arg(file);
        return {};
    }
    m_watcher.removePath(target); // our own writing is no news
    if (!writeText(target, text->text, error)) {
        watch(target);
        return {};
    }
    if (text->isNew || (text->offDisk && target != file))
        forget(*text);
    m_session.setUnsaved(file, std::nullopt);
    text->isNew = text->offDisk = false;
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

/// Where the Session has one that is not on disk: among its texts, or as a path that leads nowhere.
void RuleTexts::forget(const RuleText& text) {
    SessionOptions options = m_session.options();
    const std::string name = text.file.toStdString();
    std::erase_if(options.rules.texts,
                  [&](const dsl::RuleInput& input) { return input.name == name; });
    if (goneFromDisk(text.file))
        std::erase(options.rules.paths, name);
    m_session.setOptions(options);
}

void RuleTexts::close(const QString& file) {
    RuleText* text = at(file);
    if (!text)
        return;
    if (text->isNew || text->offDisk)
        forget(*text);
    m_session.setUnsaved(file, std::nullopt);
    m_theirs.remove(file);
    m_watcher.removePath(file);
    std::erase_if(m_texts, [&](const RuleText& each) { return each.file == file; });
    Q_EMIT closed(file);
    keepRecovery();
}

void RuleTexts::lookAtDisk(const QString& path) {
    RuleText* text = at(path);
    if (!text || text->builtin || text->isNew)
        return;
    QString error;
    auto found = readText(path, error);
    if (!found) {
        if (!QFileInfo::exists(path)) { // else it cannot be read: it stays as it is here
            m_missing.insert(path);
            m_missingPause.start();
        }
        return;
    }
    watch(path);
    if (*found != text->saved) {
        m_theirs[path] = *found;
        if (!text->modified())
            return takeTheirs(path);
        Q_EMIT stateChanged(path);
        return;
    }
    if (!m_theirs.remove(path) && !text->offDisk)
        return;
    text->offDisk = false; // it is there again as it was
    tell(*text);
    Q_EMIT stateChanged(path);
}

/// What is still away was deleted. Its text is all there is of it now.
void RuleTexts::lookForMissing() {
    for (const QString& path : std::exchange(m_missing, {})) {
        RuleText* text = at(path);
        if (!text || text->isNew)
            continue;
        if (QFileInfo::exists(path)) {
            lookAtDisk(path);
            continue;
        }
        m_theirs.remove(path);
        text->offDisk = true;
        if (const QString folder = QFileInfo(path).absolutePath(); QFileInfo::exists(folder))
            m_watcher.addPath(folder); // it may come back
        tell(*text);
        Q_EMIT stateChanged(path);
        keepRecoverySoon();
    }
}

bool RuleTexts::goneFromDisk(const QString& file) const {
    const RuleText* text = find(file);
    return text && text->offDisk && !m_theirs.contains(file);
}

void RuleTexts::takeTheirs(const QString& file) {
    RuleText* text = at(file);
    if (!text || !m_theirs.contains(file))
        return;
    text->text = text->saved = m_theirs.take(file);
    text->offDisk = false;
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
    text->offDisk = false;
    tell(*text);
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
        auto files = app::ruleFiles(given, m_session.options().rules.unsaved);
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
    const QMap<QString, QString> texts = m_store.takeFound();
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
    offerRecovered();
    keepRecovery();
}

void RuleTexts::discardRecovered() {
    m_store.takeFound();
    offerRecovered();
    keepRecovery();
}

void RuleTexts::offerRecovered() {
    m_session.removeProblems(offeredCode);
    if (recoverable() == 0)
        return;
    Problem problem;
    problem.severity = Severity::Warning;
    problem.code = offeredCode;
    problem.message = counted(recoverable(), tr("rule text of an earlier run was not saved"),
                              tr("rule texts of an earlier run were not saved"));
    problem.fix = tr("Rules > Restore unsaved rules opens what was typed");
    m_session.addProblem(problem);
}

/// Keys that follow do not put it off.
void RuleTexts::keepRecoverySoon() {
    if (!m_recoveryPause.isActive())
        m_recoveryPause.start();
}

bool RuleTexts::writeRecovery(QString& error) {
    QMap<QString, QString> unsaved;
    for (const RuleText& text : m_texts)
        if (text.modified())
            unsaved[text.file] = text.text;
    return m_store.keep(unsaved, error);
}

bool RuleTexts::keepRecovery() {
    m_recoveryPause.stop();
    QString error;
    const bool kept = writeRecovery(error);
    const QString said = kept ? QString()
                              : tr("rules that are not saved cannot be kept in `%1`: %2")
                                    .arg(QFileInfo(m_store.wanted()).path(), error);
    if (said == std::exchange(m_unkept, said))
        return kept;
    m_session.removeProblems(unkeptCode);
    if (kept)
        return true;
    Problem problem;
    problem.severity = Severity::Warning;
    problem.code = unkeptCode;
    problem.message = said;
    problem.fix = tr("save them by Ctrl+S, or make that folder writable");
    m_session.addProblem(problem);
    return false;
}

bool RuleTexts::keepsUnsaved() {
    return !anyModified() || keepRecovery();
}

} // namespace fuselage::studio
