// SPDX-License-Identifier: Apache-2.0
// The Rules panel as a person uses it: type, see mistakes, complete, rename, format, save, lose
// nothing; and what typing does to the matches.
#include "app/studio/panels/editor/editor_panel.h"
#include "app/studio/shell/main_window.h"
#include "tests/studio/sample.h"

#include <QAbstractItemView>
#include <QStandardPaths>
#include <QTextBlock>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

namespace {

const char* const oneRule = "fuse 1;\n\nrule R {\n  match { y = BatchNormalization -> Relu; }\n}\n";

} // namespace

class EditorTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() {
        QStandardPaths::setTestModeEnabled(true);
        m_model = writeZooModel(m_folder, "resnet18");
    }

    void init() {
        QFile::remove(recoveryFileOfUser());
        m_settings =
            std::make_unique<QSettings>(m_folder.filePath("editor.ini"), QSettings::IniFormat);
        m_window = std::make_unique<MainWindow>(*m_settings);
        m_window->show();
        m_panel = m_window->findChild<EditorPanel*>();
        QVERIFY(m_panel);
    }

    void cleanup() { m_window.reset(); }

    void typingAMistakeUnderlinesItAndSaysWhatIsWrong() {
        CodeView* view = fresh("fuse 1;\nrule R { match { y = Relu(x); } }\n");
        QVERIFY(known(view));
        QVERIFY(view->facts()->mistakes.empty());
        view->moveCursor(QTextCursor::End);
        QTest::keyClicks(view, "rule S { match { y = Rellu(x); } }");
        QVERIFY(known(view));
        QCOMPARE(view->facts()->mistakes.size(), size_t(1));
        const Mistake& mistake = view->facts()->mistakes[0];
        QCOMPARE(view->toPlainText().mid(mistake.begin, mistake.end - mistake.begin), "Rellu");
        bool waves = false;
        for (const auto& each : view->extraSelections())
            waves = waves || each.format.underlineStyle() == QTextCharFormat::WaveUnderline;
        QVERIFY(waves);
        view->nextMistake(1);
        QVERIFY2(m_panel->message().contains("Relu"), qPrintable(m_panel->message()));
    }

    void aQuickFixMendsIt() {
        CodeView* view = fresh("fuse 1;\nrule R { match { y = Rellu(x); } }\n");
        QVERIFY(known(view));
        view->nextMistake(1);
        m_window->commands().find("editor.fix")->trigger();
        QTRY_VERIFY2(view->toPlainText().contains("= Relu(x)"), qPrintable(view->toPlainText()));
    }

    void coloursFollowTheText() {
        CodeView* view =
            fresh("fuse 1;\n// \u00e4\u00f6 a comment\nrule R { match { y = Relu(x); } }\n");
        QVERIFY(known(view));
        auto colourAt = [&](int line, const QString& word) {
            QTextBlock block = view->document()->findBlockByNumber(line);
            int at = static_cast<int>(block.text().indexOf(word));
            for (const auto& range : block.layout()->formats())
                if (at >= range.start && at < range.start + range.length)
                    return range.format.foreground().color();
            return QColor();
        };
        QVERIFY(colourAt(2, "Relu").isValid());
        QVERIFY(colourAt(2, "Relu") != colourAt(2, "match"));
        QVERIFY(colourAt(1, "comment").isValid());
    }

    void completionsShowWhatTheyAreInAColumnOfTheirOwn() {
        CodeView* view = fresh("fuse 1;\nrule R { match { y =  } }\n");
        QVERIFY(known(view));
        int at = static_cast<int>(view->toPlainText().indexOf("=  ")) + 2;
        view->select(at, at);
        QTest::keyClicks(view, "Con");
        QTRY_VERIFY(rowOf(view, "Conv") >= 0 && rowOf(view, "ConvTranspose") >= 0);
        auto second = [&](const char* label) {
            const QStandardItem* item = view->completions().item(rowOf(view, label));
            const QString words = item->toolTip().section('\n', 0, 0).left(20);
            return item->data(CodeView::ShownRole).toString().indexOf(words);
        };
        QVERIFY(second("Conv") > QString("ConvTranspose").size());
        QCOMPARE(second("Conv"), second("ConvTranspose"));
    }

    void completionInsertsAnOperator() {
        CodeView* view = fresh("fuse 1;\nrule R { match { y =  } }\n");
        QVERIFY(known(view));
        int at = static_cast<int>(view->toPlainText().indexOf("=  ")) + 2;
        view->select(at, at);
        QTest::keyClicks(view, "BatchN");
        QTRY_VERIFY(rowOf(view, "BatchNormalization") >= 0);
        view->insertCompletion(rowOf(view, "BatchNormalization"));
        QVERIFY2(view->toPlainText().contains("y = BatchNormalization"),
                 qPrintable(view->toPlainText()));
    }

    void renameChangesEveryUse() {
        CodeView* view = fresh("fuse 1;\npattern Pat(x) -> y { y = Relu(x); }\n"
                               "rule R { match { y = Exp(x) -> Pat; } }\n");
        QVERIFY(known(view));
        int at = static_cast<int>(view->toPlainText().indexOf("Pat;"));
        view->select(at, at);
        m_panel->renameTo("Other");
        QTRY_VERIFY2(!view->toPlainText().contains("Pat("), qPrintable(view->toPlainText()));
        QCOMPARE(view->toPlainText().count("Other"), 2);
        view->undo();
        QCOMPARE(view->toPlainText().count("Pat"), 2);
        QVERIFY(known(view));
        view->select(at, at);
        m_panel->renameTo("lower");
        QTRY_VERIFY2(m_panel->message().contains("upper-case"), qPrintable(m_panel->message()));
        Q_EMIT view->factsChanged(); // what is found meanwhile does not hide the answer
        QVERIFY2(m_panel->message().contains("upper-case"), qPrintable(m_panel->message()));
        QTest::keyClicks(view, " ");
        QVERIFY2(!m_panel->message().contains("upper-case"), qPrintable(m_panel->message()));
    }

    void formattingKeepsTheMeaning() {
        CodeView* view = fresh("fuse 1;\nrule R{match{y=Relu( x );}}\n");
        QVERIFY(known(view));
        m_panel->format();
        QTRY_VERIFY2(view->toPlainText().contains("y = Relu(x);"), qPrintable(view->toPlainText()));
    }

    void aDefinitionOpensTheBuiltinFileReadOnly() {
        CodeView* view = fresh("fuse 1;\nimport \"std/activation\";\n"
                               "rule R { match { y = Exp(x) -> Silu; } }\n");
        QVERIFY(known(view));
        int at = static_cast<int>(view->toPlainText().indexOf("Silu;"));
        view->select(at, at);
        m_panel->goToDefinition();
        QTRY_VERIFY(m_panel->current() && m_panel->current()->file() == "std/activation");
        QVERIFY(m_panel->current()->isReadOnly());
        QCOMPARE(m_panel->current()->textCursor().selectedText(), "Silu");
    }

    void foldingHidesTheBody() {
        CodeView* view = fresh(oneRule);
        QVERIFY(known(view));
        QTextBlock rule = view->document()->findBlockByNumber(2);
        QVERIFY(view->foldable(rule));
        view->toggleFold(rule);
        QVERIFY(!view->document()->findBlockByNumber(3).isVisible());
        view->toggleFold(rule);
        QVERIFY(view->document()->findBlockByNumber(3).isVisible());
    }

    void findSelectsAndGoesAround() {
        CodeView* view = fresh("fuse 1;\n// one two\n// two\n");
        m_panel->find();
        QTest::keyClicks(&m_panel->input().line(), "two");
        QCOMPARE(view->textCursor().selectedText(), "two");
        int first = view->textCursor().selectionStart();
        QTest::keyClick(&m_panel->input().line(), Qt::Key_Return);
        QVERIFY(view->textCursor().selectionStart() > first);
        QTest::keyClick(&m_panel->input().line(), Qt::Key_Return);
        QCOMPARE(view->textCursor().selectionStart(), first);
    }

    void typingMatchesAgainAndTheStripSaysWhatChanged() {
        QString rules = writeText(m_folder, "typed.fuse", "fuse 1;\n");
        SessionOptions options;
        options.rules.builtin = false;
        m_window->session().setOptions(options);
        m_window->openFiles({m_model, rules});
        QVERIFY(settled(m_window->session()));
        CodeView* view = m_panel->view(rules);
        QVERIFY(view);
        view->moveCursor(QTextCursor::End);
        view->insertPlainText("rule R { match { y = BatchNormalization -> Relu; } }\n");
        QVERIFY(m_window->session().stale());
        QVERIFY(settled(m_window->session()));
        size_t gained = m_panel->strip().changes().gained.size();
        QVERIFY(gained > 0);
        QVERIFY(m_panel->strip().text().contains(QString("gained %1").arg(gained)));
        QVERIFY(!m_window->marks().all().isEmpty());
        m_panel->strip().step(1);
        QCOMPARE(m_window->selection().selection().after.size(), 1);

        view->insertPlainText("rule Broken { match { y = Rellu(x); } }\n");
        QVERIFY(settled(m_window->session()));
        QVERIFY2(m_panel->strip().text().startsWith("stale"), qPrintable(m_panel->strip().text()));
        QVERIFY(m_window->session().snapshot()->report().matches.size() == gained);

        view->undo();
        QString error;
        QVERIFY(!m_panel->texts().save(rules, {}, error).isNull());
        QVERIFY(settled(m_window->session()));
        QVERIFY(!m_panel->strip().changes().any()); // what is saved is the new measure
        QFile file(rules);
        QVERIFY(file.open(QFile::ReadOnly));
        QCOMPARE(QString::fromUtf8(file.readAll()), view->toPlainText());
    }

    void theStripSaysWhatCostsLeaveOut() {
        auto graph = model_io::loadText(
            "g (float[1,96,20,20] x, float[1,96,40,40] b) => (float[1,96,40,40] y)"
            " <float[4] s = {1, 1, 2, 2}>"
            " { r = Resize<mode = \"nearest\">(x, , s)  a = Add(r, b)  y = Relu(a) }");
        QVERIFY(graph);
        QString model = m_folder.filePath("enlarged.onnx");
        QVERIFY(model_io::save(*graph, model.toStdString()));
        QString rules = writeText(m_folder, "enlarged.fuse",
                                  "fuse 1;\nrule R { match { y = Resize -> Add(_, side); } }\n");
        SessionOptions options;
        options.rules.builtin = false;
        for (bool asks : {true, false}) {
            options.fuse.decide = asks ? app::FuseOptions().decide : Decide::Rules;
            m_window->session().setOptions(options);
            m_window->openFiles({model, rules});
            QVERIFY(settled(m_window->session()));
            const QString text = m_panel->strip().text();
            QVERIFY2(text.contains("1 match is left out") == asks, qPrintable(text));
            options = m_window->session().options();
        }
    }

    void aRuleDerivedFromASelectionMatchesIt() {
        SessionOptions options;
        options.rules.builtin = false;
        m_window->session().setOptions(options);
        m_window->openFiles({m_model});
        QVERIFY(settled(m_window->session()));
        const auto& nodes = m_window->session().snapshot()->report().before.graph.nodes;
        QStringList chosen;
        for (size_t i = 0; i < 3; ++i)
            chosen.append(QString::fromStdString(nodes[i].name));
        m_window->selection().selectBefore(chosen);
        m_window->commands().find("editor.derive")->trigger();
        QVERIFY(m_panel->current());
        QVERIFY(settled(m_window->session()));
        QVERIFY2(m_window->session().problems().isEmpty(),
                 qPrintable(m_panel->current()->toPlainText()));
        QVERIFY(!m_window->session().snapshot()->provenance.after(chosen).isEmpty());
        QCOMPARE(m_window->session().snapshot()->provenance.after(chosen).size(), 1);
    }

    void aFileThatChangesOnDiskIsOfferedAndNothingTypedIsLost() {
        QString rules = writeText(m_folder, "shared.fuse", oneRule);
        m_panel->showPlace(rules, 3);
        CodeView* view = m_panel->view(rules);
        QCOMPARE(view->textCursor().blockNumber(), 2);
        view->insertPlainText("// mine\n");
        writeText(m_folder, "shared.fuse", "fuse 1;\n// theirs\n");
        QTRY_VERIFY(m_panel->texts().changedOnDisk(rules));
        QVERIFY(view->toPlainText().contains("// mine"));
        m_panel->texts().takeTheirs(rules);
        QCOMPARE(view->toPlainText(), "fuse 1;\n// theirs\n");
        view->undo();
        QVERIFY(view->toPlainText().contains("// mine"));
    }

    void whatWasNotSavedIsOfferedAtTheNextStart() {
        CodeView* view = fresh("fuse 1;\n// precious\n");
        QVERIFY(view);
        QTRY_VERIFY(QFile::exists(recoveryFileOfUser()));
        m_window.reset();
        m_window = std::make_unique<MainWindow>(*m_settings);
        m_panel = m_window->findChild<EditorPanel*>();
        QCOMPARE(m_panel->texts().recoverable(), 1);
        m_panel->texts().recover();
        QVERIFY(m_panel->current());
        QVERIFY(m_panel->current()->toPlainText().contains("// precious"));
    }

    void twoWindowsKeepTheirTextsApart() {
        const QString file = m_folder.filePath("two/unsaved.rules");
        Session session;
        {
            RuleTexts first(session, file), second(session, file);
            QCOMPARE(second.recoverable(), 0); // what is open next door was not lost
            const QString name = first.create("fuse 1;\n// of the first\n");
            second.create("fuse 1;\n// of the second\n");
            first.edit(name, "fuse 1;\n// of the first, typed\n");
        } // both end without saving
        {
            RuleTexts next(session, file);
            QCOMPARE(next.recoverable(), 2);
            next.recover();
            QString all;
            for (const RuleText& text : next.all())
                all += text.text;
            QVERIFY(all.contains("// of the first, typed"));
            QVERIFY(all.contains("// of the second"));
            for (QString each : {QString("new-1.fuse"), QString("new-2.fuse")})
                next.close(each);
        }
        RuleTexts last(session, file);
        QCOMPARE(last.recoverable(), 0);
    }

private:
    CodeView* fresh(const QString& text) {
        m_panel->newRule(text);
        return m_panel->current();
    }

    bool known(CodeView* view) {
        return QTest::qWaitFor(
            [&] { return view->facts() && view->facts()->text == view->toPlainText(); }, 20'000);
    }

    static int rowOf(CodeView* view, const QString& label) {
        for (int row = 0; row < view->completions().rowCount(); ++row)
            if (view->completions().item(row)->text() == label)
                return row;
        return -1;
    }

    QTemporaryDir m_folder;
    QString m_model;
    std::unique_ptr<QSettings> m_settings;
    std::unique_ptr<MainWindow> m_window;
    EditorPanel* m_panel = nullptr;
};

QTEST_MAIN(EditorTest)
#include "editor_test.moc"
