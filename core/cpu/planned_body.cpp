// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/planned_body.h"

#include "core/graph/bodies.h"
#include "core/passes/passes.h"
#include "core/passes/shape_inputs.h"
#include "core/passes/specialise.h"
#include "core/plan/make_plan.h"

#include <algorithm>
#include <chrono>
#include <unordered_set>

namespace fuselage::cpu {

namespace {

using Clock = std::chrono::steady_clock;

/// Plans of one body may hold so much together, unless one alone does.
constexpr size_t mostPlannedBytes = size_t{256} << 20;

/// What a plan with its kernels holds besides values and constants; packed weights are shared.
constexpr size_t bytesOfKernels = size_t{128} << 10;

/// From so much on, which the reference functions would widen, a plan for all shapes pays at once.
constexpr size_t widenedBytes = size_t{1} << 18;

/// Shapes and elements that are remembered, with and without plans.
constexpr size_t mostKept = 2048;

double secondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

PlannedBody::Shapes shapesOf(const std::vector<Tensor>& inputs, const std::vector<Tensor>& given) {
    PlannedBody::Shapes out;
    for (const std::vector<Tensor>* tensors : {&inputs, &given})
        for (const Tensor& tensor : *tensors)
            out.emplace_back(tensor.dtype(), tensor.extents());
    return out;
}

/// Whether a plan takes inputs of these shapes; those on the host are of any.
bool fits(const Plan& plan, const PlannedBody::Shapes& shapes) {
    if (plan.inputs.size() != shapes.size())
        return false;
    for (size_t i = 0; i < shapes.size(); ++i) {
        const PlanValue& value = plan.values[plan.inputs[i]];
        if (value.dtype != shapes[i].first ||
            (value.residence != Residence::Host && value.extents != shapes[i].second))
            return false;
    }
    return true;
}

size_t bytesOfConstants(const Graph& body, const std::vector<TensorPtr>& captured) {
    size_t out = 0;
    for (ValueId id : body.values())
        out += body.isConstant(id) ? body.value(id).constant->byteCount() : 0;
    for (const TensorPtr& constant : captured)
        out += constant ? constant->byteCount() : 0;
    return out;
}

PlannedBody::Shapes shapesOf(const Plan& plan) {
    PlannedBody::Shapes out;
    for (uint32_t input : plan.inputs)
        out.emplace_back(plan.values[input].dtype, plan.values[input].extents);
    return out;
}

std::vector<Type> typesOf(const std::vector<Tensor>& tensors) {
    std::vector<Type> out;
    for (const Tensor& tensor : tensors)
        out.push_back(tensor.type());
    return out;
}

/// What planning made of the body's constants, as weights that were joined.
size_t bytesOfNewConstants(const Plan& plan, const Graph& body) {
    std::unordered_set<const Tensor*> known;
    for (ValueId id : body.values())
        known.insert(body.value(id).constant.get());
    size_t out = 0;
    for (const PlanValue& value : plan.values)
        if (value.constant && known.insert(value.constant.get()).second)
            out += value.constant->byteCount();
    return out;
}

std::shared_ptr<const Plan> planOf(const Graph& graph, const BodyPlanning& planning,
                                   bool openInputs, Progress& progress) {
    for (ValueId output : graph.outputs())
        if (graph.value(output).type.kind != TypeKind::Tensor)
            return nullptr;
    auto profile = deviceProfile("cpu");
    Graph prepared = graph.clone();
    if (!profile || !prepareGraph(prepared, progress))
        return nullptr;
    PlanOptions options;
    static_cast<PlanForm&>(options) = planning.outer.form;
    options.profile = &*profile;
    options.backend = &planning.backend;
    options.precision = planning.outer.precision;
    options.openInputs = openInputs;
    auto plan = makePlan(std::make_shared<const Graph>(std::move(prepared)), options, progress);
    return plan ? *plan : nullptr;
}

/// Null where the plan is, or kernels cannot be had.
std::unique_ptr<Executable> executableOf(const std::shared_ptr<const Plan>& plan,
                                         const BodyPlanning& planning, Progress& progress) {
    auto out = plan ? planning.backend.prepare(plan, progress)
                    : Result<std::unique_ptr<Executable>>(nullptr);
    return out ? std::move(*out) : nullptr;
}

} // namespace

/// What a body is given, as far as a plan depends on it.
struct PlannedBody::Key {
    Shapes shapes;
    std::vector<int64_t> elements; ///< that shapes inside depend on

