// SPDX-License-Identifier: Apache-2.0
// One rule text on the screen: colours, line numbers, folds, squiggles with tool tips, completions.
// Shows what Language says about the text; knows neither files nor the session.
#pragma once

#include "app/studio/panels/editor/fuse_highlighter.h"

#include <QCompleter>
#include <QPlainTextEdit>
#include <QStandardItemModel>

namespace fuselage::studio {

class CodeView : public QPlainTextEdit {
    Q_OBJECT

public:
    /// `file` is the name of the text in the service.
    CodeView(Language& language, const QString& file, QWidget* parent);

    const QString& file() const { return m_file; }

    void setFile(const QString& file) { m_file = file; }

    /// Replaces the text as one change that can be taken back; the cursor stays where it was.
    void replaceText(const QString& text);

    const TextFactsPtr& facts() const { return m_facts; }

    void setFacts(const TextFactsPtr& facts);

    /// The mistake at a position; null when there is none.
    const Mistake* mistakeAt(int position) const;

    void goToLine(int line); ///< one-based
    void select(int begin, int end);
    void nextMistake(int direction);

    /// How often names stand in the model: the usual ones are offered first.
    void setUsual(const QHash<QString, int>& counts) { m_usual = counts; }

    void showCompletions();
    QStandardItemModel& completions() { return *m_items; }

    /// Of a completion: its name and, in a column of its own, what it is: the signature of an
    /// operator, the values of an attribute.
    static constexpr int ShownRole = Qt::UserRole + 2;
    /// Puts the completion of that row in place of the word at the cursor.
    void insertCompletion(int row);

    void toggleFold(const QTextBlock& first);
    bool foldable(const QTextBlock& block) const;
    bool folded(const QTextBlock& block) const;

    int gutterWidth() const;
    void paintGutter(QPaintEvent* event, QWidget* gutter);
    void pressGutter(QMouseEvent* event);

Q_SIGNALS:
    void factsChanged();

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    QString wordBeforeCursor() const;
    void offer(std::vector<dsl::Completion> found);
    bool completionKey(QKeyEvent* event);
    void newLine();
    void underline();
    void placeGutter();
    void unfoldAround(const QTextBlock& block);
    void toolTip(const QPoint& place, const QPoint& global);
    int endOfFold(const QTextBlock& first) const; ///< block number of its last line, or -1

    Language& m_language;
    QString m_file;
    FuseHighlighter* m_highlighter;
    QWidget* m_gutter;
    QStandardItemModel* m_items;
    QCompleter* m_completer;
    TextFactsPtr m_facts;
    QHash<QString, int> m_usual;
};

} // namespace fuselage::studio
