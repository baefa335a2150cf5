// SPDX-License-Identifier: Apache-2.0
// Budgets of the desktop application, measured under `offscreen`: start, first paint and layout by
// model size, frames of large graphs, the longest stall of the window's thread, cancelling.
#include "app/studio/shell/main_window.h"
#include "app/zoo/builder.h"
#include "core/onnx/model_file.h"
#include "core/support/file.h"
#include "tests/studio/stall_watch.h"

#include <fmt/format.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

using namespace fuselage;
using namespace fuselage::studio;

namespace {

constexpr int waitMilliseconds = 120'000;

std::string rows; ///< of the table

void row(const std::string& what, double milliseconds, double budget) {
    rows += fmt::format("{:<46} {:>9.1f} {:>9} {}\n", what, milliseconds,
                        budget > 0 ? fmt::format("{:.0f}", budget) : "",
                        budget > 0 && milliseconds > budget ? "over" : "");
    std::fputs(rows.substr(rows.rfind('\n', rows.size() - 2) + 1).c_str(), stdout);
}

void waitFor(const std::function<bool()>& condition) {
    if (!QTest::qWaitFor(condition, waitMilliseconds))
        std::fputs("gave up waiting: the next figure is no figure\n", stderr);
}

double millisecondsOf(const QElapsedTimer& timer) {
    return static_cast<double>(timer.nsecsElapsed()) * 1e-6;
}

QString writeModel(const QTemporaryDir& folder, int nodes) {
    constexpr int64_t channels = 8;
    zoo::Builder b("bench", 1);
    ValueId x = b.input("image", DType::Float32, {1, channels, 8, 8});
    for (int block = 0; block * 5 < nodes; ++block) {
        zoo::Builder::Scope scope(b, fmt::format("layer{}.block{}", block / 10, block % 10));
        ValueId y = b.apply(Op::Relu, {b.conv("conv1", x, {channels, channels, 3, 1, 1})});
        y = b.conv("conv2", y, {channels, channels, 3, 1, 1});
        x = b.apply(Op::Relu, {b.apply(Op::Add, {y, x})});
    }
    b.output(x, "features");
    QString path = folder.filePath(QStringLiteral("%1.onnx").arg(nodes));
    if (!model_io::save(b.finish(), path.toStdString()))
        std::exit(1);
    return path;
}

app::GraphReport wideGraph(int nodes) {
    app::GraphReport out;
    auto value = [&](const std::string& name) {
        out.values.push_back({name, "float[1,64,56,56]", "float", {}, 802'816, false});
        return static_cast<uint32_t>(out.values.size() - 1);
    };
    uint32_t last = value("input");
    out.inputs = {last};
    for (int i = 0; i < nodes; ++i) {
        app::GraphNodeReport node;
        node.name = fmt::format("/layer{}/block{}/op{}", i / 100, i / 10 % 10, i % 10);
        node.op = i % 3 ? "Conv" : "Relu";
        node.inputs = {last};
        if (i % 10 == 9 && i > 10)
            node.inputs.push_back(last - 8);
        last = value(fmt::format("v{}", i));
        node.outputs = {last};
        out.nodes.push_back(std::move(node));
    }
    out.outputs = {last};
    return out;
}

double medianFrame(Canvas& canvas, const std::function<void(int)>& move) {
    std::vector<double> times;
    for (int frame = 0; frame < 15; ++frame) {
        move(frame);
        QElapsedTimer timer;
        timer.start();
        canvas.repaint();
        times.push_back(millisecondsOf(timer));
    }
    std::nth_element(times.begin(), times.begin() + 7, times.end());
    return times[7];
}

void frames(int nodes, double fitBudget) {
    app::GraphReport before = wideGraph(nodes), after = before;
    scene::SideFigures figures;
    scene::Options options;
    options.collapse = scene::Options::Collapse::Nothing;
    Progress progress;
    auto scene = scene::build({before, after, figures}, options, progress);
    if (!scene)
        std::exit(1);
    Canvas canvas(scene::Before, nullptr);
    canvas.resize(1400, 900);
    canvas.setDrawing(std::make_shared<const Drawing>(std::move(*scene)));
    canvas.show();
    QApplication::processEvents();
    auto pan = [&](double zoom) {
        scene::Point middle = canvas.drawing()->scene().rect.centre();
        return medianFrame(canvas, [&, middle](int frame) {
            canvas.setViewport({{middle.x + 5 * frame / zoom, middle.y}, zoom});
        });
    };
    canvas.fitAll();
    double fit = canvas.viewport().zoom;
    row(fmt::format("{} nodes: frame, all in view", nodes), pan(fit), fitBudget);
    row(fmt::format("{} nodes: frame at zoom 0.1", nodes), pan(0.1), 16);
    row(fmt::format("{} nodes: frame at zoom 0.3", nodes), pan(0.3), 16);
    row(fmt::format("{} nodes: frame at zoom 1", nodes), pan(1), 16);
}

void opening(const QTemporaryDir& folder, int nodes, double firstBudget, double finalBudget) {
    QString model = writeModel(folder, nodes);
    QSettings settings(folder.filePath("open.ini"), QSettings::IniFormat);
    MainWindow window(settings);
    DotOptions dot; // no cache: layouts are made
    window.canvases().setDot(dot, dotIsBuiltIn());
    window.show();
    QApplication::processEvents();
    studio::testing::StallWatch watch;
    watch.restart();
    QElapsedTimer timer;
    timer.start();
    window.openFiles({model});
    Canvas& canvas = window.canvases().canvas(scene::Before);
    waitFor([&] { return canvas.drawing() != nullptr; });
    canvas.repaint();
    row(fmt::format("{} nodes: file to first paint", nodes), millisecondsOf(timer), firstBudget);
    waitFor([&] { return !window.canvases().refining(); });
    if (window.canvases().refined())
        row(fmt::format("{} nodes: file to layout by dot", nodes), millisecondsOf(timer),
            finalBudget);
    row(fmt::format("{} nodes: longest stall (processor time)", nodes), watch.worstMilliseconds(),
        50);

    SessionOptions options = window.session().options();
    options.fuse.decide = "cost";
    timer.restart();
    window.session().setOptions(options);
    waitFor([&] { return !window.session().stale(); });
    row(fmt::format("{} nodes: rules changed to matched again", nodes), millisecondsOf(timer),
        nodes < 5000 ? 100 : 300);

    window.session().reload();
    timer.restart();
    window.session().cancel();
    waitFor([&] { return !window.session().busy(); });
    row(fmt::format("{} nodes: cancel to idle", nodes), millisecondsOf(timer), 100);
}

/// Puts the section "Studio" at the end of the page, in place of an older one.
void publish(const std::string& path, const std::string& section) {
    auto page = readFile(path);
    std::string text = page ? page->substr(0, page->find("\n## Studio\n")) : std::string();
    while (text.ends_with('\n'))
        text.pop_back();
    if (auto done = writeFile(text + "\n\n## Studio\n" + section, path); !done)
        std::exit(1);
}

} // namespace

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    double before[1] = {0}, after[1] = {0};
    getloadavg(before, 1);
    QElapsedTimer timer;
    timer.start();
    QApplication app(argc, argv);
    QTemporaryDir folder;
    {
        QSettings settings(folder.filePath("start.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        QApplication::processEvents();
        row("start: main() to a window that answers", millisecondsOf(timer), 400);
    }
    opening(folder, 1000, 300, 1000);
    opening(folder, 10'000, 1000, 2000);
    frames(5000, 16);
    frames(50'000, 33);
    getloadavg(after, 1);
    std::string section = fmt::format(
        "\nWritten by `./dev bench studio --publish`: milliseconds under `offscreen`, one run; "
        "frames are medians of 15.\nThe budget is that of an idle machine; load average before and "
        "after: {:.1f}, {:.1f}.\n\n```\n{:<46} {:>9} {:>9}\n{}```\n",
        before[0], after[0], "what", "ms", "budget", rows);
    std::fputs(section.c_str(), stdout);
    if (argc == 3 && std::string(argv[1]) == "--publish")
        publish(argv[2], section);
    return 0;
}
