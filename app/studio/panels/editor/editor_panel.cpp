// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/editor/editor_panel.h"

#include "app/studio/session/counted.h"
#include "patterns/embedded.h"

#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QPointer>
#include <QVBoxLayout>

namespace fuselage::studio {

EditorPanel::EditorPanel(Workbench& workbench, QWidget* parent)
    : QWidget(parent), m_workbench(workbench), m_texts(workbench.session, recoveryFileOfUser()),
      m_tabs(new QTabWidget(this)), m_notice(new QWidget(this)),
      m_strip(new MatchStrip(workbench, m_texts, this)), m_input(new InputBar(this)),
      m_message(new SaidLabel(tr("mistake at the cursor"), this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    for (QWidget* part : {static_cast<QWidget*>(m_strip), m_notice})
        layout->addWidget(part);
    layout->addWidget(m_tabs, 1);
    layout->addWidget(m_input);
    layout->addWidget(m_message);
    m_message->setContentsMargins(6, 2, 6, 2);
    m_message->setObjectName("editorMessage");
    m_message->setTextFormat(Qt::PlainText);
    m_message->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_tabs->setTabsClosable(true);
    m_tabs->setMovable(true);
    m_tabs->setDocumentMode(true);
    m_tabs->setAccessibleName(tr("open rule files"));
    auto* builtin = new QToolButton(m_tabs);
    builtin->setText(tr("Built-in"));
    builtin->setAccessibleName(tr("built-in rule files"));
    addBuiltinMenu(builtin);
    m_tabs->setCornerWidget(builtin);
    connect(m_tabs, &QTabWidget::tabCloseRequested, this, &EditorPanel::closeTab);
    connect(m_tabs, &QTabWidget::currentChanged, this, [this] {
        setFocusProxy(current());
        showNotice();
        showMistake();
    });
    connect(&m_texts, &RuleTexts::opened, this, &EditorPanel::addView);
    connect(&m_texts, &RuleTexts::renamed, this, &EditorPanel::renamed);
    connect(&m_texts, &RuleTexts::stateChanged, this, [this](const QString& file) {
        showTitle(file);
        showNotice();
    });
    connect(&m_texts, &RuleTexts::replaced, this, [this](const QString& file) {
        if (CodeView* at = view(file)) {
            const QString words = m_texts.find(file)->text;
            at->replaceText(words);
            m_language.set(file, words, m_texts.importPath(file));
        }
    });
    connect(&m_language, &Language::analysed, this,
            [this](const QString& file, const TextFactsPtr& facts) {
                if (CodeView* at = view(file))
                    at->setFacts(facts);
            });
    connect(m_input, &InputBar::dismissed, this, [this] {
        if (CodeView* at = current())
            at->setFocus();
    });
    connect(&workbench.session, &Session::placeWanted, this, &EditorPanel::showPlace);
    connect(&workbench.session, &Session::snapshotChanged, this, [this] {
        if (m_views.isEmpty())
            return;
        const QHash<QString, int> usual = operatorCounts();
        for (CodeView* view : std::as_const(m_views))
            view->setUsual(usual);
    });
    addCommands();
    showNotice();
}

CodeView* EditorPanel::current() const {
    return qobject_cast<CodeView*>(m_tabs->currentWidget());
}

QStringList EditorPanel::openFiles() const {
    QStringList out;
    for (int tab = 0; tab < m_tabs->count(); ++tab)
        if (auto* each = qobject_cast<CodeView*>(m_tabs->widget(tab)))
            out << each->file();
    return out;
}

void EditorPanel::reopen(const QStringList& files, const QString& current) {
    QString error;
    for (const QString& file : files)
        m_texts.open(file, error); // one that is gone is no news
    m_texts.recover();
    if (CodeView* at = view(current))
        m_tabs->setCurrentWidget(at);
    showNotice();
}

void EditorPanel::addBuiltinMenu(QToolButton* button) {
    auto* menu = new QMenu(button);
    for (std::string_view path : embeddedPatternPaths()) {
        QString file = QString::fromUtf8(path.data(), static_cast<qsizetype>(path.size()));
        menu->addAction(file, this, [this, file] { showPlace(file, 0); });
    }
    button->setMenu(menu);
    button->setPopupMode(QToolButton::InstantPopup);
}

void EditorPanel::showPlace(const QString& file, int line) {
    QString error, name = m_texts.open(file, error);
    if (name.isNull()) {
        say(error);
        return;
    }
    if (QAction* raise = m_workbench.commands.find("panel.editor"))
        raise->trigger();
    if (line > 0)
        view(name)->goToLine(line);
    view(name)->setFocus();
}

/// Of the open model.
QHash<QString, int> EditorPanel::operatorCounts() const {
    QHash<QString, int> out;
    if (const app::Report* report = m_workbench.session.report())
        for (const app::GraphNodeReport& node : report->before.graph.nodes)
            ++out[QString::fromStdString(node.op)];
    return out;
}

void EditorPanel::addView(const QString& file) {
    if (CodeView* there = view(file)) {
        m_tabs->setCurrentWidget(there);
        return;
    }
    const RuleText& text = *m_texts.find(file);
    auto* made = new CodeView(m_language, file, m_tabs);
    made->setPlainText(text.text);
    made->setReadOnly(text.builtin);
    m_views[file] = made;
    // Files of the same rules may be imported: the service must know them.
    m_language.lookIn(m_texts.importFolders());
    for (const auto& [other, importPath] : m_texts.ruleFiles())
        if (!view(other))
            if (auto words = m_texts.onDisk(other))
                m_language.set(other, *words, importPath);
    m_language.set(file, text.text, m_texts.importPath(file));
    made->setUsual(operatorCounts());
    connect(made, &QPlainTextEdit::textChanged, this, [this, made] { edited(made); });
    connect(made, &QPlainTextEdit::cursorPositionChanged, this, &EditorPanel::showMistake);
    connect(made, &CodeView::factsChanged, this, [this] {
        if (!m_answered)
            showMistake();
    });
    m_tabs->setCurrentIndex(m_tabs->addTab(made, {}));
    showTitle(file);
    showNotice();
}

void EditorPanel::edited(CodeView* view) {
    const RuleText* text = m_texts.find(view->file());
    if (!text || text->text == view->toPlainText()) // only the colours changed
        return;
    m_answered = false;
    QString words = view->toPlainText();
    m_language.set(view->file(), words, m_texts.importPath(view->file()));
    m_texts.edit(view->file(), words);
}

void EditorPanel::renamed(const QString& from, const QString& to) {
    CodeView* moved = m_views.take(from);
    m_language.remove(from);
    if (!moved)
        return;
    m_views[to] = moved;
    moved->setFile(to);
    m_language.set(to, moved->toPlainText(), m_texts.importPath(to));
    showTitle(to);
}

void EditorPanel::closeTab(int index) {
    auto* closing = qobject_cast<CodeView*>(m_tabs->widget(index));
    const RuleText* text = m_texts.find(closing->file());
    if (!text || !text->modified())
        return closeView(closing->file());
    m_tabs->setCurrentIndex(index);
    const auto close = [this, closing = QPointer<CodeView>(closing)] {
        if (closing)
            closeView(closing->file());
    };
    askAboutUnsaved(
        tr("Save the changes of %1?").arg(closing->file()), [this, close] { save(false, close); },
        close);
}

void EditorPanel::askAboutUnsaved(const QString& question, const std::function<void()>& save,
                                  const std::function<void()>& discard) {
    auto* box =
        new QMessageBox(QMessageBox::Question, tr("Unsaved rules"), question,
                        QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    box->setObjectName("unsavedRules");
    box->setAttribute(Qt::WA_DeleteOnClose);
    connect(box, &QMessageBox::finished, this, [save, discard](int answer) {
        if (answer == QMessageBox::Save)
            save();
        else if (answer == QMessageBox::Discard)
            discard();
    });
    box->open();
}

void EditorPanel::askBeforeLeaving(std::function<void()> go) {
    askAboutUnsaved(
        tr("What was typed cannot be kept for the next start. Save it now?"),
        [this, go] { saveAll(go); }, go);
}

void EditorPanel::closeView(const QString& file) {
    CodeView* closing = m_views.take(file);
    if (!closing)
        return;
    m_tabs->removeTab(m_tabs->indexOf(closing));
    m_texts.close(file);
    m_language.remove(file);
    closing->deleteLater();
}

void EditorPanel::showTitle(const QString& file) {
    CodeView* at = view(file);
    const RuleText* text = m_texts.find(file);
    if (!at || !text)
        return;
    int index = m_tabs->indexOf(at);
    QString title = text->builtin ? file : QFileInfo(file).fileName();
    m_tabs->setTabText(index, text->modified() && !text->builtin ? title + " *" : title);
    m_tabs->setTabToolTip(index, text->modified() ? tr("%1, not saved").arg(file) : file);
}

void EditorPanel::notice(const QString& text,
                         const std::vector<std::pair<QString, std::function<void()>>>& ways) {
    auto* line = new QWidget(m_notice);
    auto* layout = new QHBoxLayout(line);
    layout->setContentsMargins(6, 2, 6, 2);
    auto* label = new QLabel(text, line);
    label->setObjectName("ruleNotice");
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    layout->addWidget(label, 1);
    for (const auto& [title, run] : ways) {
        auto* button = new QToolButton(line);
        button->setText(title);
        button->setAccessibleName(title);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        connect(button, &QToolButton::clicked, this, [this, run = run] {
            run();
            showNotice();
        });
        layout->addWidget(button);
    }
    m_notice->layout()->addWidget(line);
}

void EditorPanel::showNotice() {
    if (!m_notice->layout()) {
        auto* layout = new QVBoxLayout(m_notice);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(0);
    }
    while (QLayoutItem* item = m_notice->layout()->takeAt(0)) {
        item->widget()->deleteLater(); // one of its buttons may be what runs this
        item->widget()->hide();
        delete item;
    }
    CodeView* at = current();
    const RuleText* text = at ? m_texts.find(at->file()) : nullptr;
    const auto choose = [this, text](void (RuleTexts::*way)(const QString&)) {
        return [this, way, file = text->file] {
            m_workbench.session.removeProblems(unwrittenCode);
            (m_texts.*way)(file);
        };
    };
    if (text && m_texts.changedOnDisk(text->file))
        notice(tr("%1 was changed on disk").arg(QFileInfo(text->file).fileName()),
               {{tr("Keep mine"), choose(&RuleTexts::keepMine)},
                {tr("Take theirs"), choose(&RuleTexts::takeTheirs)}});
    if (text && m_texts.goneFromDisk(text->file))
        notice(tr("%1 was deleted on disk; it is matched as it is here")
                   .arg(QFileInfo(text->file).fileName()),
               {{tr("Save it again"), [this] { save(false); }}});
    if (text && text->builtin)
        notice(tr("built-in, read-only"), {{tr("Edit a copy"), [this, file = text->file] {
                                                QString error;
                                                if (m_texts.editCopy(file, error).isNull())
                                                    say(error);
                                            }}});
    if (m_tabs->count() == 0)
        notice(tr("no rule file is open"),
               {{tr("New rule"), [this] { m_workbench.commands.find("editor.new")->trigger(); }},
                {tr("Open ..."), [this] { m_workbench.commands.find("file.open")->trigger(); }}});
    m_notice->setVisible(m_notice->layout()->count() > 0);
}

void EditorPanel::showMistake() {
    m_answered = false;
    CodeView* at = current();
    const Mistake* mistake = at ? at->mistakeAt(at->textCursor().position()) : nullptr;
    if (mistake)
        m_message->setText(mistake->code + ": " + mistake->message +
                           (mistake->fix.isEmpty() ? QString() : tr(" — %1").arg(mistake->fix)));
    else if (at && at->facts() && !at->facts()->mistakes.empty())
        m_message->setText(tr("%1; F8 goes to the next")
                               .arg(counted(static_cast<qsizetype>(at->facts()->mistakes.size()),
                                            tr("mistake"), tr("mistakes"))));
    else
        m_message->clear();
}

void EditorPanel::say(const QString& message) {
    m_answered = true;
    m_message->setText(message);
}

QWidget* makeEditorPanel(Workbench& workbench, QWidget* parent) {
    return new EditorPanel(workbench, parent);
}

} // namespace fuselage::studio
