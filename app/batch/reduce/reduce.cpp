// SPDX-License-Identifier: Apache-2.0
// The order of phases: what takes most away first, again until a whole round changes nothing.
#include "app/batch/reduce/reduce.h"

#include "app/batch/reduce/fault.h"
#include "app/batch/reduce/minimize.h"
#include "app/batch/reduce/smaller.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace fuselage::batch {

namespace fs = std::filesystem;

namespace {

ReduceSize sizeOf(const Graph& graph) {
    ReduceSize out{graph.nodeCount(), graph.inputs().size(), graph.outputs().size(), 0, 0};
    for (ValueId id : graph.values())
        if (graph.isConstant(id)) {
            ++out.weights;
            out.bytes += static_cast<int64_t>(graph.value(id).constant->byteCount());
        }
    return out;
}

/// The best graph so far, and every way to a better one.
class Reducer {
public:
    Reducer(Graph graph, const ReduceOptions& options, Fault& fault, const ReduceLog& log)
        : m_best(std::move(graph)), m_options(options), m_fault(fault), m_log(log) {}

    void run() {
        bool changed = true;
        while (changed && !m_fault.stopped()) {
            changed = false;
            for (const auto& [name, phase] : phases) {
                m_phase = name;
                m_changed = false;
                (this->*phase)();
                changed = changed || m_changed;
            }
        }
    }

    const Graph& best() const { return m_best; }

    const std::optional<Error>& problem() const { return m_problem; }

private:
    /// Takes the candidate over when it shows the fault.
    bool take(const std::optional<Graph>& candidate) {
        if (!candidate || m_problem || !m_fault.shows(*candidate))
            return false;
        if (auto saved = model_io::save(*candidate, m_options.output); !saved) {
            m_problem = saved.error();
            return false;
        }
        m_best = *candidate;
        m_log(fmt::format("{:<12} {:>5} runs  {}", m_phase, m_fault.runs(), sizeOf(m_best).text()));
        return m_changed = true;
    }

    /// minimize() over what `all` lists of the graph; `make` builds the candidate from the part.
    template <typename T, typename Make> void minimizeOver(const std::vector<T>& all, Make make) {
        const Graph start = m_best;
        minimize(all.size(), [&](const Kept& kept) {
            std::vector<T> part;
            for (size_t index : kept)
                part.push_back(all[index]);
            return take(make(start, part));
        });
    }

    void symbols() {
        for (int64_t value : {1, 2, 4, 8})
            if (take(withSymbols(m_best, value)))
                return;
    }

    void outputs() {
        if (m_best.outputs().size() > 1)
            minimizeOver(m_best.outputs(), keepOutputs);
    }

    void nodes() {
        const std::vector<NodeId> order = topologicalOrder(m_best);
        if (order.size() == m_best.nodeCount() && order.size() > 1)
            minimizeOver(order, keepNodes);
    }

    void initializers() {
        minimizeOver(weights(m_best), [](const Graph& start, const std::vector<ValueId>& kept) {
            std::vector<ValueId> given;
            for (ValueId id : weights(start))
                if (std::find(kept.begin(), kept.end(), id) == kept.end())
                    given.push_back(id);
            return asInputs(start, given);
        });
    }

    void contents() {
        std::vector<std::string> names;
        for (ValueId id : weights(m_best))
            names.push_back(m_best.value(id).name);
        for (const std::string& name : names)
            if (const ValueId id = m_best.findValue(name); id.valid())
                take(filledWithOnes(m_best, id));
    }

    void dimensions() {
        for (int64_t extent : extents(m_best)) {
            int64_t now = extent;
            for (int64_t to : {int64_t{1}, int64_t{2}, int64_t{3}, extent / 4, extent / 2})
                if (to > 0 && to < now && take(withExtent(m_best, now, to)))
                    now = to;
        }
    }

    using Phase = void (Reducer::*)();
    static constexpr std::pair<const char*, Phase> phases[] = {
        {"symbols", &Reducer::symbols},       {"outputs", &Reducer::outputs},
        {"nodes", &Reducer::nodes},           {"initializers", &Reducer::initializers},
        {"dimensions", &Reducer::dimensions}, {"contents", &Reducer::contents},
    };

    Graph m_best;
    const ReduceOptions& m_options;
    Fault& m_fault;
    const ReduceLog& m_log;
    std::optional<Error> m_problem;
    std::string_view m_phase;
    bool m_changed = false;
};

/// A folder that goes with its owner.
class Scratch {
public:
    Scratch() {
        std::error_code error;
        std::string path = (fs::temp_directory_path(error) / "fuselage-reduce-XXXXXX").string();
        if (!error && ::mkdtemp(path.data()) != nullptr)
            m_path = path;
    }

    ~Scratch() {
        std::error_code ignored;
        if (!m_path.empty())
            fs::remove_all(m_path, ignored);
    }

    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    const std::string& path() const { return m_path; }

private:
    std::string m_path;
};

} // namespace

std::string ReduceSize::text() const {
    return fmt::format("{} nodes, {} inputs, {} outputs, {} initializers of {} bytes", nodes,
                       inputs, outputs, weights, bytes);
}

Result<ReduceResult> reduceModel(const ReduceOptions& options, const ReduceLog& log,
                                 Progress& progress) {
    const Scratch scratch;
    if (scratch.path().empty())
        return failure("save.write",
                       std::string("no folder for candidates: ") + std::strerror(errno), "",
                       "name one with room in TMPDIR");
    Fault fault(options, scratch.path(), progress);
    if (auto learned = fault.learn(); !learned)
        return failure(learned.error());
    auto graph = model_io::load(options.model, {}, progress);
    if (!graph)
        return failure(graph.error());
    ReduceResult out;
    out.before = sizeOf(*graph);
    out.failure = fault.text();
    inferShapes(*graph);
    if (!fault.shows(*graph)) {
        if (progress.cancelled())
            return cancelledFailure("reduce");
        return failure("usage.reduce",
                       "the failure is gone once the model is written in this program's form",
                       options.model, "it lies in how the file is written, not in its graph");
    }
    if (auto saved = model_io::save(*graph, options.output); !saved)
        return failure(saved.error());
    Reducer reducer(std::move(*graph), options, fault, log);
    reducer.run();
    if (reducer.problem())
        return failure(*reducer.problem());
    out.after = sizeOf(reducer.best());
    out.runs = fault.runs();
    out.finished = !fault.stopped();
    return out;
}

} // namespace fuselage::batch
