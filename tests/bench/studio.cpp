// SPDX-License-Identifier: Apache-2.0
// Budgets of the desktop application, measured under `offscreen`: start, first paint and layout by
// model size, frames of large graphs, the longest stall of the window's thread, cancelling; of
// 50,000 nodes also the skeleton, resident memory and a key in Find.
#include "app/studio/session/allocator.h"
#include "app/studio/shell/chooser.h"
#include "app/studio/shell/main_window.h"
#include "core/support/file.h"
#include "tests/bench/large_model.h"
#include "tests/bench/studio_phases.h"
#include "tests/studio/stall_watch.h"

#include <fmt/format.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <thread>
#include <unistd.h>

using namespace fuselage;
using namespace fuselage::studio;

namespace {

constexpr int waitMilliseconds = 120'000;
constexpr int runsEach = 5;
constexpr double noBudget = 0; ///< a figure to compare with only

/// What one measurement took, in milliseconds.
struct Taken {
    double wall = 0;
    double processor = 0; ///< of all threads of this process; what other work cannot lengthen much
};

/// Measurements of one thing, one after the other.
struct Measured {
    std::string what;
    double budget = 0;
    std::vector<Taken> taken;
};

std::vector<Measured> rows; ///< of the table, in the order of their first measurement

void row(const std::string& what, Taken taken, double budget) {
    for (Measured& each : rows)
        if (each.what == what) {
            each.taken.push_back(taken);
            return;
        }
    rows.push_back({what, budget, {taken}});
}

double at(const Measured& row, double Taken::*field, double share) {
    std::vector<double> values;
    for (const Taken& each : row.taken)
        values.push_back(each.*field);
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

std::string textOf(const Measured& row) {
    double median = at(row, &Taken::wall, 0.5);
    const bool limited = row.budget != noBudget;
    return fmt::format("{:<44} {:>8.1f} {:>8.1f} {:>9.1f} {:>7} {}\n", row.what, median,
                       at(row, &Taken::wall, 0), at(row, &Taken::processor, 0.5),
                       limited ? fmt::format("{:.0f}", row.budget) : "-",
                       limited && median > row.budget ? "over" : "");
}

/// Both clocks from its making.
class Stopwatch {
public:
    Stopwatch() { m_wall.start(); }

    Taken taken() const {
        return {static_cast<double>(m_wall.nsecsElapsed()) * 1e-6, processor() - m_processor};
    }

private:
    static double processor() {
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
    }

    QElapsedTimer m_wall;
    double m_processor = processor();
};

void waitFor(const std::function<bool()>& condition) {
    if (!QTest::qWaitFor(condition, waitMilliseconds))
        std::fputs("gave up waiting: the next figure is no figure\n", stderr);
}

QString writeModel(const QTemporaryDir& folder, int nodes) {
    QString path = folder.filePath(QStringLiteral("%1.onnx").arg(nodes));
    if (!bench::writeLargeModel(path.toStdString(), nodes))
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

constexpr int framesEach = 15;

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
    auto pan = [&](const char* where, double zoom, double budget) {
        scene::Point middle = canvas.drawing()->scene().rect.centre();
        for (int frame = 0; frame < framesEach; ++frame) {
            canvas.setViewport({{middle.x + 5 * frame / zoom, middle.y}, zoom});
            Stopwatch watch;
            canvas.repaint();
            row(fmt::format("{} nodes: frame, {}", nodes, where), watch.taken(), budget);
        }
    };
    canvas.fitAll();
    double fit = canvas.viewport().zoom;
    pan("all in view", fit, fitBudget);
    pan("at zoom 0.1", 0.1, 16);
    pan("at zoom 0.3", 0.3, 16);
    pan("at zoom 1", 1, 16);
}

/// Of this process, in megabytes.
double residentMegabytes() {
    QFile file(QStringLiteral("/proc/self/statm"));
    if (!file.open(QFile::ReadOnly))
        return 0;
    const double pages = file.readAll().split(' ').value(1).toDouble();
    return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) * 1e-6;
}

/// Each letter of a name is typed, and the list is painted.
void typing(MainWindow& window, int nodes) {
    window.commands().find("find.node")->trigger();
    QApplication::processEvents();
    auto* finder = window.findChild<Chooser*>();
    if (!finder)
        std::exit(1);
    QString text;
    for (QChar letter : QStringLiteral("layer77.block3/conv2")) {
        text += letter;
        Stopwatch watch;
        finder->line().setText(text);
        finder->repaint();
        row(fmt::format("{} nodes: a key in Find", nodes), watch.taken(), 50);
    }
    finder->close();
}

/// The analysis of a large model goes on after its first view.
void waitForBoth(MainWindow& window, int nodes, const Stopwatch& opened) {
    Canvas& after = window.canvases().canvas(scene::After);
    waitFor([&] { return !window.session().busy() && after.drawing() != nullptr; });
    after.repaint();
    row(fmt::format("{} nodes: file to both sides painted", nodes), opened.taken(), noBudget);
}

/// A model far larger than what is edited all day: what one waits for, and what it holds.
void huge(const QTemporaryDir& folder, int nodes) {
    const QString model = writeModel(folder, nodes);
    QSettings settings(folder.filePath("huge.ini"), QSettings::IniFormat);
    MainWindow window(settings);
    window.canvases().setDot({}, false);
    window.show();
    QApplication::processEvents();
    Stopwatch opened;
    window.openFiles({model});
    Canvas& canvas = window.canvases().canvas(scene::Before);
    waitFor([&] { return canvas.isVisible(); });
    canvas.repaint();
    row(fmt::format("{} nodes: file to the skeleton", nodes), opened.taken(), 1000);
    waitFor([&] { return canvas.drawing() != nullptr; });
    canvas.repaint();
    row(fmt::format("{} nodes: file to first paint", nodes), opened.taken(), 5000);
    const double early = residentMegabytes();
    row(fmt::format("{} nodes: memory at first paint, MB", nodes), {early, early}, 500);
    waitForBoth(window, nodes, opened);
    const double held = residentMegabytes();
    row(fmt::format("{} nodes: memory with both sides, MB", nodes), {held, held}, 500);
    typing(window, nodes);
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
    Stopwatch opened;
    window.openFiles({model});
    Canvas& canvas = window.canvases().canvas(scene::Before);
    waitFor([&] { return canvas.drawing() != nullptr; });
    canvas.repaint();
    row(fmt::format("{} nodes: file to first paint", nodes), opened.taken(), firstBudget);
    waitForBoth(window, nodes, opened);
    waitFor([&] { return !window.canvases().refining(); });
    if (window.canvases().refined())
        row(fmt::format("{} nodes: file to layout by dot", nodes), opened.taken(), finalBudget);

    SessionOptions options = window.session().options();
    auto edit = [&](const char* what, int priority) {
        options.rules.texts = {
            {"typed.fuse", fmt::format("fuse 1;\nrule Typed priority {} {{ match {{ y = Conv -> "
                                       "Relu; }} }}\n",
                                       priority)}};
        DrawingPtr shown = canvas.drawing();
        Stopwatch changed;
        window.session().setOptions(options);
        waitFor([&] { return !window.session().stale() && canvas.drawing() != shown; });
        canvas.repaint();
        row(fmt::format("{} nodes: {}", nodes, what), changed.taken(), nodes < 5000 ? 100 : 300);
    };
    edit("a rule that loses, to painted again", -50);
    edit("a rule that takes all, to painted again", 50);

    window.session().reload();
    QTest::qWait(30); // in the middle of it
    Stopwatch cancelled;
    window.session().cancel();
    waitFor([&] { return !window.session().busy(); });
    row(fmt::format("{} nodes: cancel to idle", nodes), cancelled.taken(), 100);
    double stall = watch.worstMilliseconds();
    row(fmt::format("{} nodes: longest stall of the window", nodes), {stall, stall}, 50);
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
    prepareAllocator(); // as the application does
    qputenv("QT_QPA_PLATFORM", "offscreen");
    double before[1] = {0}, after[1] = {0};
    getloadavg(before, 1);
    Stopwatch started;
    QApplication app(argc, argv);
    QTemporaryDir folder;
    if (argc == 2 && std::string(argv[1]) == "--phases") {
        std::fputs(phasesOf(writeModel(folder, 10'000).toStdString()).c_str(), stdout);
        return 0;
    }
    const std::string part = argc == 3 && std::string(argv[1]) == "--part" ? argv[2] : "";
    auto wanted = [&](const char* name) { return part.empty() || part == name; };
    if (wanted("start")) {
        QSettings settings(folder.filePath("start.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        QApplication::processEvents();
        row("start: main() to a window that answers", started.taken(), 400);
    }
    if (wanted("50000")) // before others have filled the memory
        huge(folder, 50'000);
    for (int run = 0; run < runsEach; ++run) {
        if (wanted("1000"))
            opening(folder, 1000, 300, 1000);
        if (wanted("10000"))
            opening(folder, 10'000, 1000, 2000);
    }
    if (wanted("frames")) {
        frames(5000, 16);
        frames(50'000, 33);
    }
    getloadavg(after, 1);
    std::string table;
    for (const Measured& each : rows)
        table += textOf(each);
    std::string section = fmt::format(
        "\nWritten by `./dev bench studio --publish`: milliseconds under `offscreen`, {} runs of "
        "each opening and {} frames of each view.\n\"processor\" is the time of all threads of the "
        "program without its layout worker, which other work on the machine hardly\nlengthens; of "
        "a stall it is that of the window's thread. Budgets are for the median on an idle machine; "
        "load average before and after:\n{:.1f}, {:.1f} on {} cores.\n\n```\n{:<44} {:>8} {:>8} "
        "{:>9} {:>7}\n{}```\n",
        runsEach, framesEach, before[0], after[0], std::thread::hardware_concurrency(), "what",
        "median", "lowest", "processor", "budget", table);
    std::fputs(section.c_str(), stdout);
    if (argc == 3 && part.empty() && std::string(argv[1]) == "--publish")
        publish(argv[2], section);
    return 0;
}
