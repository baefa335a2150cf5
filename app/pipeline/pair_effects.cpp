// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/pair_effects.h"

#include "app/pipeline/take_pairs_out.h"
#include "core/kernel/product_element.h"
#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

namespace fuselage::app {

namespace {

/// Which of some things have a node of the model, by its name.
using ByNode = std::unordered_map<std::string, std::set<size_t>>;

std::set<size_t> havingBoth(const ByNode& all, const std::string& a, const std::string& b) {
    const auto one = all.find(a), other = all.find(b);
    std::set<size_t> out;
    if (one != all.end() && other != all.end())
        std::set_intersection(one->second.begin(), one->second.end(), other->second.begin(),
                              other->second.end(), std::inserter(out, out.end()));
    return out;
}

/// Fused nodes of a graph.
struct FusedNodes {
    explicit FusedNodes(const Graph& graph) {
        for (NodeId id : graph.nodes()) {
            const Node& node = graph.node(id);
            if (node.op != Op::Fused)
                continue;
            for (const std::string& name : node.provenance.sources)
                byNode[name].insert(rules.size());
            rules.push_back(node.provenance.rule);
        }
    }

    /// The rule of one that has both; empty: none.
    std::string ruleOf(const std::string& a, const std::string& b) const {
        const std::set<size_t> found = havingBoth(byNode, a, b);
        return found.empty() ? std::string() : rules[*found.begin()];
    }

    ByNode byNode;
    std::vector<std::string> rules;
};

std::string rangeText(const Tensor& scale, const Tensor* zero, DType stored) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    const int bits = bitsOf(stored);
    const double most = std::ldexp(1.0, isSigned(stored) ? bits - 1 : bits) - 1;
    const double least = isSigned(stored) ? -std::ldexp(1.0, bits - 1) : 0;
    for (int64_t i = 0; i < scale.elementCount(); ++i) {
        const double at = zero ? zero->at(zero->elementCount() == 1 ? 0 : i) : 0;
        low = std::min(low, (least - at) * scale.at(i));
        high = std::max(high, (most - at) * scale.at(i));
    }
    return fmt::format("{:.4g} .. {:.4g}", low, high);
}

class Effects {
public:
    Effects(const Graph& model, const Graph& fused, const Graph& without, const Plan& after)
        : m_model(model), m_plan(after), m_fused(fused), m_without(without) {
        for (size_t step = 0; step < after.steps.size(); ++step)
            for (const std::string& name : after.steps[step].sources)
                m_steps[name].insert(step);
    }

    std::vector<PairReport> run() {
        std::vector<PairReport> out;
        for (NodeId id : topologicalOrder(m_model))
            if (m_model.node(id).op == Op::DequantizeLinear)
                out.push_back(ofPair(m_model.node(id)));
        return out;
    }

private:
    const Node* maker(ValueId value) const {
        const NodeId node = value.valid() ? m_model.producer(value) : NodeId();
        return node.valid() ? &m_model.node(node) : nullptr;
    }

    PairReport ofPair(const Node& load) {
        PairReport out;
        out.load = load.name;
        const Value& stored = m_model.value(load.inputs[0]);
        out.value = stored.name;
        out.type = nameOf(stored.type.dtype);
        const Node* store = maker(load.inputs[0]);
        if (store && store->op == Op::QuantizeLinear) {
            out.store = store->name;
            out.value = m_model.value(store->inputs[0]).name;
        }
        addNumbers(load, stored.type.dtype, out);
        for (const Use& use : m_model.value(load.outputs[0]).uses)
            out.readers.push_back(ofReader(load, use.node));
        addReformats(out);
        if (const Node* before = out.store.empty() ? nullptr : maker(store->inputs[0]))
            addBlocked(*before, out);
        return out;
    }

    void addNumbers(const Node& load, DType stored, PairReport& out) const {
        const Tensor* scale = m_model.value(load.inputs[1]).constant.get();
        const bool hasZero = load.inputs.size() > 2 && load.inputs[2].valid();
        const Tensor* zero = hasZero ? m_model.value(load.inputs[2]).constant.get() : nullptr;
        if (!scale || (hasZero && !zero) || scale->elementCount() == 0) {
            out.scale = "computed";
            return;
        }
        const int64_t count = scale->elementCount();
        out.scale =
            count == 1 ? fmt::format("{:.4g}", scale->at(0))
                       : fmt::format("{} along axis {}", count, load.attributes.integer("axis", 1));
        if (isInteger(stored) &&
            (!zero || zero->elementCount() == 1 || zero->elementCount() == count))
            out.range = rangeText(*scale, zero, stored);
    }

    PairReader ofReader(const Node& load, NodeId id) const {
        const Node& reader = m_model.node(id);
        PairReader out{reader.name, m_fused.ruleOf(load.name, reader.name), ""};
        for (size_t step : havingBoth(m_steps, load.name, reader.name)) {
            const KernelProgram& program = m_plan.steps[step].program;
            const DType factor = productElement(program);
            out.kernel = nameOf(kindOf(program));
            if (factor != DType::Undefined)
                out.kernel += std::string(" of ") + nameOf(factor);
        }
        if (out.kernel.empty())
            out.lacks = lackOf(load, id);
        return out;
    }

