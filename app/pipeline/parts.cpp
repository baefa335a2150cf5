// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/parts.h"

#include "app/pipeline/amplification.h"
#include "app/pipeline/verify.h"
#include "core/graph/makers.h"
#include "core/graph/subgraph.h"
#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

namespace fuselage::app {

namespace {

/// What makes the values, as a graph of its own, back to where `isGiven` says that a value is
/// there.
template <typename IsGiven>
Cut cutBackTo(const Graph& graph, const std::vector<ValueId>& values, const IsGiven& isGiven,
              const CutOptions& options) {
    const auto makers = makersOf(graph, values, isGiven);
    return cutOut(graph, {makers.begin(), makers.end()}, values, options);
}

/// Nothing adds up in a part: tighter than what a whole model may lose.
double limitOfPart(DType dtype) {
    return toleranceOf(dtype) / 10;
}

class PartsCheck {
public:
    PartsCheck(const Graph& model, const Graph& made, const CompileOptions& compile,
               std::string side, Progress& progress)
        : m_model(model), m_made(made), m_compile(compile), m_pool(compile.threads),
          m_progress(progress) {
        m_worst.side = std::move(side);
        m_worst.ok = true;
    }

    Result<OutputAgreement> run(const std::vector<Tensor>& inputs);

private:
    Result<void> runPart(const std::vector<ValueId>& outputs);
    Result<std::vector<ReferenceValue>> judged(const Cut& cut, std::optional<uint64_t> seed,
                                               bool magnitudes = false);
    Result<std::vector<Tensor>> computed(Cut cut);
    void compare(const std::string& name, const ReferenceValue& expected, const Tensor& actual,
                 const std::vector<const ReferenceValue*>& moved, double terms);
    double largestTerms(const Cut& cut, size_t output);
    std::vector<ValueId> sharedOutputs(const Node& node) const;
    void keep(const std::string& name, const Tensor& value);
    void releaseAfter(const Node& node);

    const Tensor* given(const Graph& graph, ValueId id) const {
        if (graph.isConstant(id))
            return graph.value(id).constant.get();
        const auto found = m_values.find(graph.value(id).name);
        return found == m_values.end() ? nullptr : &found->second;
    }

