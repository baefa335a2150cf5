// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/judge.h"

#include "app/pipeline/prove/sides.h"
#include "app/pipeline/verify.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/ops/op_table.h"
#include "core/passes/inference.h"
#include "core/rewrite/custom_body.h"
#include "core/rewrite/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::app {

namespace {

Verdict unfit(std::string reason) {
    return {Verdict::Kind::Unfit, std::move(reason)};
}

/// An element of a result depends on more than the elements at its place.
bool mixesElements(const Graph& graph) {
    const std::vector<NodeId>& nodes = graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return !hasTrait(graph.node(node).op, Elementwise); });
}

/// Both are numbers, or neither is. What an infinity meets on the way may make NaN of it, but never
/// the other infinity.
bool sameKind(double a, double b, Contents contents) {
    if (std::isinf(a) && std::isinf(b))
        return a == b;
    if (contents == Contents::Nans && std::isnan(a) != std::isnan(b))
        return false;
    return std::isfinite(a) == std::isfinite(b);
}

/// What rounding a few constants to 16 bits may do to them, relative; 0: all have more.
double coarseness(const Graph& graph) {
    constexpr double roundings = 4;
    double out = 0;
    for (ValueId value : graph.values()) {
        if (!graph.value(value).constant)
            continue;
        const DType type = graph.value(value).type.dtype;
        if (type == DType::Float16)
            out = std::max(out, roundings * 0x1p-11);
        if (type == DType::BFloat16)
            out = std::max(out, roundings * 0x1p-8);
    }
    return out;
}

/// A last bit before the rounding may be a step after it.
bool quantized(const Graph& graph, size_t output) {
    NodeId maker = graph.producer(graph.outputs()[output]);
    return maker.valid() && graph.node(maker).op == Op::QuantizeLinear;
}

bool neighbours(const ReferenceValue& want, const Tensor& have) {
    if (have.extents() != want.extents || have.dtype() != want.dtype)
        return false;
    for (int64_t i = 0; i < have.elementCount(); ++i)
        if (std::fabs(want.at(i) - have.at(i)) > 1)
            return false;
    return true;
}

/// One output of both sides, as a rule that is not exact must keep it.
class Agreement {
public:
    /// `passed`: the largest number on the way to `want`.
    Agreement(const Rule& rule, const Sample& sample, const ReferenceValue& want,
              const Tensor& have, double passed)
        : m_want(want), m_have(have), m_contents(sample.contents),
          m_tolerance(std::max(proofTolerance(rule) * (sample.isAtEdge ? uses : 1),
                               coarseness(sample.graph))),
          m_noise(std::min(mostNoise, 1e-13 * std::max(passed, 1.0))),
          m_byElement(rule.isRewrite && sample.contents == Contents::Wide && !sample.isAtEdge &&
                      coarseness(sample.graph) == 0),
          m_mixes(!rule.isRewrite || rule.numeric == NumericClass::Approximate ||
                  mixesElements(sample.graph)) {
        // A sum with a literal that is off by its tolerance, or with constants that are rounded to
        // 16 bits, may cancel: that is no fault of the rule.
        m_largest = sample.isAtEdge || coarseness(sample.graph) > 0 ? passed : 0;
        for (int64_t i = 0; i < have.elementCount(); ++i)
            if (!std::isfinite(want.at(i)))
                m_hasNone = true;
            else
                m_largest = std::max(m_largest, std::fabs(want.at(i)));
    }

    /// `spread`: per element, what roundings alone may do; empty: nothing. Where elements are
    /// mixed others may become none beside an infinity; none becomes a number.
    std::optional<int64_t> failing(const std::vector<double>& spread) const {
        for (int64_t i = 0; i < m_have.elementCount(); ++i) {
            const double want = m_want.at(i), have = m_have.at(i);
            const bool mayBecomeNone =
                m_contents == Contents::Specials && m_mixes && m_hasNone && std::isfinite(want);
            if (!sameKind(want, have, m_contents) && !mayBecomeNone)
                return i;
            if (!std::isfinite(want) || !std::isfinite(have))
                continue;
            const double rounded = spread.empty() ? 0 : spread[static_cast<size_t>(i)];
            const double size = m_byElement ? std::fabs(want) : m_largest;
            if (std::fabs(want - have) > std::max({m_tolerance * size, m_noise, rounded}))
                return i;
        }
        return std::nullopt;
    }

private:
    static constexpr double uses = 4; ///< of a literal that is off by its tolerance
    static constexpr double mostNoise = 1e-7;

    const ReferenceValue& m_want;
    const Tensor& m_have;
    Contents m_contents;
    double m_tolerance;
    double m_noise; ///< what the numbers that stand for exact ones lack; roundings are in `spread`
    bool m_byElement;
    bool m_mixes;
    double m_largest = 0;
    bool m_hasNone = false;
};

