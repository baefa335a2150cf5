// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/colours.h"

#include <algorithm>

namespace fuselage::studio {

Colours::Colours(const QPalette& palette)
    : m_theme(palette.color(QPalette::Base).lightness() < 128 ? &app::darkTheme()
                                                              : &app::lightTheme()) {}

const QColor& Colours::operator[](const std::string& token) const {
    QString key = QString::fromStdString(token);
    auto found = m_known.find(key);
    if (found == m_known.end())
        found = m_known.insert(key, QColor(QString::fromStdString(m_theme->color(token))));
    return *found;
}

QColor mixed(const QColor& from, const QColor& to, double share) {
    double s = std::clamp(share, 0.0, 1.0);
    auto part = [s](int a, int b) { return static_cast<int>(a + s * (b - a) + 0.5); };
    return QColor(part(from.red(), to.red()), part(from.green(), to.green()),
                  part(from.blue(), to.blue()));
}

} // namespace fuselage::studio
