// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/command_line.h"

#include "core/support/file.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStandardPaths>
#include <algorithm>

namespace fuselage::studio {

namespace {

QStringList ruleArguments(const SessionOptions& options) {
    QStringList out;
    if (!options.rules.builtin)
        out << "--no-builtin";
    for (const std::string& path : options.rules.paths)
        out << "-p" << QString::fromStdString(path);
    for (const std::string& name : options.rules.without)
        out << "--without-rule" << QString::fromStdString(name);
    for (const auto& [name, value] : options.fuse.dims)
        out << "--dim" << QStringLiteral("%1=%2").arg(QString::fromStdString(name)).arg(value);
    if (options.fuse.pipeline != "default")
        out << "--pipeline" << QString::fromStdString(options.fuse.pipeline);
    if (options.fuse.decide != app::FuseOptions().decide)
        out << "--decide" << QString(nameOf(options.fuse.decide));
    if (options.precision != Precision::Fp32)
        out << "--precision" << QString(nameOf(options.precision));
    for (const QString& of : options.precisionOf)
        out << "--precision-of" << of;
    if (options.fuse.strict)
        out << "--strict";
    return out;
}

/// What runs it, where it is not the default.
QStringList machineArguments(const MeasureSettings& settings) {
    QStringList out;
    if (settings.backend != "auto")
        out << "--backend" << settings.backend;
    if (settings.threads > 0)
        out << "--threads" << QString::number(settings.threads);
    return out;
}

/// A name that starts with a dash would be taken for an option.
QString fileArgument(const QString& path) {
    return path.startsWith('-') ? QStringLiteral("./") + path : path;
}

} // namespace

QStringList benchArguments(const QString& model, const SessionOptions& options,
                           const MeasureSettings& settings) {
    QStringList out{"bench", fileArgument(model)};
    out += ruleArguments(options) + machineArguments(settings);
    if (options.device != "cpu")
        out << "--device" << options.device;
    if (settings.seconds != MeasureSettings().seconds)
        out << "--seconds" << QString::number(settings.seconds);
    if (!settings.verify)
        out << "--no-verify";
    if (settings.counters)
        out << "--counters";
    return out;
}

QStringList runArguments(const QString& model, const SessionOptions& options,
                         const MeasureSettings& settings, bool fused, const QStringList& values,
                         const QString& folder) {
    QStringList out{"run", fileArgument(model)};
    out += ruleArguments(options) + machineArguments(settings);
    if (fused)
        out << "--fuse";
    for (const QString& value : values)
        out << QStringLiteral("--value=") + value;
    return out << "-o" << folder;
}

QStringList fuseArguments(const QString& model, const SessionOptions& options,
                          const QString& output, const QString& as) {
    QStringList out{"fuse", fileArgument(model)};
    out += ruleArguments(options);
    if (options.device != SessionOptions().device)
        out << "--device" << options.device;
    return out << as << fileArgument(output);
}

QStringList drawingArguments(const QString& model, const SessionOptions& options,
                             const QString& output) {
    SessionOptions plain = options; // what the arguments can say is taken away
    plain.rules.paths.clear();
    plain.fuse.dims.clear();
    if (!ruleArguments(plain).isEmpty() || options.device != SessionOptions().device ||
        !options.fuse.disabled.empty())
        return {};
    QStringList out{"--export", fileArgument(output), fileArgument(model)};
    for (const std::string& path : options.rules.paths)
        out << fileArgument(QString::fromStdString(path));
    for (const auto& [name, value] : options.fuse.dims)
        out << "--dim" << QStringLiteral("%1=%2").arg(QString::fromStdString(name)).arg(value);
    return out;
}

QString shellText(const QStringList& words) {
    static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_@%+=:,./-]+$"));
    QStringList out;
    for (const QString& word : words)
        out << (plain.match(word).hasMatch()
                    ? word
                    : '\'' + QString(word).replace('\'', QLatin1String("'\\''")) + '\'');
    return out.join(' ');
}

QString findFuselage() {
    QString beside = QCoreApplication::applicationDirPath() + QStringLiteral("/fuselage");
    return QFileInfo(beside).isExecutable()
               ? beside
               : QStandardPaths::findExecutable(QStringLiteral("fuselage"));
}

Result<app::RuleOptions> rulesOnDisk(const app::RuleOptions& rules, const QString& folder) {
    app::RuleOptions out = rules;
    out.unsaved.clear();
    size_t written = 0;
    for (size_t i = 0; i < rules.paths.size(); ++i) {
        auto files = app::ruleFiles(rules.paths[i], rules.unsaved);
        if (!files)
            return failure(files.error());
        bool changed = std::any_of(files->begin(), files->end(), [&](const std::string& file) {
            return rules.unsaved.count(file) != 0;
        });
        for (const std::string& file : *files)
            written += rules.unsaved.count(file);
        if (!changed)
            continue;
        // Imports name the folder, so that the copies lie in one of the same name.
        QFileInfo original(QString::fromStdString(rules.paths[i]));
        QString place = folder + QStringLiteral("/rules%1").arg(i);
        if (original.isDir())
            place += '/' + QDir(original.filePath()).dirName();
        QDir().mkpath(place);
        for (const std::string& file : *files) {
            auto unsaved = rules.unsaved.find(file);
            auto text = unsaved != rules.unsaved.end() ? Result<std::string>(unsaved->second)
                                                       : readFile(file);
            if (!text)
                return failure(text.error());
            QString name = QFileInfo(QString::fromStdString(file)).fileName();
            if (auto saved = writeFile(*text, (place + '/' + name).toStdString()); !saved)
                return failure(saved.error());
        }
        out.paths[i] = (original.isDir() ? place : place + '/' + original.fileName()).toStdString();
    }
    // Texts that were never saved go last, as in the window.
    out.texts.clear();
    for (size_t i = 0; i < rules.texts.size(); ++i) {
        const dsl::RuleInput& input = rules.texts[i];
        auto unsaved = rules.unsaved.find(input.name);
        written += unsaved != rules.unsaved.end();
        std::string text =
            unsaved != rules.unsaved.end() ? unsaved->second : input.text.value_or(std::string());
        QString place = folder + QStringLiteral("/text%1").arg(i);
        QDir().mkpath(place);
        QString file = place + '/' + QFileInfo(QString::fromStdString(input.name)).fileName();
        if (auto saved = writeFile(text, file.toStdString()); !saved)
            return failure(saved.error());
        out.paths.push_back(file.toStdString());
    }
    if (written < rules.unsaved.size())
        return failure("measure.builtin", "a changed built-in rule file cannot be measured", {},
                       "save your copy as a file of its own");
    return out;
}

} // namespace fuselage::studio
