// SPDX-License-Identifier: Apache-2.0
// The Rules panel: .fuse texts in tabs, each a CodeView, over RuleTexts (files) and Language (what
// is known about them). What is typed is matched at once by the Session.
#pragma once

#include "app/studio/panels/editor/code_view.h"
#include "app/studio/panels/editor/input_bar.h"
#include "app/studio/panels/editor/match_strip.h"
#include "app/studio/workbench/said_label.h"

#include <QHBoxLayout>
#include <QTabWidget>

namespace fuselage::studio {

/// Of Problems: a text that could not be saved.
inline constexpr const char* unwrittenCode = "unsaved.write";

class EditorPanel : public QWidget {
    Q_OBJECT

public:
    EditorPanel(Workbench& workbench, QWidget* parent);

    RuleTexts& texts() { return m_texts; }

    Language& language() { return m_language; }

    MatchStrip& strip() { return *m_strip; }

    InputBar& input() { return *m_input; }

    CodeView* current() const;
    CodeView* view(const QString& file) const { return m_views.value(file); }

    /// In the order of the tabs.
    QStringList openFiles() const;

    /// As they were left: files that are still there, then what was typed and not saved. The panel
    /// stays where it is.
    void reopen(const QStringList& files, const QString& current);

    /// Opens the file, also a built-in one, and shows a line of it; 0: where it was.
    void showPlace(const QString& file, int line);

    /// Asks where if it must; `saved` follows when it is on disk.
    void save(bool elsewhere, std::function<void()> saved = {});
    /// Saves whatever is not; `saved` follows when all of it is on disk.
    void saveAll(std::function<void()> saved);
    /// Before the window goes although what is unsaved cannot be kept: saves it, or throws it away;
    /// then `go`. A person may stay.
    void askBeforeLeaving(std::function<void()> go);
    void format();
    void find();
    void goToDefinition();
    void rename(); ///< asks for the new name
    void renameTo(const QString& name);
    void fix();
    void newRule(const QString& text);
    void findSimilar(); ///< marks places built like the selection
    void generalise();  ///< a new rule of what they have in common
    void derive();      ///< a new rule that matches the selected nodes

    /// What the panel last said, or the mistake at the cursor.
    QString message() const { return m_message->text(); }

private:
    void addCommands();
    void addBuiltinMenu(QToolButton* button);
    void addView(const QString& file);
    void renamed(const QString& from, const QString& to);
    void write(const QString& file, const QString& path, const std::function<void()>& saved);
    void closeTab(int index);
    void askAboutUnsaved(const QString& question, const std::function<void()>& save,
                         const std::function<void()>& discard);
    void closeView(const QString& file);
    void edited(CodeView* view);
    void apply(const std::vector<dsl::TextEdit>& edits);
    void showTitle(const QString& file);
    void showNotice();
    void showMistake();
    /// Answers what the person asked for; stands until the text or the cursor changes.
    void say(const QString& message);
    QHash<QString, int> operatorCounts() const;
    void tell(const QString& message); ///< where it is seen with the panel shut, too
    std::vector<std::vector<std::string>> similarPlaces() const;
    void notice(const QString& text,
                const std::vector<std::pair<QString, std::function<void()>>>& ways);
    bool findFrom(const QString& words, int direction, bool again);

    Workbench& m_workbench;
    RuleTexts m_texts;
    Language m_language;
    JobLane m_deriving;
    QHash<QString, CodeView*> m_views;
    QTabWidget* m_tabs;
    QWidget* m_notice;
    MatchStrip* m_strip;
    InputBar* m_input;
    SaidLabel* m_message;
    QString m_found;         ///< words of the last search
    bool m_answered = false; ///< the message answers a question
};

QWidget* makeEditorPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
