// SPDX-License-Identifier: Apache-2.0
// Tool tips of what models and rules say. Qt shows text that looks like HTML as HTML; a node may be
// called `<b>`, or name a picture to load.
#pragma once

#include <QString>
#include <QTextDocument>

namespace fuselage::studio {

/// A tool tip that shows the text as it is written.
inline QString plainTip(const QString& text) {
    if (!Qt::mightBeRichText(text))
        return text;
    return QStringLiteral("<p style='white-space:pre-wrap'>%1</p>").arg(text.toHtmlEscaped());
}

} // namespace fuselage::studio
