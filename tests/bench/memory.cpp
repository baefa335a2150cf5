// SPDX-License-Identifier: Apache-2.0
// Where the memory of a large model goes: bytes that are live after each stage of what Studio and
// the command line do with it, the most on the way there, and then what each part holds, by taking
// it away. Counts the allocations of this program; what a window has besides is not in it.
#include "app/pipeline/analysis.h"
#include "app/pipeline/compiled.h"
#include "app/report/report_scene.h"
#include "core/onnx/model_file.h"
#include "tests/bench/figures.h"
#include "tests/bench/large_model.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <malloc.h>
#include <new>
#include <unistd.h>

using namespace fuselage;

namespace {

std::atomic<size_t> liveBytes = 0, mostBytes = 0, allocations = 0;

} // namespace

// Every allocation of the program is counted, with what its allocator adds to it.
void* operator new(size_t size) {
    void* memory = std::malloc(size);
    if (!memory)
        throw std::bad_alloc();
    const size_t bytes = malloc_usable_size(memory);
    const size_t live = liveBytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    allocations.fetch_add(1, std::memory_order_relaxed);
    size_t most = mostBytes.load(std::memory_order_relaxed);
    while (live > most && !mostBytes.compare_exchange_weak(most, live, std::memory_order_relaxed))
        ;
    return memory;
}

void operator delete(void* memory) noexcept {
    if (memory)
        liveBytes.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
    std::free(memory);
}

void operator delete(void* memory, size_t) noexcept {
    operator delete(memory);
}

namespace {

double megabytes(double bytes) {
    return bytes * 1e-6;
}

template <typename T> T required(Result<T> result) {
    if (!result) {
        fmt::print(stderr, "{}\n", result.error().text());
        std::exit(1);
    }
    return std::move(*result);
}

/// A table of stages: each adds to what is live, and takes more while it runs.
class Stages {
public:
    explicit Stages(const std::string& title)
        : m_text(fmt::format("{:<44} {:>9} {:>9} {:>9} {:>12}\n", title, "live MB", "added",
                             "at most", "allocations")) {
        begin();
    }

    void lap(const std::string& stage) {
        const double added = static_cast<double>(liveBytes) - static_cast<double>(m_before);
        m_text += fmt::format("{:<44} {:>9.1f} {:>9.1f} {:>9.1f} {:>12}\n", stage,
                              megabytes(static_cast<double>(liveBytes - m_start)), megabytes(added),
                              megabytes(static_cast<double>(mostBytes - m_start)),
                              allocations - m_allocations);
        begin();
    }

    std::string text() const { return m_text + '\n'; }

private:
    void begin() {
        m_before = liveBytes;
        m_allocations = allocations.load();
        mostBytes = m_before;
    }

    std::string m_text;
    const size_t m_start = liveBytes; ///< of the program itself
    size_t m_before = 0, m_allocations = 0;
};

/// A table of parts: each is taken away, and what that gives back was its own.
class Parts {
public:
    explicit Parts(size_t nodes)
        : m_nodes(nodes), m_text(fmt::format("{:<44} {:>9} {:>9}\n",
                                             "held, once both sides are shown", "MB", "B a node")) {
    }

    template <typename Thing> void take(const std::string& part, Thing& thing) {
        const size_t before = liveBytes;
        thing = Thing();
        const auto bytes = static_cast<double>(before - liveBytes);
        m_text += fmt::format("{:<44} {:>9.1f} {:>9.0f}\n", part, megabytes(bytes),
                              bytes / static_cast<double>(m_nodes));
    }

