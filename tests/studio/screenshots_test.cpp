// SPDX-License-Identifier: Apache-2.0
// The pictures of Studio on the front page, made anew by
//     SCREENSHOTS=resources/screenshots ctest --preset release -R studio_screenshots
// Without it the same steps go through smaller models, and nothing is kept.
#include "app/studio/panels/editor/editor_panel.h"
#include "app/studio/session/command_line.h"
#include "app/studio/shell/appearance.h"
#include "app/studio/shell/main_window.h"
#include "tests/studio/sample.h"

#include <QDockWidget>
#include <QProcess>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

namespace {

/// Colours that cover less than a quarter of a picture each: a window that shows something.
bool isFull(const QImage& image) {
    QHash<QRgb, int> counts;
    for (int y = 0; y < image.height(); y += 3)
        for (int x = 0; x < image.width(); x += 3)
            ++counts[image.pixel(x, y)];
    return counts.size() > 60;
}

} // namespace

class ScreenshotsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void init() {
        m_settings = std::make_unique<QSettings>(
            m_folder.filePath(QString(QTest::currentTestFunction()) + ".ini"),
            QSettings::IniFormat);
        applyAppearance("light");
        m_window = std::make_unique<MainWindow>(*m_settings);
        m_window->resize(1440, 900);
        m_window->show();
    }

    void cleanup() { m_window.reset(); }

    void resnet50() {
        QVERIFY(open({modelOf("resnet50")}));
        goTo("ConvBNAddReLU", 0.85);
        keep("resnet50");
    }

    void attention() {
        QVERIFY(open({modelOf("bert_base"), EXAMPLES "/05-attention/attention.fuse"}));
        if (!kept().isEmpty())
            goTo("Attention", 1.0);
        m_window->commands().find("panel.editor")->trigger();
        keep("attention");
    }

    void dark() {
        applyAppearance("dark");
        QVERIFY(open({modelOf("vit_b_16")}));
        m_window->commands().find("panel.why_not")->trigger();
        QTRY_VERIFY(m_window->findChild<QDockWidget*>("why_not")->isVisible());
        m_window->commands().find("miss.next")->trigger();
        QTRY_VERIFY(!m_window->marks().all().isEmpty());
        drawn();
        keep("dark");
        applyAppearance("light");
    }

    void quantised() {
        if (findFuselage().isEmpty())
            QSKIP("the program `fuselage` is not built beside this test");
        const QString from = writeZooModel(m_folder, "resnet18");
        const QString to = m_folder.filePath("resnet18.int8.onnx");
        QProcess quantize;
        quantize.start(findFuselage(), {"quantize", from, "-o", to, "-q", "--no-check"});
        QVERIFY(quantize.waitForFinished(240'000));
        QVERIFY2(quantize.exitCode() == 0, quantize.readAllStandardError().constData());
        QVERIFY(open({to}));
        if (!kept().isEmpty()) {
            QSignalSpy known(&m_window->measurements(), &Measurements::errorsKnown);
            m_window->commands().find("run.errors")->trigger();
            QVERIFY(known.wait(280'000));
            QCOMPARE(m_window->canvases().overlay(), QString("error"));
        }
        keep("quantised");
    }

private:
    static QString kept() { return qEnvironmentVariable("SCREENSHOTS"); }

    QString modelOf(const char* name) {
        return writeZooModel(m_folder, kept().isEmpty() ? "resnet18" : name);
    }

    bool drawn() {
        return settled(m_window->session()) && QTest::qWaitFor(
                                                   [&] {
                                                       CanvasPair& pair = m_window->canvases();
                                                       return !pair.drawing() && !pair.refining();
                                                   },
                                                   120'000);
    }

    bool open(const QStringList& files) {
        m_window->openFiles(files);
        return settled(m_window->session()) && drawn() && m_window->session().snapshot();
    }

    /// The first match of the rule in the middle, selected.
    void goTo(const std::string& rule, double zoom) {
        const app::Report* report = m_window->session().report();
        QString node;
        for (const app::MatchReport& match : report->matches)
            if (node.isEmpty() && match.rule == rule)
                node = QString::fromStdString(match.fusedNode);
        QVERIFY2(!node.isEmpty(), rule.c_str());
        m_window->selection().selectAfter({node});
        m_window->canvases().reveal();
        QVERIFY(drawn());
        Canvas& canvas = m_window->canvases().canvas(scene::Before);
        canvas.setViewport({canvas.viewport().centre, zoom});
    }

    void keep(const QString& name) {
        QImage image;
        QTRY_VERIFY(isFull(image = m_window->grab().toImage()));
        if (!kept().isEmpty())
            QVERIFY(image.save(kept() + "/" + name + ".png"));
    }

    QTemporaryDir m_folder;
    std::unique_ptr<QSettings> m_settings;
    std::unique_ptr<MainWindow> m_window;
};

QTEST_MAIN(ScreenshotsTest)
#include "screenshots_test.moc"