    bool operator<(const Key& other) const {
        return std::tie(elements, shapes) < std::tie(other.elements, other.shapes);
    }
};

struct PlannedBody::Kept {
    std::shared_ptr<const Graph> graph;     ///< null: not of what was asked for last, and not tried
    std::unique_ptr<Executable> executable; ///< null: it has no plan
    bool isTried = false;                   ///< to make one
    size_t bytes = 0;                       ///< that the executable may hold
    uint64_t times = 0, last = 0;           ///< asked for: how often, and when
    double seconds = 0;                     ///< that it ran without a plan
};

PlannedBody::PlannedBody(SubgraphRef ref, std::vector<TensorPtr> constants,
                         std::shared_ptr<const Plan> plan)
    : m_ref(std::move(ref)), m_constants(std::move(constants)), m_plan(std::move(plan)),
      m_constantBytes(bytesOfConstants(*m_ref.graph, m_constants)) {}

PlannedBody::~PlannedBody() = default;
PlannedBody::PlannedBody(PlannedBody&&) noexcept = default;

Graph PlannedBody::standalone(const std::vector<Type>& inputs) const {
    std::vector<Type> captured;
    size_t given = 0;
    for (const TensorPtr& constant : m_constants)
        captured.push_back(constant ? Type() : m_given[given++].type());
    return standaloneBody(*m_ref.graph, inputs, captured, m_constants);
}

const Tensor& PlannedBody::inputAt(size_t place, const std::vector<Tensor>& inputs) const {
    return place < inputs.size() ? inputs[place] : m_given[place - inputs.size()];
}

void PlannedBody::assume(Graph& graph, const std::vector<size_t>& places,
                         const std::vector<Tensor>& inputs) const {
    for (size_t place : places)
        assumeInput(graph, place, inputAt(place, inputs));
}

/// None where they leave shapes open: others, or the data themselves, decide those.
const std::vector<size_t>& PlannedBody::decidersOf(const Shapes& shapes,
                                                   const std::vector<Tensor>& inputs) {
    if (const auto found = m_deciders.find(shapes); found != m_deciders.end())
        return found->second;
    if (m_deciders.size() == mostKept)
        m_deciders.clear();
    std::vector<size_t>& out = m_deciders[shapes];
    Graph graph = standalone(typesOf(inputs));
    inferShapes(graph);
    out = shapeInputs(graph);
    if (out.empty())
        return out;
    assume(graph, out, inputs);
    Progress quiet;
    if (!prepareGraph(graph, quiet) || dependsOnData(graph))
        out.clear();
    return out;
}

PlannedBody::Key PlannedBody::keyOf(const std::vector<Tensor>& inputs) {
    Key out{shapesOf(inputs, m_given), {}};
    for (size_t place : decidersOf(out.shapes, inputs)) {
        const Tensor& tensor = inputAt(place, inputs);
        for (int64_t i = 0; i < tensor.elementCount(); ++i)
            out.elements.push_back(tensor.intAt(i));
    }
    return out;
}

size_t PlannedBody::plannedBytes() const {
    size_t out = 0;
    for (const auto& [key, kept] : m_kept)
        out += kept.executable ? kept.bytes : 0;
    return out;
}

PlannedBody::Kept& PlannedBody::ask(const Key& key, const std::vector<Tensor>& inputs) {
    const auto found = m_kept.find(key);
    Kept* kept = found == m_kept.end() ? nullptr : &found->second;
    if (m_asked && m_asked != kept && !m_asked->isTried)
        m_asked->graph.reset();
    if (!kept) {
        if (m_kept.size() == mostKept)
            m_kept.erase(
                std::min_element(m_kept.begin(), m_kept.end(), [](const auto& a, const auto& b) {
                    return a.second.last < b.second.last;
                }));
        kept = &m_kept[key];
    }
    m_asked = kept;
    kept->last = ++m_clock;
    ++kept->times;
    if (!kept->graph) {
        Graph graph = standalone(typesOf(inputs));
        assume(graph, decidersOf(key.shapes, inputs), inputs);
        kept->graph = std::make_shared<const Graph>(std::move(graph));
    }
    return *kept;
}

/// What comes again gets a plan, as long as there is room. Where it would take the place of
/// another, which then begins anew, running without one has to take far longer first: what goes
/// round more shapes than there is room for would else make plans all the time.
bool PlannedBody::isWorthAPlan(const Kept& kept) const {
    constexpr double plansToWait = 16; // of what the last one took to make
    return kept.times > 1 && (plannedBytes() + m_planBytes <= mostPlannedBytes ||
                              kept.seconds >= plansToWait * m_planSeconds);
}

/// Plans that were asked for longest ago give way, all but the last one.
void PlannedBody::makeRoom() {
    while (plannedBytes() > mostPlannedBytes) {
        Kept* oldest = nullptr;
        for (auto& [key, kept] : m_kept)
            if (kept.executable && &kept != m_asked && (!oldest || kept.last < oldest->last))
                oldest = &kept;
        if (!oldest)
            return;
        *oldest = {nullptr, nullptr, false, 0, oldest->times, oldest->last, 0};
    }
}

/// Constants and operands, which the reference functions widen in every iteration.
bool PlannedBody::readsMuch(const std::vector<Tensor>& inputs) const {
    size_t bytes = m_constantBytes;
    for (const std::vector<Tensor>* tensors : {&inputs, &m_given})
        for (const Tensor& tensor : *tensors)
            bytes += tensor.byteCount();
    return bytes >= widenedBytes;
}

/// Whether the step's own plan is.
bool PlannedBody::isPlannedFor(const Shapes& shapes) const {
    return m_plan && shapes == shapesOf(*m_plan);
}

/// By the plan inside the step's where that is for what was asked, else by one made now. Null where
/// there is none.
Executable* PlannedBody::prepare(Kept& kept, const Key& key, const BodyPlanning& planning,
                                 Progress& progress) {
    if (kept.isTried)
        return kept.executable.get();
    const bool isPlanned = key.elements.empty() && isPlannedFor(key.shapes);
    if (!isPlanned && !planning.isAtOnce && !isWorthAPlan(kept))
        return nullptr;
    const Clock::time_point begin = Clock::now();
    kept.isTried = true;
    const std::shared_ptr<const Plan> plan =
        isPlanned ? m_plan : planOf(*kept.graph, planning, false, progress);
    kept.executable = executableOf(plan, planning, progress);
    if (!kept.executable)
        return nullptr;
    kept.bytes = static_cast<size_t>(plan->arenaBytes) + bytesOfKernels +
                 bytesOfNewConstants(*plan, *kept.graph);
    if (!isPlanned) {
        m_planSeconds = secondsSince(begin);
        m_planBytes = kept.bytes;
    }
    makeRoom();
    return kept.executable.get();
}

/// For what comes for the first time: the step's own plan where that is for such shapes, with any
/// elements, else one for all shapes that the body may be given, where the reference functions
/// would widen much. Null where there is none.
Executable* PlannedBody::general(const Key& key, const std::vector<Tensor>& inputs,
                                 const BodyPlanning& planning, Progress& progress) {
    const bool isOwn = isPlannedFor(key.shapes);
    if (!isOwn && !readsMuch(inputs))
        return nullptr;
    General& out = isOwn ? m_own : m_open;
    if (!out.isTried) {
        out.isTried = true;
        std::vector<Type> types;
        for (ValueId input : m_ref.graph->inputs())
            types.push_back(m_ref.graph->value(input).type);
        out.plan = isOwn ? m_plan : planOf(standalone(types), planning, true, progress);
        out.executable = executableOf(out.plan, planning, progress);
    }
    return out.executable && fits(*out.plan, key.shapes) ? out.executable.get() : nullptr;
}

std::optional<Result<std::vector<Tensor>>> PlannedBody::run(const std::vector<Tensor>& inputs,
                                                            const BodyPlanning& planning,
                                                            Progress& progress) {
    const Key key = keyOf(inputs);
    Kept& kept = ask(key, inputs);
    Executable* executable = prepare(kept, key, planning, progress);
    const bool isOwn = executable != nullptr;
    if (!isOwn)
        executable = general(key, inputs, planning, progress);
    if (!executable)
        return std::nullopt;
    std::vector<Tensor> all = inputs;
    all.insert(all.end(), m_given.begin(), m_given.end());
    const Clock::time_point begin = Clock::now();
    auto outputs = executable->outputs(all, progress);
    if (!isOwn)
        ranWithoutPlan(secondsSince(begin));
    return outputs;
}

const Graph& PlannedBody::asked() const {
    return *m_asked->graph;
}

void PlannedBody::ranWithoutPlan(double seconds) {
    m_asked->seconds += seconds;
}

} // namespace fuselage::cpu
