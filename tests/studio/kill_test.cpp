// SPDX-License-Identifier: Apache-2.0
// A window that is killed in the middle of a measurement: the next one has model, sizes and runs
// again, and takes away what the killed one left. The killed window is this program once more.
#include "app/report/json.h"
#include "app/studio/session/work_folder.h"
#include "app/studio/shell/main_window.h"
#include "tests/studio/sample.h"

#include <QDir>
#include <QProcess>
#include <csignal>
#include <cstdio>

namespace app = fuselage::app;
using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

namespace {

constexpr const char* victimWord = "--victim";
constexpr int longest = 60'000; ///< milliseconds of any wait

QString settingsIn(const QString& folder) {
    return folder + QStringLiteral("/window.ini");
}

bool writeProgram(const QString& path, const QByteArray& body) {
    QFile file(path);
    return file.open(QFile::WriteOnly) && file.write("#!/bin/sh\n" + body + '\n') > 0 &&
           file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
}

/// What `fuselage bench` would write of what is open.
QByteArray timed(app::Report report) {
    report.before.measured = TimingSummary{4e-3, 3e-3, 5e-3, 3.9e-3, 4.1e-3, 9};
    report.after.measured = TimingSummary{2e-3, 1e-3, 3e-3, 1.9e-3, 2.1e-3, 9};
    for (app::KernelReport& kernel : report.after.kernels)
        kernel.measuredSeconds = 1e-4;
    return QByteArray::fromStdString(app::renderJson(report));
}

/// Opens a model with a size, measures it once, and says "measuring" in the middle of the next
/// measurement. Ends by itself only when something is wrong.
int beVictim(const QString& folder) {
    QSettings settings(settingsIn(folder), QSettings::IniFormat);
    MainWindow window(settings);
    window.show();
    Session& session = window.session();
    window.openFiles({folder + QStringLiteral("/open.onnx")});
    if (!settled(session))
        return 1;
    SessionOptions options = session.options();
    options.fuse.dims = {{"N", 3}};
    session.setOptions(options);
    if (!settled(session) || !session.snapshot())
        return 2;
    const QString good = folder + QStringLiteral("/good.sh"), slow = folder + "/slow.sh";
    if (!writeProgram(good, "for last; do :; done\ncat > \"$last\" <<'END'\n" +
                                timed(session.snapshot()->report()) + "\nEND") ||
        !writeProgram(slow, "echo $$ > '" + folder.toUtf8() +
                                "/pid'\necho 'timing ...' >&2\nexec sleep 600"))
        return 3;
    Measurements& measurements = window.measurements();
    measurements.setProgram(good);
    measurements.start();
    if (!QTest::qWaitFor([&] { return measurements.runs().size() == 1; }, longest))
        return 4;
    if (!QTest::qWaitFor([&] { return settings.value("open/dims").toMap().contains("N"); },
                         longest))
        return 5;
    bool timing = false;
    QObject::connect(&measurements, &Measurements::progressed, &window, [&] { timing = true; });
    measurements.setProgram(slow);
    measurements.start();
    if (!QTest::qWaitFor([&] { return timing; }, longest))
        return 6;
    std::puts("measuring");
    std::fflush(stdout);
    return QApplication::exec();
}

} // namespace

class KillTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() {
        auto graph = model_io::loadText("g (float[N,64] x) => (float[N,64] y) {"
                                        "  a = Abs(x) b = Neg(a) y = Relu(b) }");
        QVERIFY(graph && model_io::save(*graph, m_folder.filePath("open.onnx").toStdString()));
        QVERIFY(QDir(m_folder.path()).mkdir("tmp"));
        qputenv("TMPDIR", m_folder.filePath("tmp").toUtf8());
        qputenv("XDG_DATA_HOME", m_folder.filePath("data").toUtf8()); // of runs
    }

    void whatWasOpenAndMeasuredSurvivesAndTheRestIsSwept() {
        QProcess victim;
        victim.setProcessChannelMode(QProcess::ForwardedErrorChannel);
        victim.start(QCoreApplication::applicationFilePath(), {victimWord, m_folder.path()});
        QVERIFY2(QTest::qWaitFor([&] { return victim.canReadLine(); }, 4 * longest),
                 qPrintable(QString::number(victim.exitCode())));
        QCOMPARE(victim.readLine().trimmed(), QByteArray("measuring"));
        QVERIFY(!leftOvers().isEmpty());
        QCOMPARE(WorkFolder::sweep(), 0); // somebody is in it
        victim.kill();                    // SIGKILL: nothing of it runs any more
        QVERIFY(victim.waitForFinished(longest));
        QCOMPARE(victim.exitStatus(), QProcess::CrashExit);
        QVERIFY(!leftOvers().isEmpty());

        QSettings settings(settingsIn(m_folder.path()), QSettings::IniFormat);
        MainWindow window(settings);
        window.restoreRuns();
        window.restoreOpenFiles();
        QVERIFY(settled(window.session()));
        QCOMPARE(window.session().modelPath(), m_folder.filePath("open.onnx"));
        QCOMPARE(window.session().options().fuse.dims.at("N"), int64_t(3));
        QTRY_COMPARE_WITH_TIMEOUT(window.measurements().runs().size(), size_t(1), longest);
        QTRY_VERIFY_WITH_TIMEOUT(leftOvers().isEmpty(), longest);
    }

    /// What measured for the killed window knows nothing of its end.
    void cleanupTestCase() {
        QFile file(m_folder.filePath("pid"));
        if (file.open(QFile::ReadOnly))
            if (const int pid = file.readAll().trimmed().toInt(); pid > 0)
                ::kill(pid, SIGKILL);
    }

private:
    QStringList leftOvers() const {
        return QDir(m_folder.filePath("tmp")).entryList({"fuselage-studio-*"}, QDir::Dirs);
    }

    QTemporaryDir m_folder;
};

int main(int argc, char** argv) {
    QApplication application(argc, argv);
    if (argc == 3 && std::string(argv[1]) == victimWord)
        return beVictim(QString::fromLocal8Bit(argv[2]));
    KillTest test;
    return QTest::qExec(&test, argc, argv);
}

#include "kill_test.moc"
