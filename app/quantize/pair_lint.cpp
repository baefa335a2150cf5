// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/pair_lint.h"

#include "app/quantize/pair_lint_internal.h"
#include "app/quantize/places.h"
#include "app/quantize/tensorrt.h"
#include "core/ops/op_table.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuselage::quantize {

namespace {

constexpr int farthest = 4; ///< nodes from a product to what it is joined with or stored by

bool isProduct(Op op) {
    return op == Op::Conv || op == Op::ConvTranspose || op == Op::MatMul || op == Op::Gemm;
}

/// Operators that move or pick numbers and compute none.
bool moves(Op op) {
    return op == Op::MaxPool || op == Op::Transpose || op == Op::Reshape || op == Op::Flatten ||
           op == Op::Squeeze || op == Op::Unsqueeze || op == Op::Concat || op == Op::Slice;
}

std::string quoted(const Node& node) {
    return "`" + node.name + "`";
}

class Lints {
public:
    Lints(const Graph& model, const Graph& fused) : m_model(model) {
        for (NodeId id : fused.nodes())
            if (const Node& node = fused.node(id); node.op == Op::Fused)
                for (const std::string& name : node.provenance.sources)
                    m_takenBy[name].insert(id);
    }

    std::vector<PairFinding> run() {
        for (NodeId id : topologicalOrder(m_model)) {
            const Node& node = m_model.node(id);
            if (auto finding = misfitFinding(m_model, node)) {
                m_out.push_back(std::move(*finding));
                continue; // its numbers mean nothing
            }
            if (isPairOp(node.op))
                ofScale(node);
            if (node.op == Op::DequantizeLinear)
                ofDequantize(node);
            else if (node.op == Op::QuantizeLinear)
                ofQuantize(node);
            else if (isProduct(node.op) && isStored(node.inputs[0]) && isStored(node.inputs[1]))
                ofProduct(node);
        }
        ofOthersRules();
        return std::move(m_out);
    }

private:
    static bool isPairOp(Op op) { return op == Op::QuantizeLinear || op == Op::DequantizeLinear; }

    void add(PairLint lint, const Node& node, std::string message, std::string fix) {
        m_out.push_back({lint, node.name, std::move(message), std::move(fix)});
    }

    const Node* maker(ValueId value) const {
        const NodeId node = value.valid() ? m_model.producer(value) : NodeId();
        return node.valid() ? &m_model.node(node) : nullptr;
    }

    bool isStored(ValueId value) const {
        const Node* node = maker(value);
        return node && node->op == Op::DequantizeLinear;
    }

    std::vector<const Node*> readersOf(ValueId value) const {
        std::vector<const Node*> out;
        for (const Use& use : m_model.value(value).uses)
            out.push_back(&m_model.node(use.node));
        return out;
    }

    /// One finding for all: a model has them by choice.
    void ofOthersRules() {
        const auto tell = [&](PairLint lint, const std::vector<const Node*>& nodes,
                              const char* what, const char* fix) {
            if (nodes.empty())
                return;
            const std::string all =
                nodes.size() == 1 ? " has" : fmt::format(" and {} more have", nodes.size() - 1);
            add(lint, *nodes.front(),
                fmt::format("{}{} {}, which TensorRT refuses", quoted(*nodes.front()), all, what),
                fix);
        };
        constexpr const char* zero = "a zero point that is not 0";
        tell(PairLint::ActivationScales, m_manyScales, "several scales for an activation",
             "give it one scale for the whole tensor: channels of a weight may have their own");
        tell(PairLint::Asymmetric, m_asymmetric, zero,
             "quantise to int8 around zero, if the file is meant for TensorRT");
        tell(PairLint::WeightZero, m_weightsWithZero, zero,
             "quantise weights to int8 around zero: kernels subtract nothing then");
        tell(PairLint::Block, m_otherBlocks,
             "4-bit scales that are not of blocks of 64 or 128 numbers",
             "quantise it again with `--block 64` or `--block 128`, along what is summed");
        std::string types;
        for (const std::string& type : m_otherTypes)
            types += (types.empty() ? "" : " and ") + type;
        tell(PairLint::Type, m_typedOtherwise, ("numbers stored as " + types).c_str(),
             "store int8 or float8e4m3fn, or int4 where it is a weight, if the file is meant for "
             "TensorRT");
    }

    /// One finding for all nodes of one scale.
    void ofScale(const Node& node) {
        auto finding = scaleFinding(m_model, node);
        if (finding && m_badScales.insert(node.inputs[1]).second)
            m_out.push_back(std::move(*finding));
    }

    bool areTakenTogether(const Node& a, const Node& b) const {
        const auto one = m_takenBy.find(a.name), other = m_takenBy.find(b.name);
        return one != m_takenBy.end() && other != m_takenBy.end() &&
               std::any_of(one->second.begin(), one->second.end(),
                           [&](NodeId node) { return other->second.contains(node); });
    }

