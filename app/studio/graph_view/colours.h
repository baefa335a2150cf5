// SPDX-License-Identifier: Apache-2.0
// The theme's tokens as Qt colours, light or dark as the palette is.
#pragma once

#include "app/report/theme.h"

#include <QColor>
#include <QPalette>
#include <string>
#include <unordered_map>

namespace fuselage::studio {

class Colours {
public:
    explicit Colours(const QPalette& palette);

    /// Colour of a token; looked up once.
    const QColor& operator[](const std::string& token) const;

    bool dark() const { return m_theme->dark; }

private:
    const app::Theme* m_theme;
    mutable std::unordered_map<std::string, QColor> m_known;
};

/// Of two colours as WCAG 2 has it: 1 to 21.
double contrast(const QColor& a, const QColor& b);

/// What WCAG 2 asks of small letters.
constexpr double readableContrast = 4.5;

/// The ink, or as much of black or white mixed into it as it takes to be read on the ground.
QColor legible(const QColor& ink, const QColor& ground);

/// Between two colours, 0 to 1.
QColor mixed(const QColor& from, const QColor& to, double share);

} // namespace fuselage::studio