    const Graph &m_model, &m_made;
    const CompileOptions& m_compile;
    ThreadPool m_pool;
    Progress& m_progress;
    std::unordered_map<std::string, Tensor> m_values; ///< the judge's, stored as the model says
    std::unordered_map<ValueId, size_t> m_uses;       ///< of the other graph: still to come
    OutputAgreement m_worst;
    size_t m_parts = 0, m_notRun = 0, m_cancelling = 0;
};

/// Tensors that both graphs have, and that something reads.
std::vector<ValueId> PartsCheck::sharedOutputs(const Node& node) const {
    std::vector<ValueId> out;
    for (ValueId id : node.outputs) {
        if (!id.valid() || (m_made.value(id).uses.empty() && !m_made.isGraphOutput(id)))
            continue;
        const Type& type = m_made.value(id).type;
        const ValueId same = m_model.findValue(m_made.value(id).name);
        if (type.kind == TypeKind::Tensor && same.valid() && !m_model.isConstant(same) &&
            m_model.producer(same).valid() && m_model.value(same).type.dtype == type.dtype)
            out.push_back(id);
    }
    return out;
}

void PartsCheck::keep(const std::string& name, const Tensor& value) {
    m_values.insert_or_assign(name, value.clone());
}

/// Small ones stay, since shapes are asked for anywhere, and those that nothing can make again.
void PartsCheck::releaseAfter(const Node& node) {
    constexpr int64_t small = 4096;
    for (ValueId input : node.inputs) {
        if (!input.valid() || --m_uses[input] > 0 || !m_made.producer(input).valid())
            continue;
        const auto found = m_values.find(m_made.value(input).name);
        if (found != m_values.end() && found->second.elementCount() > small)
            m_values.erase(found);
    }
}

/// `magnitudes`: of the absolute values of all operands.
Result<std::vector<ReferenceValue>> PartsCheck::judged(const Cut& cut, std::optional<uint64_t> seed,
                                                       bool magnitudes) {
    std::vector<ReferenceValue> values;
    for (ValueId id : cut.inputs) {
        const Tensor* value = given(m_model, id);
        if (!value)
            return failure("parts.value",
                           "`" + m_model.value(id).name + "` is not known where it is read");
        values.push_back(ReferenceValue::from(*value));
        for (size_t i = 0; magnitudes && i < values.back().floats.size(); ++i)
            values.back().floats[i] = std::abs(values.back().floats[i]);
    }
    Progress silent;
    return interpret(cut.body, std::move(values), m_pool, silent, {}, seed);
}

Result<std::vector<Tensor>> PartsCheck::computed(Cut cut) {
    std::vector<Tensor> values;
    for (ValueId id : cut.inputs) {
        const Tensor* value = given(m_made, id);
        if (!value)
            return failure("parts.value", "not known where it is read", m_made.value(id).name);
        const std::string& name = m_made.value(id).name;
        const ValueId inside = cut.body.findValue(name);
        cut.body.setType(inside, value->type());
        cut.body.setSymbolicContents(inside, nullptr);
        if (!m_made.isConstant(id)) {
            values.push_back(value->clone());
            continue;
        }
        if (auto bound = bindInput(cut.body, name, *value); !bound)
            return failure(bound.error());
    }
    auto compiled = CompiledGraph::compile(std::move(cut.body), m_compile);
    if (!compiled)
        return failure(compiled.error());
    return compiled->run(values);
}

/// Sums of the magnitudes of what is added up, at most; 0 where a part does more than add products.
/// Float32 rounds these: where they cancel, a result is small and its error is not.
double PartsCheck::largestTerms(const Cut& cut, size_t output) {
    for (NodeId id : cut.body.nodes()) {
        const Op op = cut.body.node(id).op;
        if (!hasTrait(op, ContractionOp) && op != Op::Add && op != Op::Relu)
            return 0;
    }
    auto terms = judged(cut, std::nullopt, true);
    double most = 0;
    if (terms)
        for (double sum : (*terms)[output].floats)
            most = std::max(most, std::isfinite(sum) ? sum : 0);
    return most;
}

/// The one that uses most of its limit counts; any that is wrong counts more. `terms`: 0, or what
/// the results are sums of.
void PartsCheck::compare(const std::string& name, const ReferenceValue& expected,
                         const Tensor& actual, const std::vector<const ReferenceValue*>& moved,
                         double terms) {
    const double limit = limitOfPart(expected.dtype);
    OutputAgreement found = compareOutput(name, m_worst.side, expected, actual, limit);
    if (!found.ok)
        allowMoves(expected, actual, moved, found);
    if (!found.ok && found.maxAbsolute <= limit * terms) {
        found.tolerance = limit * terms * found.maxRelative / found.maxAbsolute;
        found.ok = true;
        ++m_cancelling;
    }
    const auto share = [](const OutputAgreement& it) {
        return it.tolerance > 0 ? it.maxRelative / it.tolerance : it.maxRelative;
    };
    if (m_worst.output.empty() || (m_worst.ok && !found.ok) ||
        (m_worst.ok == found.ok && share(found) > share(m_worst)))
        m_worst = std::move(found);
}

Result<void> PartsCheck::runPart(const std::vector<ValueId>& outputs) {
    const CutOptions all{std::numeric_limits<int64_t>::max()};
    const auto isKept = [&](const Graph& graph) {
        return [&](ValueId id) { return given(graph, id) != nullptr; };
    };
    std::vector<ValueId> wanted;
    for (ValueId id : outputs)
        wanted.push_back(m_model.findValue(m_made.value(id).name));
    const Cut model = cutBackTo(m_model, wanted, isKept(m_model), all);
    auto expected = judged(model, std::nullopt);
    ++m_parts;
    if (!expected) { // its readers make what they need of it themselves
        ++m_notRun;
        return {};
    }
    auto actual = computed(cutBackTo(m_made, outputs, isKept(m_made), all));
    std::vector<std::vector<ReferenceValue>> moved;
    for (size_t i = 0; actual && i < outputs.size(); ++i) {
        const std::string& name = m_made.value(outputs[i]).name;
        const bool agrees =
            compareOutput(name, "", (*expected)[i], (*actual)[i], limitOfPart((*expected)[i].dtype))
                .ok;
        for (uint64_t seed = 1; !agrees && moved.size() < roundingSeeds; ++seed) {
            auto one = judged(model, seed);
            if (!one)
                return failure(one.error());
            moved.push_back(std::move(*one));
        }
        std::vector<const ReferenceValue*> moves;
        for (const auto& one : moved)
            moves.push_back(&one[i]);
        compare(name, (*expected)[i], (*actual)[i], moves, agrees ? 0 : largestTerms(model, i));
    }
    m_notRun += actual ? 0 : 1;
    for (size_t i = 0; i < outputs.size(); ++i)
        keep(m_made.value(outputs[i]).name, (*expected)[i].toTensor());
    return {};
}

Result<OutputAgreement> PartsCheck::run(const std::vector<Tensor>& inputs) {
    constexpr std::string_view stage = "check parts";
    for (size_t i = 0; i < inputs.size(); ++i)
        keep(m_model.value(m_model.inputs()[i]).name, inputs[i]);
    for (NodeId id : m_made.nodes())
        for (ValueId input : m_made.node(id).inputs)
            if (input.valid())
                ++m_uses[input];
    const std::vector<NodeId> order = topologicalOrder(m_made);
    for (size_t step = 0; step < order.size(); ++step) {
        if (m_progress.cancelled())
            return cancelledFailure(stage);
        const Node& node = m_made.node(order[step]);
        if (const auto outputs = sharedOutputs(node); !outputs.empty())
            if (auto ran = runPart(outputs); !ran)
                return failure(ran.error());
        releaseAfter(node);
        m_progress.report(stage, step + 1, order.size());
    }
    m_worst.note = fmt::format("{} parts, each on the reference's values", m_parts - m_notRun);
    if (m_notRun > 0)
        m_worst.note += fmt::format("; {} could not be run alone", m_notRun);
    if (m_cancelling > 0)
        m_worst.note +=
            fmt::format("; {} sum what cancels, and are judged by what they sum", m_cancelling);
    m_worst.ok = m_worst.ok && m_notRun == 0 && m_parts > 0;
    return std::move(m_worst);
}

} // namespace

Result<OutputAgreement> checkParts(const Graph& model, const Graph& made,
                                   const CompileOptions& compile, const std::vector<Tensor>& inputs,
                                   const std::string& side, Progress& progress) {
    return PartsCheck(model, made, compile, side, progress).run(inputs);
}

} // namespace fuselage::app