    /// All that a node moves comes from stored values or constants.
    bool movesStored(const Node& node) const {
        const size_t moved = node.op == Op::Concat ? node.inputs.size() : 1;
        for (size_t slot = 0; slot < moved; ++slot)
            if (!isStored(node.inputs[slot]) && !m_model.isConstant(node.inputs[slot]))
                return false;
        return true;
    }

    /// Then the floats that it moves never leave a kernel.
    bool isTakenWithItsMaker(const Node& node) const {
        const Node* made = maker(node.inputs[0]);
        return made && areTakenTogether(node, *made);
    }

    /// Biases of int32 are in the steps of sums and no choice of anybody's.
    void ofType(const Node& node) {
        const DType stored = m_model.value(node.inputs[0]).type.dtype;
        if (stored == DType::Undefined || stored == DType::Int32 || tensorRtTakes(stored))
            return;
        m_typedOtherwise.push_back(&node);
        m_otherTypes.insert(nameOf(stored));
    }

    void ofDequantize(const Node& node) {
        ofType(node);
        if (m_model.isConstant(node.inputs[0]))
            return ofWeight(node);
        const Node* store = maker(node.inputs[0]);
        const bool isPair = store && store->op == Op::QuantizeLinear;
        if (!isPair)
            return;
        if (auto finding = unequalFinding(m_model, node, *store))
            m_out.push_back(std::move(*finding));
        if (m_model.isGraphOutput(node.outputs[0]) || ofActivation(node, *store))
            return;
        std::string names;
        for (const Node* reader : readersOf(node.outputs[0])) {
            if (isPairOp(reader->op) || areTakenTogether(node, *reader))
                return; // told of that one, or of use
            names += (names.empty() ? "" : ", ") + std::string(nameOf(reader->op)) + " " +
                     quoted(*reader);
        }
        add(PairLint::Unused, node,
            fmt::format("{} computes in float: the pair in front of it opens no integer kernel",
                        names),
            fmt::format("take {} and {} out, or quantise what stands behind as well",
                        quoted(*store), quoted(node)));
    }

    /// An activation behind the pair that the product in front of it would compute on the way out.
    bool ofActivation(const Node& node, const Node& store) {
        const Node* before = maker(store.inputs[0]);
        if (before && before->op == Op::BatchNormalization)
            before = maker(before->inputs[0]);
        const std::vector<const Node*> readers = readersOf(node.outputs[0]);
        if (!before || !isProduct(before->op) || readers.size() != 1 ||
            readersOf(store.inputs[0]).size() != 1 || !isActivation(*readers[0]))
            return false;
        add(PairLint::BeforeActivation, store,
            fmt::format("the pair stands between {} {} and {} {}, so that no kernel computes both",
                        nameOf(before->op), quoted(*before), nameOf(readers[0]->op),
                        quoted(*readers[0])),
            fmt::format("put the pair behind {}, with the range of its result",
                        quoted(*readers[0])));
        return true;
    }

