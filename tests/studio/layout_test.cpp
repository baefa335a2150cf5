// SPDX-License-Identifier: Apache-2.0
// The layout engine in another process: good layouts, and every way in which that process can fail.
// Whatever it does, there is a picture.
#include "app/studio/layout/dot_layout.h"

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>

using namespace fuselage;
using namespace fuselage::studio;
using fuselage::scene::LayoutRequest;
using fuselage::scene::LayoutResult;

class LayoutTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void framesSurviveTheWayAndDamageIsSeen() {
        LayoutRequest request = chain(5);
        QByteArray frame = jobFrame({Effort::Limited, request});
        qsizetype size = 0;
        QCOMPARE(frameState(frame, size), FrameState::Complete);
        QCOMPARE(size, frame.size());
        auto job = jobOf(frame);
        QVERIFY(job);
        QCOMPARE(job->request.sizes.size(), size_t(5));
        QCOMPARE(job->request.edges[3].to, 4U);
        QCOMPARE(frameState(frame.left(7), size), FrameState::Partial);
        QCOMPARE(frameState(frame.chopped(1), size), FrameState::Partial);
        QCOMPARE(frameState("nonsense that is long enough", size), FrameState::Broken);
        for (qsizetype at = 12; at < frame.size(); ++at) { // no byte may lead to an index outside
            QByteArray damaged = frame;
            damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
            if (auto read = jobOf(damaged))
                for (const scene::LayoutEdge& edge : read->request.edges)
                    QVERIFY(edge.from < read->request.sizes.size() &&
                            edge.to < read->request.sizes.size());
        }
        QVERIFY(!resultOf(resultFrame({}), request));
    }

    void whatGoesWrongEndsWithTheLinearPicture_data() {
        QTest::addColumn<QByteArray>("body");
        QTest::newRow("killed") << QByteArray("head -c 4 >/dev/null; kill -KILL $$");
        QTest::newRow("hanging") << QByteArray("exec sleep 60");
        QTest::newRow("garbage") << QByteArray(
            "head -c 4 >/dev/null; echo 'no layout at all'; exec sleep 60");
        QTest::newRow("endless") << QByteArray("exec yes FUSELAY1");
        QTest::newRow("silent end") << QByteArray("exit 0");
    }

    void whatGoesWrongEndsWithTheLinearPicture() {
        QFETCH(QByteArray, body);
        DotOptions options;
        options.program = "/bin/sh";
        options.arguments = QStringList{"-c", QString::fromLatin1(body)};
        options.milliseconds = 300;
        DotLayout engine(options);
        expectLinear(engine);
        QVERIFY(!engine.trouble().isEmpty());
    }

    void aMissingWorkerEndsWithTheLinearPicture() {
        DotOptions options;
        options.program = m_folder.filePath("absent");
        DotLayout engine(options);
        expectLinear(engine);
        QVERIFY(!engine.trouble().isEmpty());
    }

    void cancellingEndsAHangingWorkerAtOnce() {
        DotOptions options;
        options.program = "/bin/sh";
        options.arguments = QStringList{"-c", "exec sleep 60"};
        options.milliseconds = 60'000;
        auto engine = std::make_unique<DotLayout>(options);
        Progress progress;
        QElapsedTimer time;
        std::unique_ptr<QThread> killer(QThread::create([&] { // while the other thread waits
            time.start();
            progress.cancel();
        }));
        killer->start();
        auto result = engine->layout(chain(20), progress);
        killer->wait();
        QVERIFY(!result);
        QCOMPARE(result.error().code, std::string("cancelled"));
        engine.reset();
        QVERIFY2(time.elapsed() < 1000, qPrintable(QString::number(time.elapsed())));
    }

    void dotPlacesBoxesApartAndKeepsPortsOutside() {
        if (!dotIsBuiltIn())
            QSKIP("built without Graphviz");
        DotOptions options;
        options.milliseconds = 20'000;
        DotLayout engine(options);
        Progress progress;
        LayoutRequest request = chain(6);
        request.edges.push_back({0, 4, 1});
        auto result = engine.layout(request, progress);
        QVERIFY(bool(result));
        QVERIFY2(engine.trouble().isEmpty(), qPrintable(engine.trouble()));
        QVERIFY(engine.usedWorker());
        for (size_t i = 0; i + 1 < request.sizes.size(); ++i)
            QVERIFY(result->places[i].y + request.sizes[i].h <= result->places[i + 1].y + 0.5);
        QCOMPARE(result->bends.size(), request.edges.size());
    }

    void whatIsInTheCacheNeedsNoWorker() {
        if (!dotIsBuiltIn())
            QSKIP("built without Graphviz");
        DotOptions options;
        options.milliseconds = 20'000;
        options.cache = m_folder.filePath("cache");
        Progress progress;
        LayoutResult first;
        {
            DotLayout engine(options);
            first = *engine.layout(chain(7), progress);
            QVERIFY(engine.usedWorker());
        }
        options.program = m_folder.filePath("absent");
        DotLayout engine(options);
        auto second = engine.layout(chain(7), progress);
        QVERIFY(!engine.usedWorker());
        QVERIFY(engine.trouble().isEmpty());
        QCOMPARE(second->width, first.width);
        QCOMPARE(second->places[6].y, first.places[6].y);
    }

private:
    static LayoutRequest chain(uint32_t nodes) {
        LayoutRequest out;
        for (uint32_t i = 0; i < nodes; ++i) {
            out.sizes.push_back({100, 40});
            out.ranks.push_back(i);
            if (i > 0)
                out.edges.push_back({i - 1, i, 1});
        }
        return out;
    }

    static void expectLinear(DotLayout& engine) {
        Progress progress;
        auto result = engine.layout(chain(20), progress);
        QVERIFY(bool(result));
        auto linear = scene::LinearLayout().layout(chain(20), progress);
        QCOMPARE(result->height, linear->height);
        QCOMPARE(result->places[19].y, linear->places[19].y);
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(LayoutTest)
#include "layout_test.moc"
