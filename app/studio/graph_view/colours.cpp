// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/colours.h"

#include <algorithm>
#include <cmath>

namespace fuselage::studio {

Colours::Colours(const QPalette& palette)
    : m_theme(palette.color(QPalette::Base).lightness() < 128 ? &app::darkTheme()
                                                              : &app::lightTheme()) {}

const QColor& Colours::operator[](const std::string& token) const {
    auto [found, isNew] = m_known.try_emplace(token);
    if (isNew)
        found->second = QColor(QString::fromStdString(m_theme->color(token)));
    return found->second;
}

double contrast(const QColor& a, const QColor& b) {
    const auto luminance = [](const QColor& colour) {
        const auto linear = [](double c) {
            return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
        };
        return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) +
               0.0722 * linear(colour.blueF());
    };
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

QColor legible(const QColor& ink, const QColor& ground) {
    constexpr int steps = 20;
    const QColor black(0, 0, 0), white(255, 255, 255);
    const QColor& far = contrast(black, ground) >= contrast(white, ground) ? black : white;
    QColor out = ink;
    for (int step = 1; step <= steps && contrast(out, ground) < readableContrast; ++step)
        out = mixed(ink, far, static_cast<double>(step) / steps);
    return out;
}

QColor mixed(const QColor& from, const QColor& to, double share) {
    double s = std::clamp(share, 0.0, 1.0);
    auto part = [s](int a, int b) { return static_cast<int>(a + s * (b - a) + 0.5); };
    return QColor(part(from.red(), to.red()), part(from.green(), to.green()),
                  part(from.blue(), to.blue()));
}

} // namespace fuselage::studio