/// `at`: the element that decided; none: the one that is furthest off.
std::string gapText(const std::string& name, const ReferenceValue& want, const Tensor& have,
                    std::optional<int64_t> at = {}) {
    if (have.extents() != want.extents || have.dtype() != want.dtype)
        return fmt::format("`{}` is {} before and {} after", name, want.toTensor().type().text(),
                           have.type().text());
    auto same = [](double a, double b) {
        return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
    };
    int64_t worst = at.value_or(-1);
    for (int64_t i = 0; i < have.elementCount() && !at; ++i) {
        double gap = std::fabs(want.at(i) - have.at(i));
        bool further = worst < 0 || !(gap <= std::fabs(want.at(worst) - have.at(worst)));
        if (!same(want.at(i), have.at(i)) && further)
            worst = i;
    }
    if (worst < 0)
        return fmt::format("`{}` differs", name);
    constexpr double closest = 1e-5; // that six digits show
    const bool isClose =
        std::fabs(want.at(worst) - have.at(worst)) <= closest * std::fabs(want.at(worst));
    const int digits = isFloat(have.dtype()) && !isClose ? 6 : 17;
    return fmt::format("`{}` at element {} is {:.{}g} before and {:.{}g} after", name, worst,
                       want.at(worst), digits, have.at(worst), digits);
}

/// What other runtimes refuse although this one would compute it: a window's border that cuts.
std::string notAllowed(const Graph& graph) {
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        bool window = hasTrait(node.op, ContractionOp | Pooling);
        for (int64_t pad : window ? node.attributes.integers("pads") : std::vector<int64_t>{})
            if (pad < 0)
                return fmt::format("`{}` has a negative pad after, which ONNX does not allow",
                                   text(graph, id));
    }
    return {};
}

bool agrees(const Rule& rule, const Sample& sample, const ReferenceValue& reference,
            const Tensor& have, size_t output, double passed) {
    if (have.extents() != reference.extents || have.dtype() != reference.dtype)
        return false;
    const bool exact = rule.numeric == NumericClass::Exact;
    if (!exact && isFloat(reference.dtype))
        return !Agreement(rule, sample, reference, have, passed).failing({});
    if (!exact && quantized(sample.graph, output) && neighbours(reference, have))
        return true;
    const double tolerance = isFloat(reference.dtype) ? proofTolerance(rule) : 0;
    return compareOutput("", "after", reference, have, tolerance).ok;
}

/// Exact numbers hide what float32 rounds: both sides by strict kernels. A sign of zero counts.
Verdict judgeBits(const Rule& rule, const Graph& before, const Graph& after,
                  const std::vector<Tensor>& inputs) {
    auto wanted = lowered(rule, before, inputs, Kernels::Strict),
         made = lowered(rule, after, inputs, Kernels::Strict);
    if (!wanted || !made)
        return {Verdict::Kind::Agrees, ""}; // the exact numbers agreed
    for (size_t i = 0; i < wanted->outputs.size(); ++i) {
        const ReferenceValue want = ReferenceValue::from(wanted->outputs[i]);
        const Tensor& have = made->outputs[i];
        for (int64_t at = 0; at < have.elementCount(); ++at) {
            const double a = want.at(at), b = have.at(at);
            const bool same =
                (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
            if (!same)
                return {Verdict::Kind::Differs,
                        gapText(before.value(before.outputs()[i]).name, want, have)};
        }
    }
    return {Verdict::Kind::Agrees, ""};
}

Verdict notFired(const Trace& trace) {
    for (const TraceEvent& event : trace.events)
        if (event.kind == TraceEvent::Kind::Refused)
            return {Verdict::Kind::Unfit, event.reason.text(),
                    event.reason.code == code::rewriteType, true};
    return unfit("no match");
}

} // namespace

double proofTolerance(const Rule& rule) {
    if (rule.verify && rule.verify->tolerance)
        return *rule.verify->tolerance;
    switch (rule.numeric) {
    case NumericClass::Exact:
        return rule.isRewrite ? 0 : 1e-6;
    case NumericClass::Approximate:
        return 2e-3;
    default:
        return 1e-4;
    }
}

namespace {

/// One of them in front of a difference: a rule must not be blamed for it.
class Difference {
public:
    Difference(const Rule& rule, const Sample& sample, const Graph& after,
               const std::vector<Tensor>& inputs, Progress& progress)
        : m_rule(rule), m_sample(sample), m_after(after), m_inputs(inputs), m_progress(progress) {}

