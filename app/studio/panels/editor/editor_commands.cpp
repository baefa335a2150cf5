// SPDX-License-Identifier: Apache-2.0
// What a person does in the Rules panel: save, find, go to a definition, rename, format, fix.
#include "app/pipeline/derive.h"
#include "app/studio/panels/editor/editor_panel.h"
#include "app/studio/panels/editor/utf8_map.h"
#include "app/studio/session/counted.h"
#include "app/studio/session/similar_places.h"
#include "app/studio/workbench/file_dialogs.h"

#include <QMainWindow>
#include <QMenu>
#include <QPointer>
#include <QStatusBar>
#include <QTextBlock>
#include <map>

namespace fuselage::studio {

namespace {

const char* const newText = "fuse 1;\n\nrule MyRule {\n  match { y = MatMul(x, w: const) -> Add(_, "
                            "b: const); }\n}\n";

} // namespace

void EditorPanel::addCommands() {
    CommandTable& table = m_workbench.commands;
    auto add = [&](const char* id, const QString& title, const char* keys, auto run) {
        table.add({id, "Rules", title, QKeySequence::listFromString(keys)}, run);
    };
    add("editor.new", tr("New rule file"), "Ctrl+N", [this] { newRule(newText); });
    add("editor.save", tr("Save rules"), "Ctrl+S", [this] { save(false); });
    add("editor.saveAs", tr("Save rules as ..."), "Ctrl+Shift+S", [this] { save(true); });
    add("editor.close", tr("Close rule file"), "Ctrl+W", [this] {
        if (m_tabs->currentIndex() >= 0)
            closeTab(m_tabs->currentIndex());
    });
    add("editor.recover", tr("Restore unsaved rules"), "", [this] {
        m_texts.recover();
        if (QAction* raise = m_workbench.commands.find("panel.editor"))
            raise->trigger();
    });
    add("editor.discard", tr("Throw away unsaved rules"), "",
        [this] { m_texts.discardRecovered(); });
    for (const char* id : {"editor.recover", "editor.discard"})
        table.setReason(id, [this] {
            return m_texts.recoverable() > 0 ? QString() : tr("nothing of an earlier run is left");
        });
    add("editor.find", tr("Find in the rules"), "Ctrl+F", [this] { find(); });
    add("editor.complete", tr("Complete"), "Ctrl+Space", [this] {
        if (CodeView* at = current())
            at->showCompletions();
    });
    add("editor.definition", tr("Go to definition"), "F12", [this] { goToDefinition(); });
    add("editor.rename", tr("Rename"), "F2", [this] { rename(); });
    add("editor.format", tr("Format"), "Ctrl+Shift+I", [this] { format(); });
    add("editor.fix", tr("Quick fix"), "Ctrl+.", [this] { fix(); });
    add("editor.derive", tr("New rule from selection"), "Ctrl+Shift+N", [this] { derive(); });
    add("find.similar", tr("Find more like the selection"), "Ctrl+Alt+K",
        [this] { findSimilar(); });
    add("editor.generalise", tr("New rule from all places like the selection"), "Ctrl+Alt+N",
        [this] { generalise(); });
    add("editor.fold", tr("Fold or unfold"), "Ctrl+Shift+[", [this] {
        CodeView* at = current();
        QTextBlock block = at ? at->textCursor().block() : QTextBlock();
        while (block.isValid() && !at->foldable(block))
            block = block.previous();
        if (block.isValid())
            at->toggleFold(block);
    });
    add("editor.nextMistake", tr("Next mistake"), "F8", [this] {
        if (CodeView* at = current())
            at->nextMistake(1);
    });
    add("editor.previousMistake", tr("Previous mistake"), "Shift+F8", [this] {
        if (CodeView* at = current())
            at->nextMistake(-1);
    });
}

void EditorPanel::newRule(const QString& text) {
    QString file = m_texts.create(text);
    if (QAction* raise = m_workbench.commands.find("panel.editor"))
        raise->trigger();
    view(file)->setFocus();
}

void EditorPanel::derive() {
    const SnapshotPtr& snapshot = m_workbench.session.snapshot();
    std::vector<std::string> nodes;
    for (const QString& node : m_workbench.selection.selection().before)
        nodes.push_back(node.toStdString());
    auto text = snapshot ? app::deriveRule(snapshot->model->graph, nodes)
                         : Result<std::string>(failure("derive.nodes", "no model is open"));
    if (text)
        newRule(QString::fromStdString(*text));
    else
        tell(QString::fromStdString(text.error().message + ": " + text.error().fix));
}

std::vector<std::vector<std::string>> EditorPanel::similarPlaces() const {
    const SnapshotPtr& snapshot = m_workbench.session.snapshot();
    std::vector<std::string> nodes;
    for (const QString& node : m_workbench.selection.selection().before)
        nodes.push_back(node.toStdString());
    return snapshot ? placesLike(snapshot->model->graph, nodes)
                    : std::vector<std::vector<std::string>>();
}

void EditorPanel::tell(const QString& message) {
    say(message);
    if (auto* window = qobject_cast<QMainWindow*>(this->window()))
        window->statusBar()->showMessage(message, 10'000);
}

void EditorPanel::findSimilar() {
    QStringList hits;
    const auto places = similarPlaces();
    for (const auto& place : places)
        for (const std::string& node : place)
            hits << QString::fromStdString(node);
    m_workbench.marks.setHits(hits);
    tell(places.empty() ? tr("select connected nodes that end in one of them")
                        : tr("%1 built like this; F3 goes through them")
                              .arg(counted(static_cast<qsizetype>(places.size()), tr("place is"),
                                           tr("places are"))));
}

/// The rule is compiled and run on all of them, so it is made beside the window.
void EditorPanel::generalise() {
    const auto places = similarPlaces();
    if (places.empty())
        return tell(tr("select connected nodes that end in one of them"));
    tell(tr("looking for what %1 in common ...")
             .arg(counted(static_cast<qsizetype>(places.size()), tr("place has"),
                          tr("places have"))));
    m_deriving.start([this, places, snapshot = m_workbench.session.snapshot()](Progress& progress) {
        auto rule = app::deriveShared(snapshot->model->graph, places, {}, progress);
        const auto error = rule ? Error{} : rule.error();
        const auto made = rule ? *rule : app::DerivedRule{};
        return JobLane::Delivery([this, made, error] {
            if (made.text.empty())
                return tell(QString::fromStdString(error.message + ": " + error.fix));
            newRule(QString::fromStdString(made.text));
            tell(tr("from %1; it fires on %2 as well")
                     .arg(counted(static_cast<qsizetype>(made.sites), tr("place"), tr("places")),
                          counted(static_cast<qsizetype>(made.others), tr("other"), tr("others"))));
        });
    });
}

void EditorPanel::save(bool elsewhere, std::function<void()> saved) {
    CodeView* at = current();
    const RuleText* text = at ? m_texts.find(at->file()) : nullptr;
    if (!text || text->builtin)
        return;
    if (!elsewhere && !text->isNew)
        return write(text->file, {}, saved);
    askSaveFile(this, tr("Save rules"), text->file, tr("rules (*.fuse)"),
                [this, file = text->file, saved = std::move(saved)](const QString& path) {
                    write(file, path, saved);
                });
}

void EditorPanel::write(const QString& file, const QString& path,
                        const std::function<void()>& saved) {
    QString error, name = m_texts.save(file, path, error);
    m_workbench.session.removeProblems(unwrittenCode);
    if (name.isNull()) {
        Problem problem;
        problem.code = unwrittenCode;
        problem.message = error;
        problem.fix = m_texts.changedOnDisk(file)
                          ? tr("Keep mine or Take theirs, above the text; or save it elsewhere")
                          : tr("save it elsewhere");
        m_workbench.session.addProblem(problem);
        return tell(error);
    }
    say(tr("saved %1").arg(name));
    if (saved)
        saved();
}

void EditorPanel::saveAll(std::function<void()> saved) {
    for (const RuleText& text : m_texts.all())
        if (CodeView* at = text.modified() ? view(text.file) : nullptr) {
            m_tabs->setCurrentWidget(at);
            return save(false, [this, saved = std::move(saved)] { saveAll(saved); });
        }
    if (saved)
        saved();
}

bool EditorPanel::findFrom(const QString& words, int direction, bool again) {
    CodeView* at = current();
    m_found = words;
    if (!at || words.isEmpty())
        return true;
    QTextDocument::FindFlags flags;
    if (direction < 0)
        flags |= QTextDocument::FindBackward;
    QTextCursor from = at->textCursor();
    if (!again)
        from.setPosition(from.selectionStart());
    QTextCursor hit = at->document()->find(words, from, flags);
    if (hit.isNull()) { // around the end
        from.movePosition(direction < 0 ? QTextCursor::End : QTextCursor::Start);
        hit = at->document()->find(words, from, flags);
    }
    if (!hit.isNull())
        at->select(hit.selectionStart(), hit.selectionEnd());
    return !hit.isNull();
}

void EditorPanel::find() {
    CodeView* at = current();
    if (!at)
        return;
    auto look = [this](const QString& words, int direction, bool again) {
        m_input->say(findFrom(words, direction, again) ? QString() : tr("not found"));
    };
    QString words = at->textCursor().selectedText();
    m_input->ask(
        tr("find"), words.isEmpty() ? m_found : words,
        [look](const QString& typed) { look(typed, 1, false); },
        [look](const QString& typed, int direction) { look(typed, direction, true); });
}

void EditorPanel::goToDefinition() {
    CodeView* at = current();
    if (!at)
        return;
    QPointer<EditorPanel> self(this);
    std::string name = at->file().toStdString();
    uint32_t offset = Utf8Map(at->toPlainText()).bytes(at->textCursor().position());
    m_language.ask([self, name, offset](dsl::LanguageService& service) -> Language::Answer {
        auto place = service.definition(name, offset);
        return [self, place] {
            if (!self)
                return;
            if (!place) {
                self->say(tr("nothing here has a definition in a .fuse file"));
                return;
            }
            QString file = QString::fromStdString(place->name);
            self->showPlace(file, 0);
            if (CodeView* there = self->view(file)) {
                Utf8Map map(there->toPlainText());
                there->select(map.character(place->begin), map.character(place->end));
                there->centerCursor();
            }
        };
    });
}

void EditorPanel::rename() {
    CodeView* at = current();
    if (!at)
        return;
    QTextCursor word = at->textCursor();
    word.select(QTextCursor::WordUnderCursor);
    m_input->ask(tr("new name of `%1`").arg(word.selectedText()), word.selectedText(), nullptr,
                 [this](const QString& name, int) { renameTo(name); });
}

void EditorPanel::renameTo(const QString& to) {
    CodeView* at = current();
    if (!at)
        return;
    QPointer<EditorPanel> self(this);
    std::string name = at->file().toStdString(), wanted = to.toStdString();
    uint32_t offset = Utf8Map(at->toPlainText()).bytes(at->textCursor().position());
    m_language.ask([self, name, wanted, offset](dsl::LanguageService& service) -> Language::Answer {
        auto edits = service.rename(name, offset, wanted);
        return [self, edits] {
            if (!self)
                return;
            if (!edits) {
                self->m_input->say(QString::fromStdString(edits.error().message));
                self->say(QString::fromStdString(edits.error().message));
                return;
            }
            self->apply(*edits);
            if (self->m_input->isVisible())
                self->m_input->dismiss();
        };
    });
}

/// Each file's edits are one change that can be taken back.
void EditorPanel::apply(const std::vector<dsl::TextEdit>& edits) {
    std::map<std::string, std::vector<dsl::TextEdit>> byFile;
    for (const dsl::TextEdit& edit : edits)
        byFile[edit.place.name].push_back(edit);
    for (const auto& [name, list] : byFile) {
        QString error, file = m_texts.open(QString::fromStdString(name), error);
        CodeView* at = view(file);
        if (!at || at->isReadOnly()) {
            say(tr("%1 is read-only").arg(QString::fromStdString(name)));
            return;
        }
    }
    for (auto& [name, list] : byFile) {
        CodeView* at = view(QString::fromStdString(name));
        if (!at)
            continue;
        Utf8Map map(at->toPlainText());
        std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
            return a.place.begin > b.place.begin; // from the end: places stay right
        });
        QTextCursor cursor(at->document());
        cursor.beginEditBlock();
        for (const dsl::TextEdit& edit : list) {
            cursor.setPosition(map.character(edit.place.begin));
            cursor.setPosition(map.character(edit.place.end), QTextCursor::KeepAnchor);
            cursor.insertText(QString::fromStdString(edit.text));
        }
        cursor.endEditBlock();
    }
}

