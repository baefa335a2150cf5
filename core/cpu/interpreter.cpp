// SPDX-License-Identifier: Apache-2.0
// interpret(): any graph, one node at a time in topological order, in double precision. Control
// flow, sequences and fused bodies run here; the meaning of each operator stands in core/ops.
#include "core/cpu/observe_bodies.h"
#include "core/cpu/rounding_noise.h"
#include "core/graph/bodies.h"
#include "core/graph/captures.h"
#include "core/ops/evaluate.h"
#include "core/plan/backend.h"
#include "core/support/hash.h"

#include <fmt/format.h>

#include <new>
#include <unordered_map>

namespace fuselage {

namespace {

using ValuePtr = std::shared_ptr<ReferenceValue>;

/// What one graph's runs share: loops run their body many times.
struct Schedule {
    std::vector<NodeId> order;
    std::vector<std::vector<ValueId>> lastUses; ///< parallel to order: values to free after a node
};

Schedule makeSchedule(const Graph& graph) {
    Schedule out;
    out.order = topologicalOrder(graph);
    out.lastUses.resize(out.order.size());
    std::vector<bool> seen(graph.valueBound(), false);
    for (ValueId output : graph.outputs())
        seen[output.index()] = true;
    for (size_t step = out.order.size(); step-- > 0;) {
        const Node& node = graph.node(out.order[step]);
        auto visit = [&](ValueId id) {
            if (id.valid() && !seen[id.index()]) {
                seen[id.index()] = true;
                out.lastUses[step].push_back(id);
            }
        };
        for (ValueId id : node.inputs)
            visit(id);
        for (ValueId id : node.outputs) // made and never read
            visit(id);
    }
    return out;
}

/// Copies only when somebody else still holds the value.
ReferenceValue take(ValuePtr&& value) {
    return value.use_count() == 1 ? std::move(*value) : *value;
}

std::vector<ValuePtr> shared(std::vector<ReferenceValue> values) {
    std::vector<ValuePtr> out;
    for (ReferenceValue& value : values)
        out.push_back(std::make_shared<ReferenceValue>(std::move(value)));
    return out;
}

Result<std::vector<ReferenceValue>> taken(Result<std::vector<ValuePtr>> results) {
    if (!results)
        return failure(results.error());
    std::vector<ReferenceValue> out;
    for (ValuePtr& result : *results)
        out.push_back(take(std::move(result)));
    return out;
}

class Interpreter {
public:
    Interpreter(ThreadPool& threads, Progress& progress, std::optional<uint64_t> noise,
                RunObserver* observer = nullptr)
        : m_threads(threads), m_progress(progress), m_noise(noise), m_observer(observer) {}

    /// `path`: see RunObserver; none of what nobody observes.
    Result<std::vector<ValuePtr>> run(const Graph& graph, std::vector<ValuePtr> inputs,
                                      const std::vector<ValuePtr>& captures,
                                      const std::vector<ValueId>& keep,
                                      const std::optional<std::string>& path = {});

    RunObserver* observer() const { return m_observer; }

    ThreadPool& threads() { return m_threads; }

private:
    class Frame;

    const Schedule& scheduleOf(const Graph& graph) {
        auto [found, added] = m_schedules.try_emplace(&graph);
        if (added)
            found->second = makeSchedule(graph);
        return found->second;
    }

    ThreadPool& m_threads;
    Progress& m_progress;
    std::optional<uint64_t> m_noise; ///< its seed
    RunObserver* m_observer;         ///< may be null
    std::unordered_map<const Graph*, Schedule> m_schedules;
    size_t m_depth = 0;
};

/// What jumps must see the values that 16-bit storage holds: ties there are ties.
bool isStoredNarrow(const ReferenceValue& value) {
    return value.kind == TypeKind::Tensor && isNarrowFloat(value.dtype);
}

/// The values of one run of one graph.
class Interpreter::Frame {
public:
    Frame(Interpreter& interpreter, const Graph& graph, const std::optional<std::string>& path)
        : m_interpreter(interpreter), m_graph(graph), m_path(path), m_values(graph.valueBound()) {}

    void bind(ValueId id, ValuePtr value) {
        if (m_path && value)
            m_interpreter.observer()->computed(*m_path, m_graph, id, *value);
        m_values[id.index()] = std::move(value);
    }

    void release(ValueId id) { m_values[id.index()].reset(); }

    /// Null for omitted inputs and for values that do not exist (yet).
    ValuePtr valueOf(ValueId id) {
        if (!id.valid())
            return nullptr;
        ValuePtr& slot = m_values[id.index()];
        if (!slot && m_graph.value(id).constant)
            slot =
                std::make_shared<ReferenceValue>(ReferenceValue::from(*m_graph.value(id).constant));
        return slot;
    }

    Result<void> runNode(NodeId id);

