// SPDX-License-Identifier: Apache-2.0
// Measuring in another process: its results come back, and whatever it does the session lives and
// says what happened. The process is a small shell script here; a window with the real program is
// in flows_test.
#include "app/pipeline/fuse_plan.h"
#include "app/report/json.h"
#include "app/studio/session/match_keys.h"
#include "app/studio/session/match_trial.h"
#include "app/studio/session/measurements.h"
#include "tests/studio/sample.h"

#include <QElapsedTimer>
#include <QRegularExpression>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

class MeasureTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() {
        m_model = writeZooModel(m_folder, "resnet18");
        m_session.open(m_model);
        QVERIFY(settled(m_session));
    }

    void init() { m_session.removeProblems({}); }

    void resultsComeBackWithProgressAndAreTheReport() {
        Measurements measurements(m_session);
        measurements.setProgram(script("good", "echo 'measure ...' >&2\n" + writing(report())));
        QSignalSpy progressed(&measurements, &Measurements::progressed);
        QSignalSpy runs(&measurements, &Measurements::runsChanged);
        measurements.start();
        QVERIFY(measurements.running());
        QVERIFY(runs.wait());
        QVERIFY(!measurements.running());
        QCOMPARE(progressed.size(), 1);
        QCOMPARE(progressed[0][0].toString(), QString("measure"));
        QVERIFY(m_session.measured());
        QVERIFY(qFuzzyCompare(m_session.report()->after.measured->median, 2e-3));
        for (const app::KernelReport& kernel : m_session.report()->after.kernels)
            QVERIFY(kernel.measuredSeconds && qFuzzyCompare(*kernel.measuredSeconds, 1e-4));
        QCOMPARE(measurements.runs().size(), size_t(1));
        QVERIFY(m_session.problems().isEmpty());
    }

    void aMeasurementIsStaleWhenRulesChangeAfterwards() {
        QVERIFY(m_session.measured());
        SessionOptions options = m_session.options();
        options.rules.builtin = false;
        m_session.setOptions(options);
        QVERIFY(m_session.measurementStale());
        QVERIFY(settled(m_session));
        QVERIFY(!m_session.measured());
        QVERIFY(m_session.measurementStale());
        m_session.setOptions({});
        QVERIFY(settled(m_session));
    }

    void whatGoesWrongIsOneProblem_data() {
        QTest::addColumn<QByteArray>("body");
        QTest::addColumn<QString>("code");
        QTest::newRow("crash") << QByteArray("kill -SEGV $$") << "measure.crash";
        QTest::newRow("refusal") << QByteArray(
                                        "echo 'fuselage: no device [device.none]' >&2; exit 5")
                                 << "measure.failed";
        QTest::newRow("nothing written") << QByteArray("exit 0") << "measure.json";
        QTest::newRow("garbage") << writing("{\"timings\": [1,") << "measure.json";
        QTest::newRow("no times") << writing(report(false)) << "measure.none";
        QTest::newRow("hang") << QByteArray("exec sleep 60") << "measure.time";
    }

    void whatGoesWrongIsOneProblem() {
        QFETCH(QByteArray, body);
        QFETCH(QString, code);
        Measurements measurements(m_session);
        measurements.setProgram(script(QTest::currentDataTag(), body));
        measurements.process().setLimit(code == "measure.time" ? 200 : 60'000);
        QSignalSpy problems(&m_session, &Session::problemsChanged);
        measurements.start();
        QVERIFY(problems.wait());
        QVERIFY(!measurements.running());
        QCOMPARE(m_session.problems().size(), 1);
        QCOMPARE(m_session.problems()[0].code, code);
    }

    void matchesThatAreSwitchedOffAreMeasuredByAPlan() {
        SessionOptions options = m_session.options();
        const app::MatchReport off = m_session.report()->matches.front();
        options.fuse.disabled = {keyOf(off)};
        m_session.setOptions(options);
        QVERIFY(settled(m_session));
        Measurements measurements(m_session);
        const QString seen = m_folder.filePath("seen");
        measurements.setProgram(script(
            "plan", "while [ $# -gt 0 ]; do [ \"$1\" = --plan ] && cp \"$2\" " + seen.toUtf8() +
                        "; last=$1; shift; done\ncat > \"$last\" <<'END'\n" + report() + "\nEND"));
        QSignalSpy runs(&measurements, &Measurements::runsChanged);
        measurements.start();
        QVERIFY(runs.wait());
        QFile file(seen);
        QVERIFY(file.open(QFile::ReadOnly));
        auto plan = app::parsePlan(file.readAll().toStdString());
        QVERIFY(bool(plan));
        QVERIFY(!plan->matches.empty());
        for (const PlannedMatch& match : plan->matches)
            QVERIFY(match.rule != off.rule || match.nodes != off.nodes);
        QVERIFY2(measurements.command().contains("# but for: 1 match"),
                 qPrintable(measurements.command()));
        m_session.setOptions({});
        QVERIFY(settled(m_session));
    }

    void aMeasurementWaitsForWhatIsBeingTyped() {
        Measurements measurements(m_session);
        measurements.setProgram(script("waited", writing(report())));
        QSignalSpy runs(&measurements, &Measurements::runsChanged);
        const QString rules = writeText(m_folder, "typed.fuse", "fuse 1;\n");
        SessionOptions options = m_session.options();
        options.rules.paths = {rules.toStdString()};
        m_session.setOptions(options);
        QVERIFY(settled(m_session));
        m_session.setUnsaved(rules, QStringLiteral("fuse 1;\n// typed\n"));
        QVERIFY(m_session.pending());
        measurements.start();
        QVERIFY(measurements.running());
        QVERIFY(m_session.problems().isEmpty());
        QVERIFY(runs.wait());
        QVERIFY(m_session.problems().isEmpty());
        m_session.setUnsaved(rules, std::nullopt);
        m_session.setOptions({});
        QVERIFY(settled(m_session));
    }

    void aMatchIsTriedWithAndWithoutAndAllIsAsItWas() {
        const app::Report any = m_session.snapshot()->report();
        Measurements measurements(m_session);
        measurements.setProgram(
            script("trial", "file=with\nfor last; do [ \"$last\" = --plan ] && file=without; done\n"
                            "cp \"" +
                                m_folder.path().toUtf8() + "/$file.json\" \"$last\""));
        writeText(m_folder, "with.json", timed(any, 2e-3));
        writeText(m_folder, "without.json", timed(any, 1e-3));
        MatchTrial trial(m_session, measurements);
        const MatchKey key = keyOf(m_session.report()->matches.front());
        trial.start({key});
        QVERIFY(trial.running());
        QTRY_VERIFY_WITH_TIMEOUT(!trial.running(), 30'000);
        QVERIFY(settled(m_session));
        QCOMPARE(measurements.runs().size(), size_t(2));
        QVERIFY(m_session.options().fuse.disabled.empty());
        QCOMPARE(m_session.problems().size(), 1);
        const Problem& said = m_session.problems()[0];
        QCOMPARE(said.code, QString("measure.trial"));
        QVERIFY2(said.fix.contains("loses"), qPrintable(said.message + said.fix));
        // The figures of before are valid again without another measurement.
        QVERIFY(m_session.measured());
        QVERIFY(!m_session.measurementStale());
        QVERIFY(qFuzzyCompare(m_session.report()->after.measured->median, 2e-3));
    }

    void aTrialThatFailsLeavesEverythingAsItWas() {
        Measurements measurements(m_session);
        measurements.setProgram(script("fails", "exit 5"));
        MatchTrial trial(m_session, measurements);
        trial.start({keyOf(m_session.report()->matches.front())});
        QTRY_VERIFY_WITH_TIMEOUT(!trial.running(), 30'000);
        QVERIFY(settled(m_session));
        QVERIFY(m_session.options().fuse.disabled.empty());
        QCOMPARE(m_session.problems()[0].code, QString("measure.failed"));
    }

    void fusionsThatLoseAreSaid() {
        app::Report slow = m_session.snapshot()->report();
        QVERIFY(!slow.matches.empty());
        app::MatchReport& match = slow.matches.back();
        match.measuredBefore = 4e-3;
        match.measuredAfter = 70e-3;
        match.measuredRatio = RatioSummary{17.5, 16, 19};
        Measurements measurements(m_session);
        measurements.setProgram(script("slower", writing(timed(slow))));
        QSignalSpy runs(&measurements, &Measurements::runsChanged);
        measurements.start();
        QVERIFY(runs.wait());
        QCOMPARE(m_session.problems().size(), 1);
        QCOMPARE(m_session.problems()[0].code, QString("measure.slower"));
        QVERIFY2(m_session.problems()[0].message.contains("17.50"),
                 qPrintable(m_session.problems()[0].message));
        QVERIFY(m_session.problems()[0].message.contains(QString::fromStdString(match.rule)));
        // Of other matches nothing is known, until these come back.
        SessionOptions options = m_session.options();
        options.rules.builtin = false;
        m_session.setOptions(options);
        QVERIFY(settled(m_session));
        QVERIFY(m_session.problems().isEmpty());
        options.rules.builtin = true;
        m_session.setOptions(options);
        QVERIFY(settled(m_session));
        QCOMPARE(m_session.problems().size(), 1);
        m_session.removeProblems("measure.");
    }

    void errorsOfNodesComeBackBesideTimes() {
        app::Report with = m_session.snapshot()->report();
        const std::string node = with.before.graph.nodes.front().name;
        with.nodeErrors = {{node, "value", 0.5, 1}};
        Measurements measurements(m_session);
        measurements.setProgram(
            script("errors", writing(QByteArray::fromStdString(app::renderJson(with)))));
        QSignalSpy known(&measurements, &Measurements::errorsKnown);
        measurements.startErrors();
        QVERIFY(known.wait());
        QCOMPARE(m_session.report()->nodeErrors.size(), size_t(1));
        measurements.setProgram(script("none", writing(report())));
        QSignalSpy problems(&m_session, &Session::problemsChanged);
        measurements.startErrors();
        QTRY_COMPARE(m_session.problems().size(), 1);
        QCOMPARE(m_session.problems()[0].code, QString("errors.none"));
    }

    void aMissingProgramIsAProblem() {
        Measurements measurements(m_session);
        measurements.setProgram(m_folder.filePath("absent"));
        measurements.start();
        QVERIFY(QTest::qWaitFor([&] { return !measurements.running(); }));
        QCOMPARE(m_session.problems()[0].code, QString("measure.start"));
    }

    void cancellingIsIdleAtOnceAndDeliversNothing() {
        Measurements measurements(m_session);
        measurements.setProgram(script("slow", "exec sleep 60"));
        QSignalSpy runs(&measurements, &Measurements::runsChanged);
        measurements.start();
        QElapsedTimer time;
        time.start();
        measurements.cancel();
        QVERIFY(!measurements.running());
        QVERIFY2(time.elapsed() < 100, qPrintable(QString::number(time.elapsed())));
        QVERIFY(m_session.problems().isEmpty());
        QCOMPARE(runs.size(), 0);
    }

    void verdictsGoByIntervals() {
        auto timing = [](double low, double median, double high) {
            return TimingSummary{median, low, high, low, high, 9};
        };
        TimingSummary base = timing(0.99, 1, 1.01);
        QCOMPARE(verdictOf(base, timing(0.8, 0.85, 0.9)), Verdict::Faster);
        QCOMPARE(verdictOf(base, timing(1.1, 1.2, 1.3)), Verdict::Slower);
        QCOMPARE(verdictOf(base, timing(0.99, 1, 1.01)), Verdict::Same);
        QCOMPARE(verdictOf(base, timing(0.9, 1, 1.1)), Verdict::Ambiguous);
    }

    void theCommandSaysWhatDiffersFromTheDefaultsAndQuotes() {
        SessionOptions options;
        options.rules.paths = {"my rules.fuse"};
        options.rules.builtin = false;
        options.fuse.dims = {{"N", 4}};
        MeasureSettings settings;
        settings.backend = "reference";
        QCOMPARE(shellText(benchArguments("it's.onnx", options, settings)),
                 QString("bench 'it'\\''s.onnx' --no-builtin -p 'my rules.fuse' --dim N=4 "
                         "--backend reference"));
        QVERIFY(bool(options.setPrecision(Precision::Fp16, {"op:Softmax=fp32"})));
        QVERIFY2(shellText(benchArguments("m.onnx", options, settings))
                     .contains("--precision fp16 --precision-of op:Softmax=fp32"),
                 qPrintable(shellText(benchArguments("m.onnx", options, settings))));
        QVERIFY(!options.setPrecision(Precision::Fp32, {"op:Softmax"}));
    }

    void unsavedRulesAreMeasuredAsTyped() {
        QTemporaryDir folder;
        app::RuleOptions rules;
        std::string path = writeText(m_folder, "mine.fuse", "fuse 1;\n").toStdString();
        rules.paths = {path};
        rules.unsaved[path] = "fuse 1;\n# typed\n";
        auto onDisk = rulesOnDisk(rules, folder.path());
        QVERIFY(bool(onDisk));
        QVERIFY(onDisk->paths[0] != path);
        QFile copy(QString::fromStdString(onDisk->paths[0]));
        QVERIFY(copy.open(QFile::ReadOnly));
        QCOMPARE(copy.readAll(), QByteArray("fuse 1;\n# typed\n"));
        rules.texts.push_back({"new-1.fuse", "fuse 1;\n"});
        rules.unsaved["new-1.fuse"] = "fuse 1;\n# typed, never saved\n";
        onDisk = rulesOnDisk(rules, folder.path());
        QVERIFY(bool(onDisk));
        QVERIFY(onDisk->texts.empty());
        QCOMPARE(onDisk->paths.size(), size_t(2));
        QFile fresh(QString::fromStdString(onDisk->paths[1]));
        QVERIFY(fresh.open(QFile::ReadOnly));
        QVERIFY(fresh.readAll().contains("never saved"));
        rules.unsaved["std/activation"] = "fuse 1;\n";
        QCOMPARE(rulesOnDisk(rules, folder.path()).error().code, std::string("measure.builtin"));
    }

private:
    QString script(const QString& name, const QByteArray& body) {
        QString path = writeText(m_folder, QString(name).replace(' ', '_') + ".sh",
                                 "#!/bin/sh\n" + body + "\n");
        QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        return path;
    }

    /// Writes to the file after --report, the last argument.
    static QByteArray writing(const QByteArray& json) {
        return "for last; do :; done\ncat > \"$last\" <<'END'\n" + json + "\nEND";
    }

    /// What `fuselage bench` would write of the open model.
    QByteArray report(bool isTimed = true) const {
        app::Report report = m_session.snapshot()->report();
        return isTimed ? timed(report) : QByteArray::fromStdString(app::renderJson(report));
    }

    static QByteArray timed(app::Report report, double after = 2e-3) {
        report.before.measured = TimingSummary{4e-3, 3e-3, 5e-3, 3.9e-3, 4.1e-3, 9};
        report.after.measured =
            TimingSummary{after, after / 2, 2 * after, 0.95 * after, 1.05 * after, 9};
        for (app::KernelReport& kernel : report.after.kernels)
            kernel.measuredSeconds = 1e-4;
        return QByteArray::fromStdString(app::renderJson(report));
    }

    QTemporaryDir m_folder;
    QString m_model;
    Session m_session;
};

QTEST_GUILESS_MAIN(MeasureTest)
#include "measure_test.moc"