void EditorPanel::format() {
    CodeView* at = current();
    if (!at || at->isReadOnly())
        return;
    QPointer<CodeView> self(at);
    std::string name = at->file().toStdString();
    QString asked = at->toPlainText();
    m_language.ask([self, name, asked](dsl::LanguageService& service) -> Language::Answer {
        QString formatted = QString::fromStdString(service.format(name));
        return [self, asked, formatted] {
            if (self && self->toPlainText() == asked)
                self->replaceText(formatted);
        };
    });
}

void EditorPanel::fix() {
    CodeView* at = current();
    if (!at || at->isReadOnly())
        return;
    QPointer<EditorPanel> self(this);
    std::string name = at->file().toStdString();
    QTextCursor cursor = at->textCursor();
    Utf8Map map(at->toPlainText());
    uint32_t begin = map.bytes(cursor.selectionStart()), end = map.bytes(cursor.selectionEnd());
    m_language.ask([self, name, begin, end](dsl::LanguageService& service) -> Language::Answer {
        auto actions = service.actions(name, begin, end);
        return [self, actions] {
            if (!self)
                return;
            CodeView* view = self->current();
            if (actions.empty()) {
                self->say(tr("no fix is known here"));
            } else if (actions.size() == 1) {
                self->apply(actions.front().edits);
            } else if (view) {
                QMenu menu(self);
                for (const dsl::CodeAction& action : actions)
                    menu.addAction(QString::fromStdString(action.title), self.data(),
                                   [self, action] { self->apply(action.edits); });
                menu.exec(view->viewport()->mapToGlobal(view->cursorRect().bottomLeft()));
            }
        };
    });
}

} // namespace fuselage::studio
