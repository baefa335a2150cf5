// SPDX-License-Identifier: Apache-2.0
// A label that says something at its place: numbers, an answer, a mistake. Its accessible name says
// what it is, and a name takes the text's place for a screen reader, so the text is its
// description.
#pragma once

#include <QLabel>
#include <QTextDocumentFragment>

namespace fuselage::studio {

class SaidLabel : public QLabel {
public:
    SaidLabel(const QString& name, QWidget* parent) : QLabel(parent) { setAccessibleName(name); }

    /// In place of QLabel's: the description goes with the text, and says so to a screen reader.
    void setText(const QString& text) {
        QLabel::setText(text);
        const bool rich = textFormat() == Qt::RichText ||
                          (textFormat() == Qt::AutoText && Qt::mightBeRichText(text));
        const QString words =
            rich ? QTextDocumentFragment::fromHtml(text).toPlainText().simplified() : text;
        if (words != accessibleDescription())
            setAccessibleDescription(words);
    }

    void clear() { setText({}); }
};

} // namespace fuselage::studio
