// SPDX-License-Identifier: Apache-2.0
// The session without a window: opening, matching again while rules change, keeping the last good
// state, cancelling.
#include "app/studio/session/rule_texts.h"
#include "app/studio/session/selection_hub.h"
#include "tests/studio/sample.h"

#include <QElapsedTimer>
#include <algorithm>
#include <atomic>
#include <thread>

using namespace fuselage::studio;
using namespace fuselage::studio::testing;

class SessionTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() { m_model = writeZooModel(m_folder, "resnet18"); }

    void openingAnalysesWithTheStandardLibrary() {
        Session session;
        session.open(m_model);
        QVERIFY(settled(session));
        QVERIFY(session.snapshot());
        QVERIFY(session.problems().isEmpty());
        QVERIFY(session.snapshot()->report().after.launches <
                session.snapshot()->report().before.launches);
    }

    void predictionsDoNotChangeWithTheLoadOfTheMachine() {
        auto predicted = [&] {
            Session session;
            session.open(m_model);
            std::vector<double> out;
            if (!settled(session) || !session.report())
                return out;
            for (const auto* side : {&session.report()->before, &session.report()->after}) {
                out.push_back(side->predictedSeconds);
                for (const auto& kernel : side->kernels)
                    out.push_back(kernel.predictedSeconds);
            }
            return out;
        };
        const std::vector<double> idle = predicted();
        std::atomic<bool> stop = false;
        std::vector<std::thread> others;
        for (unsigned i = 0; i < 2 * std::max(1U, std::thread::hardware_concurrency()); ++i)
            others.emplace_back([&stop] {
                while (!stop) {
                }
            });
        const std::vector<double> loaded = predicted();
        stop = true;
        for (std::thread& other : others)
            other.join();
        QVERIFY(idle.size() > 2);
        QCOMPARE(loaded, idle);
    }

    void optionsOfAnExampleEndWithItsModel() {
        Session session;
        session.open(m_model);
        QVERIFY(settled(session));
        const QString example = m_folder.filePath("example.onnx");
        QVERIFY(QFile::copy(m_model, example));
        SessionOptions lent = session.options();
        lent.device = "h200";
        lent.rules.builtin = false;
        session.openLent(example, lent);
        QVERIFY(settled(session));
        QVERIFY(session.areOptionsLent());
        QCOMPARE(session.options().device, QString("h200"));
        QCOMPARE(session.optionsToKeep().device, QString("cpu"));
        session.open(m_model);
        QVERIFY(settled(session));
        QVERIFY(!session.areOptionsLent());
        QCOMPARE(session.options().device, QString("cpu"));
        QVERIFY(session.options().rules.builtin);
        QVERIFY(!session.report()->matches.empty());
        session.openLent(example, lent);
        QVERIFY(settled(session));
        session.takeBackOptions();
        QVERIFY(settled(session));
        QCOMPARE(session.modelPath(), example);
        QCOMPARE(session.options().device, QString("cpu"));
    }

    void sizesThatWereTakenAreANoteAndNoProblem() {
        Session session;
        session.open(m_model);
        QVERIFY(settled(session));
        QVERIFY(session.problems().isEmpty());
        QCOMPARE(session.notes().size(), 1);
        const Problem note = session.notes()[0];
        QCOMPARE(note.severity, fuselage::Severity::Note);
        QCOMPARE(note.message,
                 QString("nothing gives sizes for open dimensions: 1 is taken for N"));
        QVERIFY2(note.fix.contains("Dimensions"), qPrintable(note.fix));
        session.open(m_folder.filePath("absent.onnx"));
        QVERIFY(settled(session));
        QCOMPARE(session.problems().size(), 1);
        QCOMPARE(session.notes().size(), 1); // of the model that stays open
        SessionOptions options = session.options();
        options.fuse.dims["N"] = 2;
        session.setOptions(options);
        QVERIFY(settled(session));
        QVERIFY(session.notes().isEmpty());
    }

    void notesAreInWordsOfStudioAndOtherwiseAsTheyAre() {
        Problem open = problemOfNote("no sizes were found that fit for H, W; at H=1, W=1 `a` is 0; "
                                     "give them with --dim H=SIZE, or give inputs");
        QCOMPARE(open.message,
                 QString("no sizes were found that fit for H, W; at H=1, W=1 `a` is 0"));
        QVERIFY(!open.fix.isEmpty());
        Problem other = problemOfNote("opset 99 is newer; it is read as 25");
        QCOMPARE(other.message, QString("opset 99 is newer; it is read as 25"));
        QVERIFY(other.fix.isEmpty());
    }

    void aMissingModelIsAProblemAndTheOpenModelStays() {
        Session session;
        session.open(m_model);
        QVERIFY(settled(session));
        SnapshotPtr before = session.snapshot();
        session.open(m_folder.filePath("absent.onnx"));
        QVERIFY(settled(session));
        QCOMPARE(session.problems().size(), 1);
        QVERIFY(session.problems()[0].file.endsWith("absent.onnx"));
        QCOMPARE(session.snapshot(), before);
        QCOMPARE(session.modelPath(), m_model);
    }

    void unsavedRulesAreMatchedAgainWithoutLoadingTheModel() {
        QString rules = writeText(m_folder, "mine.fuse", "fuse 1;\n");
        Session session;
        session.setOptions(onlyRules(rules));
        session.open(m_model);
        QVERIFY(settled(session));
        QCOMPARE(session.snapshot()->report().rules.size(), size_t(0));
        auto model = session.snapshot()->model;
        session.setUnsaved(
            rules, QString("fuse 1;\nrule R { match { y = BatchNormalization -> Relu; } }"));
        QVERIFY(session.stale());
        QVERIFY(settled(session));
        QVERIFY(!session.stale());
        QCOMPARE(session.snapshot()->model, model);
        QCOMPARE(session.snapshot()->report().rules.size(), size_t(1));
        session.setUnsaved(rules, std::nullopt);
        QVERIFY(settled(session));
        QCOMPARE(session.snapshot()->report().rules.size(), size_t(0));
    }

    void brokenRulesKeepTheLastResultAndSayItIsStale() {
        QString rules = writeText(m_folder, "broken.fuse",
                                  "fuse 1;\nrule R { match { y = BatchNormalization -> Relu; } }");
        Session session;
        session.setOptions(onlyRules(rules));
        session.open(m_model);
        QVERIFY(settled(session));
        SnapshotPtr good = session.snapshot();
        QVERIFY(good);
        session.setUnsaved(rules, QString("fuse 1;\nrule R { match { y = Cnov(x) } }"));
        QVERIFY(settled(session));
        QVERIFY(session.stale());
        QCOMPARE(session.snapshot(), good);
        QVERIFY(!session.problems().isEmpty());
        QCOMPARE(session.problems()[0].line, 2);
    }

    void missingRulesAreAProblemAndTheModelOpensWithTheOthers() {
        QString absent = m_folder.filePath("absent.fuse");
        QString broken = writeText(m_folder, "half.fuse", "fuse 1;\nrule Half { match {");
        QString good =
            writeText(m_folder, "good.fuse",
                      "fuse 1;\nrule Good { match { y = BatchNormalization -> Relu; } }");
        Session session;
        SessionOptions options = onlyRules(absent);
        options.rules.paths.push_back(broken.toStdString());
        options.rules.paths.push_back(good.toStdString());
        session.setOptions(options);
        session.open(m_model);
        QVERIFY(settled(session));
        QVERIFY(session.snapshot());
        QCOMPARE(session.snapshot()->report().rules.size(), size_t(1));
        QCOMPARE(session.problems().size(), 2);
        QCOMPARE(session.problems()[0].code, QString("rules.read"));
        QVERIFY(session.problems()[0].file.endsWith("absent.fuse"));
        QVERIFY(session.problems()[1].file.endsWith("half.fuse"));
    }

    void aTextThatIsTypedWithoutAPauseIsKeptMeanwhile() {
        QString file = m_folder.filePath("kept.rules");
        Session session;
        RuleTexts texts(session, file);
        QString name = texts.create("fuse 1;\n"), typed = "fuse 1;\n";
        QElapsedTimer typing;
        typing.start();
        auto keptText = [&] {
            QString out;
            if (QFile in(file); in.open(QFile::ReadOnly))
                out = QString::fromUtf8(in.readAll());
            return out;
        };
        // Each key comes before the pause after the one before it is over.
        while (keptText().isEmpty() && typing.elapsed() < 5000) {
            texts.edit(name, typed += "/");
            QTest::qWait(20);
        }
        QVERIFY(!keptText().isEmpty());
    }

    void cancellingStopsAndKeepsTheOpenModel() {
        Session session;
        session.open(m_model);
        QVERIFY(session.busy());
        session.cancel();
        QVERIFY(!session.busy());
        QVERIFY(!session.snapshot());
    }

    void selectingOneSideSelectsTheOther() {
        Session session;
        session.open(m_model);
        QVERIFY(settled(session));
        SelectionHub hub;
        hub.setSnapshot(session.snapshot());
        hub.selectRule("ConvBNAddReLU");
        QStringList after = hub.selection().after;
        QCOMPARE(after.size(), 8);
        hub.selectAfter({after.first()});
        QStringList members = hub.selection().before;
        QVERIFY(members.size() >= 4);
        hub.selectBefore({members.first()});
        QCOMPARE(hub.selection().after, QStringList{after.first()});
        hub.goBack();
        QCOMPARE(hub.selection().before, members);
    }

private:
    static SessionOptions onlyRules(const QString& path) {
        SessionOptions options;
        options.rules.builtin = false;
        options.rules.paths = {path.toStdString()};
        return options;
    }

    QTemporaryDir m_folder;
    QString m_model;
};

QTEST_GUILESS_MAIN(SessionTest)
#include "session_test.moc"
