// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/appearance.h"

#include "app/report/theme.h"

#include <QApplication>
#include <QPalette>
#include <QStyle>
#include <QStyleFactory>

namespace fuselage::studio {

namespace {

const char* const key = "appearance";

QPalette paletteOf(const app::Theme& theme) {
    auto colour = [&](const char* token) {
        return QColor(QString::fromStdString(theme.color(token)));
    };
    QPalette out(colour("surface"));
    using Role = QPalette::ColorRole;
    const std::pair<Role, const char*> roles[] = {
        {Role::Window, "surface"},
        {Role::WindowText, "text"},
        {Role::Base, "background"},
        {Role::AlternateBase, "surface"},
        {Role::Text, "text"},
        {Role::Button, "block"},
        {Role::ButtonText, "text"},
        {Role::BrightText, "loss"},
        {Role::ToolTipBase, "block"},
        {Role::ToolTipText, "text"},
        {Role::PlaceholderText, "text.dim"},
        {Role::Highlight, "accent"},
        {Role::HighlightedText, "accent.text"},
        {Role::Link, "accent"},
        {Role::LinkVisited, "accent"},
    };
    for (const auto& [role, token] : roles)
        out.setColor(role, colour(token));
    for (Role role : {Role::WindowText, Role::Text, Role::ButtonText})
        out.setColor(QPalette::Disabled, role, colour("axis"));
    return out;
}

/// What the program started with, before anything was applied.
struct SystemLook {
    QString style = QApplication::style()->objectName();
    QPalette palette = QApplication::palette();
};

} // namespace

const QList<Appearance>& appearances() {
    static const QList<Appearance> rows = {
        {"system", QT_TRANSLATE_NOOP("Appearance", "Appearance: as the system")},
        {"light", QT_TRANSLATE_NOOP("Appearance", "Appearance: light")},
        {"dark", QT_TRANSLATE_NOOP("Appearance", "Appearance: dark")},
    };
    return rows;
}

void applyAppearance(const QString& id) {
    static const SystemLook system;
    const bool dark = id == QLatin1String("dark");
    if (!dark && id != QLatin1String("light")) {
        QApplication::setStyle(system.style);
        QApplication::setPalette(system.palette);
        return;
    }
    // The styles of some desktops draw in colours of their own; this one takes all from the
    // palette.
    QApplication::setStyle(QStringLiteral("fusion"));
    QApplication::setPalette(paletteOf(dark ? app::darkTheme() : app::lightTheme()));
}

QString chosenAppearance(const QSettings& settings) {
    return settings.value(key, appearances().front().id).toString();
}

void chooseAppearance(QSettings& settings, const QString& id) {
    settings.setValue(key, id);
    applyAppearance(id);
}

} // namespace fuselage::studio