    /// The first element that is off by more than roundings of float32 make; none: they made it.
    std::optional<int64_t> beyondRounding(const Agreement& agreement, const Side& wanted,
                                          const Side& made, size_t output) const {
        constexpr double moreThanTried = 8;
        std::vector<double> spread = spreadOf(m_sample.graph, m_inputs, wanted, output, m_progress);
        if (m_rule.isRewrite) {
            const auto more = spreadOf(m_after, m_inputs, made, output, m_progress);
            for (size_t at = 0; at < spread.size(); ++at)
                spread[at] += more[at];
        }
        for (double& each : spread)
            each *= moreThanTried;
        return agreement.failing(spread);
    }

    /// Whether the kernels of the nodes one by one give what the fused one gives.
    bool isOfKernels(const Side& made, size_t output) {
        if (m_rule.isRewrite)
            return false;
        if (!m_apart) {
            auto apart = lowered(m_rule, m_sample.graph, m_inputs, Kernels::OnePerNode);
            m_apart = apart ? std::move(*apart) : Side{};
        }
        if (output >= m_apart->outputs.size())
            return false;
        const auto reference = ReferenceValue::from(m_apart->outputs[output]);
        return compareOutput("", "", reference, made.outputs[output], proofTolerance(m_rule)).ok;
    }

private:
    const Rule& m_rule;
    const Sample& m_sample;
    const Graph& m_after;
    const std::vector<Tensor>& m_inputs;
    Progress& m_progress;
    std::optional<Side> m_apart;
};

std::vector<NodeId> madeBy(const Rule& rule, const Graph& graph) {
    std::vector<NodeId> out = topologicalOrder(graph);
    std::erase_if(out, [&](NodeId id) { return graph.node(id).provenance.rule != rule.name; });
    return out;
}

/// The graph written with its fused nodes as bare nodes of `custom` and read back, as a runtime
/// with that operator reads it; none where nobody here says what it computes.
Result<std::optional<Graph>> readBack(Graph graph, const Rule& rule, const CustomOperator& custom) {
    for (NodeId id : madeBy(rule, graph)) {
        graph.edit(id).op = Op::Unknown;
        graph.edit(id).body = nullptr;
    }
    const Result<std::string> bytes = model_io::toBytes(graph);
    if (!bytes)
        return std::optional<Graph>();
    Result<Graph> read = model_io::loadBytes(*bytes, "", {});
    if (!read)
        return failure(read.error());
    for (const InferProblem& problem : inferDeclaredShapes(*read))
        if (!problem.warning())
            return failure("prove.as", fmt::format("`{}`: {}", custom.text(), problem.message));
    for (NodeId id : read->nodes())
        if (read->node(id).op == Op::Unknown)
            return std::optional<Graph>();
    return std::optional<Graph>(std::move(*read));
}

/// The graph whose fused nodes compute what `custom` computes by its declaration, or as it is
/// published; none where nobody says what that is.
Result<std::optional<Graph>> asNamed(const Graph& after, const Rule& rule,
                                     const CustomOperator& custom) {
    if (!custom.body)
        return readBack(after.clone(), rule, custom);
    Graph declared = after.clone();
    for (NodeId id : madeBy(rule, declared))
        if (auto entered = enterBody(declared, id, custom, {}); !entered)
            return failure(entered.error());
    return std::optional<Graph>(std::move(declared));
}

/// How a fused node that goes by the name of an operator differs from what the operator computes:
/// a runtime with that operator computes that. Empty where it does not, or nobody says.
std::string againstName(const Rule& rule, const Sample& sample, const Graph& after,
                        const std::vector<Tensor>& inputs, const Side& wanted, Progress& progress) {
    if (!rule.exportAs || !wanted.overflow.empty())
        return {};
    const CustomOperator& custom = *rule.exportAs->custom;
    const Result<std::optional<Graph>> named = asNamed(after, rule, custom);
    if (!named) {
        // A literal of many dimensions of one element stays an operand.
        const std::vector<NodeId> nodes = madeBy(rule, after);
        const bool mayBeLiteral = std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
            const std::vector<ValueId>& operands = after.node(id).inputs;
            return std::any_of(operands.begin(), operands.end(),
                               [&](ValueId operand) { return after.isConstant(operand); });
        });
        return mayBeLiteral ? std::string() : named.error().message;
    }
    if (!*named)
        return {};
    const char* const how = custom.body ? " as declared" : "";
    auto made = interpreted(**named, inputs, progress);
    if (!made)
        return fmt::format("`{}` cannot be run{}: {}", custom.text(), how, made.error().text());
    for (size_t i = 0; i < wanted.outputs.size() && made->overflow.empty(); ++i) {
        const ReferenceValue reference = ReferenceValue::from(wanted.outputs[i]);
        const Tensor& have = made->outputs[i];
        if (have.extents() != reference.extents && // a literal of more dimensions than it needs
            have.elementCount() == elementCount(reference.extents))
            return {};
        if (!compareOutput("", "", reference, have, proofTolerance(rule)).ok)
            return fmt::format(
                "`{}`{} makes another: {}", custom.text(), how,
                gapText(sample.graph.value(sample.graph.outputs()[i]).name, reference, have));
    }
    return {};
}

} // namespace

