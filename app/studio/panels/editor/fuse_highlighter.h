// SPDX-License-Identifier: Apache-2.0
// Colours of a rule text from the language service; knows no words of the language itself. Between
// a key and the service's answer the colours move along with the text.
#pragma once

#include "app/studio/panels/editor/language.h"

#include <QSyntaxHighlighter>

namespace fuselage::studio {

class FuseHighlighter : public QSyntaxHighlighter {
    Q_OBJECT

public:
    FuseHighlighter(QTextDocument* document, const QPalette& palette);

    void setColours(std::vector<Coloured> colours);
    void setPalette(const QPalette& palette);

protected:
    void highlightBlock(const QString& text) override;

private:
    void shift(int position, int removed, int added);

    std::vector<Coloured> m_colours; ///< sorted
    std::vector<QTextCharFormat> m_formats;
};

} // namespace fuselage::studio