    /// "Attention kernel", of the step that computes the node.
    std::string kernelOf(const std::string& node) const {
        const auto steps = m_steps.find(node);
        if (steps == m_steps.end() || steps->second.empty())
            return "kernel here";
        const Step& step = m_plan.steps[*steps->second.rbegin()];
        return std::string(nameOf(kindOf(step.program))) + " kernel";
    }

    std::string lackOf(const Node& load, NodeId reader) const {
        if (const auto found = floatOnlyReader(m_model, reader)) {
            const std::string& name = m_model.node(found->node).name;
            return fmt::format("no {} computes {}{} in integers", kernelOf(name), found->what,
                               name == m_model.node(reader).name ? "" : ", `" + name + "`,");
        }
        const Node& node = m_model.node(reader);
        const bool isProduct = node.op == Op::MatMul || node.op == Op::Gemm || node.op == Op::Conv;
        for (size_t side = 0; isProduct && side < 2; ++side)
            if (node.inputs[side] != load.outputs[0] && !isStored(node.inputs[side]))
                return "its other operand is float";
        return {};
    }

    bool isStored(ValueId value) const {
        const Node* node = maker(value);
        return node && node->op == Op::DequantizeLinear;
    }

    /// Steps whose nodes all are the pair's.
    void addReformats(PairReport& out) const {
        for (const std::string& name : {out.store, out.load}) {
            const auto steps = m_steps.find(name);
            if (name.empty() || steps == m_steps.end())
                continue;
            for (size_t at : steps->second) {
                const Step& step = m_plan.steps[at];
                const bool converts =
                    std::all_of(step.sources.begin(), step.sources.end(), [&](const auto& source) {
                        return source == out.store || source == out.load;
                    });
                // One that does both is met twice.
                if (converts && (name == out.store ||
                                 !std::count(step.sources.begin(), step.sources.end(), out.store)))
                    out.reformatBytes += step.traffic.logical();
            }
        }
    }

    /// A rule that has nodes on both sides where no pair is, and has not where the pair is.
    void addBlocked(const Node& before, PairReport& out) const {
        for (const PairReader& reader : out.readers) {
            const std::string rule = m_without.ruleOf(before.name, reader.node);
            if (rule.empty() || !m_fused.ruleOf(before.name, reader.node).empty())
                continue;
            out.blockedRule = rule;
            out.blockedNodes = {before.name, reader.node};
            return;
        }
    }

    const Graph& m_model;
    const Plan& m_plan;
    FusedNodes m_fused, m_without;
    ByNode m_steps;
};

bool hasPairs(const Graph& graph) {
    const auto nodes = graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId id) { return graph.node(id).op == Op::DequantizeLinear; });
}

} // namespace

std::optional<FloatOnly> floatOnlyReader(const Graph& graph, NodeId reader) {
    auto moves = [](const Node& node) {
        return hasTrait(node.op, View) || node.op == Op::Transpose;
    };
    auto isStoredConstant = [&](ValueId value) {
        NodeId maker = graph.producer(value);
        while (maker.valid() && moves(graph.node(maker))) {
            value = graph.node(maker).inputs[0];
            maker = graph.producer(value);
        }
        return graph.isConstant(value) ||
               (maker.valid() && graph.node(maker).op == Op::DequantizeLinear &&
                graph.isConstant(graph.node(maker).inputs[0]));
    };
    for (NodeId id = reader;;) {
        const Node& node = graph.node(id);
        if (node.op == Op::ConvTranspose)
            return FloatOnly{id, "ConvTranspose"};
        if (node.op == Op::MatMul)
            return isStoredConstant(node.inputs[0]) || isStoredConstant(node.inputs[1])
                       ? std::nullopt
                       : std::optional(FloatOnly{id, "a product of two computed values"});
        const bool scales = (node.op == Op::Mul || node.op == Op::Div) &&
                            (graph.isConstant(node.inputs[0]) || graph.isConstant(node.inputs[1]));
        const auto& uses = graph.value(node.outputs[0]).uses;
        if ((!moves(node) && !scales) || uses.size() != 1)
            return std::nullopt;
        id = uses[0].node;
    }
}

Result<std::vector<PairReport>> pairEffects(const LoadedModel& model, const RuleLibrary& library,
                                            const FuseOptions& options, const Graph& fused,
                                            const Plan& after, Progress& progress) {
    if (!hasPairs(model.graph))
        return std::vector<PairReport>();
    Graph plain = model.graph.clone();
    if (auto taken = takePairsOut(plain); !taken)
        return failure(taken.error());
    FuseOptions fusing = options;
    fusing.dims.insert(model.dims.begin(), model.dims.end());
    fusing.explain = false;
    fusing.plan = {};
    fusing.disabled = {};
    auto without = fuseGraph(plain, library, fusing, progress);
    if (!without)
        return failure(without.error());
    return Effects(model.graph, fused, without->graph, after).run();
}

} // namespace fuselage::app