Judge::Judge(const Rule& rule) : m_alone{{rule}}, m_index(m_alone) {}

Verdict Judge::of(const Sample& sample, Progress& progress) const {
    const Rule& rule = m_alone.rules[0];
    Pipeline pipeline{"prove", {{rule.phase, false, PhaseStep::Selection::Order}}};
    auto after = rewrite(sample.graph.clone(), m_alone, m_index, pipeline, {}, progress);
    if (!after)
        return {Verdict::Kind::Unfit, after.error().text(), false, true};
    if (after->trace.applied(rule.name) == 0)
        return notFired(after->trace);
    auto inputs = sampleInputs(sample.graph, sample.contents, sample.inputSeed);
    if (!inputs)
        return unfit(inputs.error().text());
    for (size_t i = 0; i < inputs->size(); ++i)
        if (auto range = sample.ranges.find(sample.graph.value(sample.graph.inputs()[i]).name);
            range != sample.ranges.end())
            bringInto((*inputs)[i], range->second);
    auto wanted = interpreted(sample.graph, *inputs, progress);
    if (!wanted)
        return unfit("before: " + wanted.error().text());
    auto made = rule.isRewrite ? interpreted(after->graph, *inputs, progress)
                               : lowered(rule, after->graph, *inputs);
    if (progress.cancelled())
        return unfit("cancelled");
    if (!made)
        return {Verdict::Kind::Differs, "cannot be run after: " + made.error().text()};
    if (std::string mistake = notAllowed(after->graph);
        !mistake.empty() && notAllowed(sample.graph).empty())
        return {Verdict::Kind::Differs, std::move(mistake)};
    if (auto other = againstName(rule, sample, after->graph, *inputs, *wanted, progress);
        !other.empty())
        return {Verdict::Kind::Differs, std::move(other)};
    // Exact numbers cannot say what comes of an infinity on the way: kernels can.
    const bool overflows = wanted->overflow.empty() && !made->overflow.empty();
    if (overflows)
        if (auto real = lowered(rule, after->graph, *inputs, Kernels::OnePerNode))
            made->outputs = std::move(real->outputs);
    // Sums in another order may leave a type at whose end the numbers already stand.
    if (overflows && sample.contents == Contents::Ends && rule.numeric != NumericClass::Exact)
        return unfit(fmt::format("`{}` leaves its type", made->overflow));
    // What is folded into a constant of 16 bits may be larger than what it was made of.
    const double passed =
        coarseness(sample.graph) > 0 ? std::max(wanted->largest, made->largest) : wanted->largest;
    Difference difference(rule, sample, after->graph, *inputs, progress);
    for (size_t i = 0; i < wanted->outputs.size(); ++i) {
        const ReferenceValue reference = ReferenceValue::from(wanted->outputs[i]);
        const Tensor& have = made->outputs[i];
        if (agrees(rule, sample, reference, have, i, passed) || difference.isOfKernels(*made, i))
            continue;
        const bool mayRound = rule.numeric != NumericClass::Exact && isFloat(reference.dtype) &&
                              have.extents() == reference.extents &&
                              have.dtype() == reference.dtype;
        std::optional<int64_t> failing;
        if (mayRound)
            failing = difference.beyondRounding(Agreement(rule, sample, reference, have, passed),
                                                *wanted, *made, i);
        if (mayRound && !failing)
            continue;
        for (const std::string& lost : {wanted->overflow, wanted->unsettled})
            if (!lost.empty())
                return unfit(fmt::format("`{}` is more or less than its type holds", lost));
        // The numbers that stand for exact ones are doubles: these end where the type does.
        if (mayRound && sample.contents == Contents::Ends && reference.dtype == DType::Float64)
            return unfit("doubles at the end of their type");
        std::string gap =
            gapText(sample.graph.value(sample.graph.outputs()[i]).name, reference, have, failing);
        if (overflows)
            gap += fmt::format(", since `{}` overflows", made->overflow);
        return {Verdict::Kind::Differs, std::move(gap)};
    }
    if (rule.isRewrite && rule.numeric == NumericClass::Exact && wanted->overflow.empty() &&
        wanted->unsettled.empty())
        return judgeBits(rule, sample.graph, after->graph, *inputs);
    return {Verdict::Kind::Agrees, ""};
}

} // namespace fuselage::app