    /// Elementwise, of one value that is computed.
    bool isActivation(const Node& node) const {
        return hasTrait(node.op, Elementwise) && node.op != Op::Cast &&
               std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
                   return input.valid() && !m_model.isConstant(input);
               }) == 1;
    }

    void ofWeight(const Node& node) {
        const auto& uses = m_model.value(node.outputs[0]).uses;
        if (m_model.value(node.inputs[0]).type.dtype == DType::Int4 &&
            !tensorRtTakesBlock(node.attributes.integer("block_size")))
            m_otherBlocks.push_back(&node);
        if (hasZeroPoint(m_model, node) && std::any_of(uses.begin(), uses.end(), [&](Use use) {
                return use.slot == 1 && isProduct(m_model.node(use.node).op);
            }))
            m_weightsWithZero.push_back(&node);
        const ValueId scale = node.inputs[1];
        const auto scales = m_model.value(scale).type.elementCount();
        if (scales && *scales > 1)
            return ofWeightAxis(node);
        if (!m_model.isConstant(scale) || m_model.value(scale).constant->elementCount() != 1)
            return;
        for (const Use& use : uses) {
            const Node& reader = m_model.node(use.node);
            const std::optional<int64_t> axis = channelAxis(m_model, use);
            if (!isProduct(reader.op) || use.slot != 1 || !axis)
                continue;
            add(PairLint::PerTensor, node,
                fmt::format("the weight of {} has one scale for all output channels",
                            quoted(reader)),
                fmt::format("give it one for each channel, axis {}", *axis));
            return;
        }
    }

    /// One scale for each index of an axis that the product sums over cannot be applied behind it.
    void ofWeightAxis(const Node& node) {
        const Type& type = m_model.value(node.outputs[0]).type;
        if (!type.hasRank() || node.attributes.integer("block_size") != 0)
            return;
        const auto axis = normalizedAxis(node.attributes.integer("axis", 1), type.rank());
        for (const Use& use : m_model.value(node.outputs[0]).uses) {
            const Node& reader = m_model.node(use.node);
            const std::optional<int64_t> channels = channelAxis(m_model, use);
            if (!isProduct(reader.op) || !channels || !axis ||
                static_cast<int64_t>(*axis) == *channels)
                continue;
            add(PairLint::WrongAxis, node,
                fmt::format("the weight of {} has its scales along axis {}, its output channels "
                            "are axis {}: no integer kernel can scale the sums afterwards",
                            quoted(reader), *axis, *channels),
                fmt::format("quantise it again with axis = {}", *channels));
            return;
        }
    }

    void ofQuantize(const Node& node) {
        const auto scales = m_model.value(node.inputs[1]).type.elementCount();
        if (scales && *scales > 1 && !m_model.isConstant(node.inputs[0]))
            m_manyScales.push_back(&node);
        const Node* before = maker(node.inputs[0]);
        if (before && before->op == Op::DequantizeLinear) {
            add(PairLint::Twice, node,
                fmt::format("what {} stores was taken apart by {} right before", quoted(node),
                            quoted(*before)),
                "take the two out, and use one scale on both sides");
            return;
        }
        if (hasZeroPoint(m_model, node))
            m_asymmetric.push_back(&node);
        if (before && moves(before->op) && !isTakenWithItsMaker(*before) &&
            m_model.value(before->outputs[0]).uses.size() == 1 &&
            !m_model.isGraphOutput(before->outputs[0]) && !movesStored(*before))
            add(PairLint::Movable, node,
                fmt::format("{} {} moves floats that are stored as integers only behind it",
                            nameOf(before->op), quoted(*before)),
                before->op == Op::Concat
                    ? "store each of its parts, with the same scale; `fuselage fuse` does so for "
                      "two to four parts that are computed for it alone"
                    : "store in front of it, with the same scale; `fuselage fuse` does so where "
                      "what it moves is computed for it alone");
    }

    /// Along single readers through elementwise work, to where the result is stored or stays float.
    void ofProduct(const Node& product) {
        const Node* at = &product;
        for (int step = 0; step < farthest; ++step) {
            const ValueId result = at->outputs[0];
            const std::vector<const Node*> readers = readersOf(result);
            if (m_model.isGraphOutput(result) || readers.empty())
                return;
            if (std::any_of(readers.begin(), readers.end(),
                            [](const Node* it) { return it->op == Op::QuantizeLinear; }))
                return;
            auto next = std::find_if(readers.begin(), readers.end(),
                                     [](const Node* it) { return isProduct(it->op); });
            if (next != readers.end())
                return add(PairLint::FloatResult, product,
                           fmt::format("{} of stored values hands a float result to {} {}",
                                       nameOf(product.op), nameOf((*next)->op), quoted(**next)),
                           fmt::format("put a pair behind {}", quoted(*at)));
            if (readers.size() != 1 || !hasTrait(readers[0]->op, Elementwise))
                return;
            ofSum(product, *at, *readers[0]);
            at = readers[0];
        }
    }

    void ofSum(const Node& product, const Node& from, const Node& sum) {
        if (sum.op != Op::Add || sum.inputs.size() != 2)
            return;
        const ValueId other = sum.inputs[0] == from.outputs[0] ? sum.inputs[1] : sum.inputs[0];
        const bool storedLater = std::any_of(
            m_model.value(sum.outputs[0]).uses.begin(), m_model.value(sum.outputs[0]).uses.end(),
            [&](const Use& use) {
                const Node& reader = m_model.node(use.node);
                return reader.op == Op::QuantizeLinear || hasTrait(reader.op, Elementwise);
            });
        if (m_model.isConstant(other) || isStored(other) || !storedLater)
            return;
        const Node* made = maker(other);
        add(PairLint::FloatResidual, sum,
            fmt::format("the other side of {} behind {} is float", quoted(sum), quoted(product)),
            fmt::format("put a pair in front of {} on the side of {}", quoted(sum),
                        made ? quoted(*made) : "`" + m_model.value(other).name + "`"));
    }

    const Graph& m_model;
    std::map<std::string, std::set<NodeId>> m_takenBy; ///< fused nodes, by a node they stand for
    std::vector<const Node*> m_asymmetric, m_weightsWithZero, m_manyScales, m_otherBlocks,
        m_typedOtherwise;
    std::set<std::string> m_otherTypes; ///< of the last
    std::set<ValueId> m_badScales;      ///< told of
    std::vector<PairFinding> m_out;
};

} // namespace

const char* nameOf(PairLint lint) {
    constexpr const char* names[] = {"pair-unused",
                                     "pair-float-result",
                                     "pair-float-residual",
                                     "pair-asymmetric",
                                     "pair-twice",
                                     "pair-movable",
                                     "pair-per-tensor",
                                     "pair-scale",
                                     "pair-unequal",
                                     "pair-weight-zero",
                                     "pair-misfit",
                                     "pair-wrong-axis",
                                     "pair-activation-scales",
                                     "pair-before-activation",
                                     "pair-block",
                                     "pair-type"};
    return names[static_cast<size_t>(lint)];
}

bool isAdvice(PairLint lint) {
    return lint == PairLint::Movable;
}

std::vector<PairFinding> lintPairs(const Graph& model, const Graph& fused) {
    return Lints(model, fused).run();
}

} // namespace fuselage::quantize
