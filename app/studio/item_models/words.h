// SPDX-License-Identifier: Apache-2.0
// Texts of the Report as Qt strings; what every table and panel needs.
#pragma once

#include <QString>
#include <QStringList>
#include <string>
#include <vector>

namespace fuselage::studio {

inline QString words(const std::string& text) {
    return QString::fromStdString(text);
}

inline QStringList wordList(const std::vector<std::string>& texts) {
    QStringList out;
    for (const std::string& text : texts)
        out.append(words(text));
    return out;
}

} // namespace fuselage::studio