    std::string text() const { return m_text + '\n'; }

private:
    size_t m_nodes;
    std::string m_text;
};

app::AnalysisOptions optionsFor(const Backend* backend) {
    app::AnalysisOptions out;
    out.profile = required(deviceProfile("cpu"));
    out.backend = backend;
    return out;
}

/// As a window holds it: one analysis, what the next one takes over, and both drawings.
std::string ofStudio(const std::string& path) {
    Progress progress;
    Stages stages("Studio, stage");
    std::shared_ptr<const app::LoadedModel> model =
        std::make_shared<app::LoadedModel>(required(app::loadModel(path, {}, progress)));
    stages.lap("the model is loaded");
    auto library = std::make_unique<app::RuleLibrary>(required(app::loadRuleLibrary({})));
    stages.lap("rules");
    const auto backend = required(makeBackend(CompileOptions{}));
    app::AnalysisOptions options = optionsFor(backend.get());
    options.fuse.explain = true;
    auto known =
        std::make_unique<app::AnalysisCache>(std::shared_ptr<const Graph>(model, &model->graph));
    app::Analysis analysis = required(app::analyse(*model, *library, options, *known, progress));
    stages.lap("analysed");
    scene::SideFigures figures = app::figuresOf(analysis.report);
    scene::Scene scene = required(scene::build(
        {analysis.report.before.graph, analysis.report.after.graph, figures}, {}, progress));
    stages.lap("both sides are drawn");

    app::Report& report = analysis.report;
    Parts parts(model->graph.nodeCount());
    parts.take("drawing: boxes, edges, their places", scene);
    parts.take("figures of boxes", figures);
    parts.take("report: kernels before", report.before.kernels);
    parts.take("report: kernels after", report.after.kernels);
    parts.take("report: graph before", report.before.graph);
    parts.take("report: graph after", report.after.graph);
    parts.take("report: matches", report.matches);
    parts.take("report: steps of the rewriter", report.steps);
    parts.take("report: near misses", report.nearMisses);
    parts.take("report: all else", report);
    parts.take("trace", analysis.trace);
    parts.take("for the next analysis: what rules found", known);
    parts.take("plan before", analysis.before);
    parts.take("plan after", analysis.after);
    parts.take("graph after, with bodies of fused nodes", analysis.fused);
    parts.take("rules", library);
    parts.take("model: graph and weights", model);
    return stages.text() + parts.text();
}

/// The stages of `fuse MODEL -o FILE` and of `bench --no-measure` in this process.
std::string ofCommands(const std::string& path, const std::string& written) {
    Progress progress;
    std::string out;
    {
        Stages stages("fuse, stage");
        auto library = required(app::loadRuleLibrary({}));
        stages.lap("rules");
        auto model = required(app::loadModel(path, {}, progress));
        stages.lap("the model is loaded");
        const app::FuseOptions options;
        Rewritten rewritten = required(app::fuseGraph(model.graph, library, options, progress));
        stages.lap("fused");
        (void)required(model_io::save(rewritten.graph, written));
        stages.lap("written");
        out += stages.text();
    }
    Stages stages("bench --no-measure, stage");
    auto library = required(app::loadRuleLibrary({}));
    stages.lap("rules");
    auto model = required(app::loadModel(path, {}, progress));
    stages.lap("the model is loaded");
    const auto backend = required(makeBackend(CompileOptions{}));
    app::Analysis analysis =
        required(app::analyse(model, library, optionsFor(backend.get()), progress));
    stages.lap("analysed");
    return out + stages.text();
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Where the memory of a large model goes");
    int nodes = 50'000;
    bench::Publication where;
    app.add_option("nodes", nodes, "of the model");
    bench::addOptions(app, where);
    CLI11_PARSE(app, argc, argv);
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / fmt::format("fuselage_memory_{}", getpid());
    std::filesystem::create_directories(folder);
    const std::string model = (folder / "large.onnx").string();
    const std::string written = (folder / "fused.onnx").string();
    const bool isThere = bench::writeLargeModel(model, nodes);
    const std::string results =
        isThere ? ofStudio(model) + ofCommands(model, written) : std::string();
    std::filesystem::remove_all(folder);
    return isThere ? bench::publish(where, fmt::format("Memory of a model of {} nodes", nodes),
                                    "Bytes of allocations, with what the allocator adds; \"at "
                                    "most\" is in the middle of a stage.",
                                    results)
                   : 1;
}
