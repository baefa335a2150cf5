// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/window_state.h"

#include "app/studio/panels/table_panel.h"

#include <QFileInfo>

namespace fuselage::studio {

namespace {

QStringList listOf(const std::vector<std::string>& texts) {
    QStringList out;
    for (const std::string& text : texts)
        out << QString::fromStdString(text);
    return out;
}

QVariantList variantsOf(const std::vector<MatchKey>& keys) {
    QVariantList out;
    for (const MatchKey& key : keys)
        out << QVariant(QStringList(QString::fromStdString(key.rule)) + listOf(key.nodes));
    return out;
}

std::vector<MatchKey> matchKeys(const QVariantList& variants) {
    std::vector<MatchKey> out;
    for (const QVariant& each : variants) {
        QStringList words = each.toStringList();
        if (words.size() < 2)
            continue;
        MatchKey& key = out.emplace_back();
        key.rule = words.takeFirst().toStdString();
        for (const QString& node : words)
            key.nodes.push_back(node.toStdString());
    }
    return out;
}

} // namespace

void saveOpen(QSettings& settings, const Workbench& workbench, CanvasPair& canvases) {
    const SessionOptions options = workbench.session.optionsToKeep();
    const MeasureSettings& measuring = workbench.measurements.settings();
    settings.setValue("open/model",
                      workbench.session.modelPath().isEmpty()
                          ? QString()
                          : QFileInfo(workbench.session.modelPath()).absoluteFilePath());
    settings.setValue("open/rules", listOf(options.rules.paths));
    settings.setValue("open/builtin", options.rules.builtin);
    settings.setValue("open/device", options.device);
    settings.setValue("open/precision", QString(nameOf(options.precision)));
    settings.setValue("open/precisionOf", options.precisionOf);
    settings.setValue("open/strict", options.fuse.strict);
    settings.setValue("open/decide", QString(nameOf(options.fuse.decide)));
    QVariantMap dims;
    for (const auto& [name, value] : options.fuse.dims)
        dims[QString::fromStdString(name)] = QVariant::fromValue<qlonglong>(value);
    settings.setValue("open/dims", dims);
    QVariantMap kept;
    for (auto it = workbench.session.givenDimensions().cbegin();
         it != workbench.session.givenDimensions().cend(); ++it) {
        QVariantMap sizes;
        for (const auto& [name, value] : it.value())
            sizes[QString::fromStdString(name)] = QVariant::fromValue<qlonglong>(value);
        kept[it.key()] = sizes;
    }
    settings.setValue("dims", kept);
    settings.setValue("open/disabled", variantsOf(options.fuse.disabled));
    settings.setValue("open/backend", measuring.backend);
    settings.setValue("open/threads", measuring.threads);
    settings.setValue("open/seconds", measuring.seconds);
    settings.setValue("open/verify", measuring.verify);
    settings.setValue("open/counters", measuring.counters);
    settings.setValue("open/overlay", canvases.overlay());
    settings.setValue("view/columns", canvases.inColumns());
    settings.setValue("view/map", canvases.map());
    const Viewport& view = canvases.canvas(scene::Before).viewport();
    settings.setValue("open/centre", view.centre);
    settings.setValue("open/zoom", view.zoom);
}

bool restoreOpen(QSettings& settings, Workbench& workbench, CanvasPair& canvases) {
    QString model = settings.value("open/model").toString();
    if (model.isEmpty() || !QFileInfo::exists(model) || endedWhileOpening(settings))
        return false;
    SessionOptions options = workbench.session.options();
    for (const QString& path : settings.value("open/rules").toStringList())
        options.rules.paths.push_back(path.toStdString());
    options.rules.builtin = settings.value("open/builtin", true).toBool();
    options.device = settings.value("open/device", options.device).toString();
    if (auto precision =
            precisionFromName(settings.value("open/precision", "fp32").toString().toStdString()))
        // What cannot be read any more (a file of exceptions is gone) is left out.
        if (!options.setPrecision(*precision, settings.value("open/precisionOf").toStringList()))
            (void)options.setPrecision(*precision, {});
    options.fuse.strict = settings.value("open/strict").toBool();
    if (auto decide =
            decideFromName(settings.value("open/decide", nameOf(app::FuseOptions().decide))
                               .toString()
                               .toStdString()))
        options.fuse.decide = *decide;
    QVariantMap dims = settings.value("open/dims").toMap();
    for (auto it = dims.cbegin(); it != dims.cend(); ++it)
        if (it.value().toLongLong() > 0)
            options.fuse.dims[it.key().toStdString()] = it.value().toLongLong();
    options.fuse.disabled = matchKeys(settings.value("open/disabled").toList());
    MeasureSettings measuring;
    measuring.backend = settings.value("open/backend", measuring.backend).toString();
    measuring.threads = settings.value("open/threads").toInt();
    measuring.seconds = settings.value("open/seconds", measuring.seconds).toDouble();
    measuring.verify = settings.value("open/verify", true).toBool();
    measuring.counters = settings.value("open/counters", false).toBool();
    workbench.measurements.setSettings(measuring);
    canvases.setInColumns(settings.value("view/columns", true).toBool());
    canvases.setMap(settings.value("view/map", true).toBool());
    canvases.setOverlay(settings.value("open/overlay", "none").toString());
    double zoom = settings.value("open/zoom").toDouble();
    if (zoom > 0)
        canvases.setWanted({settings.value("open/centre").toPointF(), zoom});
    workbench.session.setOptions(options);
    workbench.session.open(model);
    return true;
}

void restoreDimensions(const QSettings& settings, Session& session) {
    QMap<QString, DimensionValues> out;
    const QVariantMap kept = settings.value("dims").toMap();
    for (auto it = kept.cbegin(); it != kept.cend(); ++it) {
        const QVariantMap sizes = it.value().toMap();
        for (auto size = sizes.cbegin(); size != sizes.cend(); ++size)
            if (size.value().toLongLong() >= 0)
                out[it.key()][size.key().toStdString()] = size.value().toLongLong();
    }
    session.setGivenDimensions(out);
}

void saveTabs(QSettings& settings, const EditorPanel& editor) {
    settings.setValue("open/tabs", editor.openFiles());
    settings.setValue("open/tab", editor.current() ? editor.current()->file() : QString());
}

void restoreTabs(QSettings& settings, EditorPanel& editor) {
    editor.reopen(settings.value("open/tabs").toStringList(),
                  settings.value("open/tab").toString());
}

void saveColumns(QSettings& settings, const QWidget& window) {
    QVariantMap away;
    for (TablePanel* panel : window.findChildren<TablePanel*>())
        if (const QStringList titles = panel->putAway(); !titles.isEmpty())
            away[panel->table().accessibleName()] = titles;
    settings.setValue("view/columnsAway", away);
}

void restoreColumns(const QSettings& settings, const QWidget& window) {
    const QVariantMap away = settings.value("view/columnsAway").toMap();
    for (TablePanel* panel : window.findChildren<TablePanel*>())
        panel->setPutAway(away.value(panel->table().accessibleName()).toStringList());
}

bool endedWhileOpening(const QSettings& settings) {
    return settings.value("opening").toBool();
}

void markOpening(QSettings& settings, bool opening) {
    if (opening)
        settings.setValue("opening", true);
    else
        settings.remove("opening");
    settings.sync();
}

} // namespace fuselage::studio