    Result<std::vector<ReferenceValue>> runSubgraph(const Node& node, const std::string& attribute,
                                                    std::vector<ReferenceValue> inputs);

private:
    class Context;

    Result<std::vector<ValuePtr>> evaluate(const Node& node, const std::vector<ValuePtr>& inputs);

    Interpreter& m_interpreter;
    const Graph& m_graph;
    const std::optional<std::string>& m_path;
    std::vector<ValuePtr> m_values;
};

class Interpreter::Frame::Context final : public ReferenceContext {
public:
    Context(Frame& frame, const Node& node) : m_frame(frame), m_node(node) {}

    ThreadPool& threads() override { return m_frame.m_interpreter.threads(); }

    Result<std::vector<ReferenceValue>> runSubgraph(const std::string& attribute,
                                                    std::vector<ReferenceValue> inputs) override {
        return m_frame.runSubgraph(m_node, attribute, std::move(inputs));
    }

    uint64_t seed() override { return Hasher().text(m_node.name).value(); }

private:
    Frame& m_frame;
    const Node& m_node;
};

Result<std::vector<ReferenceValue>>
Interpreter::Frame::runSubgraph(const Node& node, const std::string& attribute,
                                std::vector<ReferenceValue> inputs) {
    for (const SubgraphRef& ref : subgraphsOf(node)) {
        if (ref.attribute != attribute)
            continue;
        std::vector<ValuePtr> captures;
        for (size_t i = 0; i < ref.graph->captures().size(); ++i)
            captures.push_back(valueOf(node.inputs[ref.firstCapture + i]));
        std::optional<std::string> path;
        if (m_path) {
            path = bodyPath(*m_path, node.name, attribute);
            m_interpreter.observer()->entered(*path);
        }
        auto results = m_interpreter.run(*ref.graph, shared(std::move(inputs)), captures, {}, path);
        return taken(std::move(results));
    }
    return failure("reference.subgraph", fmt::format("there is no subgraph `{}`", attribute),
                   node.name);
}

Result<std::vector<ValuePtr>> Interpreter::Frame::evaluate(const Node& node,
                                                           const std::vector<ValuePtr>& inputs) {
    if (node.op == Op::Fused && node.body)
        return m_interpreter.run(*node.body, inputs, {}, {});
    std::vector<const ReferenceValue*> operands;
    std::vector<ReferenceValue> stored(node.explicitInputs);
    const bool jumps = hasTrait(node.op, Discontinuous) || node.op == Op::Cast;
    for (size_t i = 0; i < node.explicitInputs; ++i) {
        operands.push_back(inputs[i].get());
        if (jumps && operands.back() && isStoredNarrow(*operands.back())) {
            stored[i] = ReferenceValue::from(operands.back()->toTensor());
            operands.back() = &stored[i];
        }
    }
    Context context(*this, node);
    auto results = evaluateNode(node, operands, context);
    if (!results)
        return failure(results.error());
    std::vector<ValuePtr> out;
    for (ReferenceValue& result : *results) {
        if (m_interpreter.m_noise)
            addRoundingNoise(node, *m_interpreter.m_noise, result);
        out.push_back(std::make_shared<ReferenceValue>(std::move(result)));
    }
    return out;
}

Result<void> Interpreter::Frame::runNode(NodeId id) {
    const Node& node = m_graph.node(id);
    std::vector<ValuePtr> inputs;
    for (ValueId input : node.inputs) {
        inputs.push_back(valueOf(input));
        if (input.valid() && !inputs.back())
            return failure("reference.undefined",
                           fmt::format("`{}` has no value", m_graph.value(input).name), node.name);
    }
    auto results = evaluate(node, inputs);
    if (!results) {
        Error error = results.error();
        if (error.where.empty() && error.message.find(node.name) == std::string::npos)
            error.where = node.name;
        return failure(std::move(error));
    }
    if (results->size() < node.outputs.size())
        return failure("reference.outputs",
                       fmt::format("{} outputs are asked for, {} were computed",
                                   node.outputs.size(), results->size()),
                       node.name);
    for (size_t i = 0; i < node.outputs.size(); ++i)
        if (node.outputs[i].valid())
            bind(node.outputs[i], std::move((*results)[i]));
    return {};
}

Result<std::vector<ValuePtr>> Interpreter::run(const Graph& graph, std::vector<ValuePtr> inputs,
                                               const std::vector<ValuePtr>& captures,
                                               const std::vector<ValueId>& keep,
                                               const std::optional<std::string>& path) {
    constexpr std::string_view stage = "interpret";
    if (inputs.size() != graph.inputs().size())
        return failure("reference.inputs",
                       fmt::format("graph `{}` has {} inputs, {} were given", graph.name(),
                                   graph.inputs().size(), inputs.size()));
    Frame frame(*this, graph, path);
    for (size_t i = 0; i < inputs.size(); ++i)
        frame.bind(graph.inputs()[i], std::move(inputs[i]));
    for (size_t i = 0; i < captures.size(); ++i)
        frame.bind(graph.captures()[i], captures[i]);

    const Schedule& schedule = scheduleOf(graph);
    if (schedule.order.size() != graph.nodeCount())
        return failure("reference.cycle", fmt::format("graph `{}` has a cycle", graph.name()));
    std::vector<bool> kept(graph.valueBound(), false);
    for (ValueId id : keep)
        kept[id.index()] = true;
    if (m_progress.cancelled()) // a loop may run a body without nodes for ever
        return cancelledFailure(stage);
    ++m_depth;
    for (size_t step = 0; step < schedule.order.size(); ++step) {
        if (m_progress.cancelled())
            return cancelledFailure(stage);
        if (auto done = frame.runNode(schedule.order[step]); !done)
            return failure(done.error());
        for (ValueId id : schedule.lastUses[step])
            if (!kept[id.index()])
                frame.release(id);
        if (m_depth == 1)
            m_progress.report(stage, step + 1, schedule.order.size());
    }
    --m_depth;

    std::vector<ValueId> wanted = graph.outputs();
    wanted.insert(wanted.end(), keep.begin(), keep.end());
    std::vector<ValuePtr> out;
    for (ValueId id : wanted) {
        out.push_back(frame.valueOf(id));
        if (!out.back())
            return failure("reference.undefined",
                           fmt::format("`{}` has no value", graph.value(id).name));
    }
    return out;
}

Result<void> checkInput(const Value& declared, const ReferenceValue& given) {
    const Type& type = declared.type;
    auto wrong = [&](const std::string& what) {
        return failure("reference.inputs", what, declared.name);
    };
    if (type.kind != given.kind)
        return wrong("the input is declared as " + type.text());
    if (type.dtype != DType::Undefined && given.kind == TypeKind::Tensor &&
        given.dtype != type.dtype)
        return wrong(
            fmt::format("the input is {}, {} was given", type.text(), nameOf(given.dtype)));
    if (!type.shape || given.kind != TypeKind::Tensor)
        return {};
    bool fits = type.rank() == given.extents.size();
    for (size_t i = 0; fits && i < type.rank(); ++i)
        fits = !certainlyDifferent((*type.shape)[i], Dim(given.extents[i])) ||
               (*type.shape)[i].value() < 0;
    if (!fits)
        return wrong(fmt::format("the input is {}, extents {} were given", type.text(),
                                 text(given.extents)));
    return {};
}

/// From the outermost graph on.
Result<std::vector<ReferenceValue>> interpretAll(Interpreter interpreter, const Graph& graph,
                                                 std::vector<ReferenceValue> inputs,
                                                 const std::vector<ValueId>& keep) {
    for (size_t i = 0; i < std::min(inputs.size(), graph.inputs().size()); ++i)
        if (auto fits = checkInput(graph.value(graph.inputs()[i]), inputs[i]); !fits)
            return failure(fits.error());
    try { // each result is limited, but not what all of them need together
        const auto path =
            interpreter.observer() ? std::optional<std::string>("") : std::optional<std::string>();
        return taken(interpreter.run(graph, shared(std::move(inputs)), {}, keep, path));
    } catch (const std::bad_alloc&) {
        return failure("resource.memory", "the interpreter needs more memory than there is",
                       graph.name(), "give smaller dimensions, e.g. --dim N=1");
    }
}

class Entered final : public RunObserver {
public:
    void entered(const std::string& path) override { paths.insert(path); }

