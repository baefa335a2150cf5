// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/appearance.h"

#include "app/report/theme.h"
#include "app/studio/graph_view/colours.h"

#include <QApplication>
#include <QLineEdit>
#include <QPainter>
#include <QPalette>
#include <QProxyStyle>
#include <QStyleOption>

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

/// Draws everything in the palette's colours. Outlines of what may be empty are darker than the
/// ground in the style that it is made of, which nobody sees on a dark one.
class PaletteStyle : public QProxyStyle {
public:
    PaletteStyle() : QProxyStyle(QStringLiteral("fusion")) {}

    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override {
        QProxyStyle::drawPrimitive(element, option, painter, widget);
        const QPalette& palette = option->palette;
        const QColor ground = palette.color(QPalette::Window), ink = palette.color(QPalette::Text);
        const bool indicates = element == PE_IndicatorCheckBox ||
                               element == PE_IndicatorItemViewItemCheck ||
                               element == PE_IndicatorRadioButton;
        // One with the focus has an outline of its own.
        const bool isField = element == PE_PanelLineEdit &&
                             qobject_cast<const QLineEdit*>(widget) &&
                             !(option->state & State_HasFocus);
        if (!(indicates || isField) || ground.lightness() > ink.lightness())
            return;
        constexpr double share = 0.45; // 3 : 1 against the ground
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(mixed(ground, ink, share));
        painter->setBrush(Qt::NoBrush);
        const QRectF rect = QRectF(option->rect).adjusted(0.5, 0.5, -0.5, -0.5);
        const double corner = element == PE_IndicatorRadioButton ? rect.width() / 2 : 2;
        painter->drawRoundedRect(rect, corner, corner);
        painter->restore();
    }
};

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
    // The styles of some desktops draw in colours of their own.
    QApplication::setStyle(new PaletteStyle);
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