    std::set<std::string> paths;
};

} // namespace

Result<std::vector<ReferenceValue>> interpret(const Graph& graph,
                                              std::vector<ReferenceValue> inputs,
                                              ThreadPool& threads, Progress& progress,
                                              const std::vector<ValueId>& keep,
                                              std::optional<uint64_t> roundingSeed) {
    return interpretAll(Interpreter(threads, progress, roundingSeed), graph, std::move(inputs),
                        keep);
}

Result<std::vector<ReferenceValue>> interpretObserved(const Graph& graph,
                                                      std::vector<ReferenceValue> inputs,
                                                      ThreadPool& threads, Progress& progress,
                                                      RunObserver& observer) {
    return interpretAll(Interpreter(threads, progress, {}, &observer), graph, std::move(inputs),
                        {});
}

Result<std::set<std::string>> enteredBodies(const Graph& graph, const std::vector<Tensor>& inputs,
                                            ThreadPool& threads, Progress& progress) {
    std::vector<ReferenceValue> values;
    for (const Tensor& input : inputs)
        values.push_back(ReferenceValue::from(input));
    Entered entered;
    auto ran = interpretObserved(graph, std::move(values), threads, progress, entered);
    if (!ran)
        return failure(ran.error());
    return std::move(entered.paths);
}

} // namespace fuselage
