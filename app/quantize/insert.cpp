// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/insert.h"

#include "core/graph/bodies.h"
#include "core/ops/op_table.h"
#include "core/ops/quantize.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace fuselage::quantize {

namespace {

Failure atPair(const char* code, const Pair& pair, const std::string& message, std::string fix) {
    const std::string line = pair.line > 0 ? fmt::format("line {}: ", pair.line) : "";
    return failure(code, line + pairText(pair) + ": " + message, "", std::move(fix));
}

TensorPtr tensorOf(DType dtype, Extents extents, const std::vector<double>& numbers) {
    auto out = std::make_shared<Tensor>(dtype, std::move(extents));
    for (size_t i = 0; i < numbers.size(); ++i)
        out->set(static_cast<int64_t>(i), numbers[i]);
    return out;
}

/// The parts of a constant that have a scale of their own: all of it, an index of an axis, or a
/// block along the axis for each index of the others.
class Slices {
public:
    Slices(const Extents& extents, std::optional<size_t> axis, int64_t block) : m_block(block) {
        if (!axis)
            return;
        m_extent = extents[*axis];
        for (size_t d = *axis + 1; d < extents.size(); ++d)
            m_inner *= extents[d];
        if (m_block == 0) {
            m_scaleExtents = {m_extent};
            return;
        }
        m_scaleExtents = extents;
        m_scaleExtents[*axis] = m_extent == 0 ? 0 : (m_extent - 1) / m_block + 1;
        m_blocks = m_scaleExtents[*axis];
    }

    const Extents& scaleExtents() const { return m_scaleExtents; }

    size_t count() const { return static_cast<size_t>(*elementCount(m_scaleExtents)); }

    size_t at(size_t element) const {
        const auto place = static_cast<int64_t>(element);
        if (m_extent == 0)
            return 0;
        const int64_t along = place / m_inner % m_extent;
        if (m_block == 0)
            return static_cast<size_t>(along);
        const int64_t outer = place / m_inner / m_extent;
        return static_cast<size_t>((outer * m_blocks + along / m_block) * m_inner +
                                   place % m_inner);
    }

private:
    int64_t m_block, m_extent = 0, m_inner = 1, m_blocks = 1;
    Extents m_scaleExtents;
};

/// The steps of a constant, one for each of its slices.
struct Steps {
    std::vector<Scale> scales;
    std::optional<size_t> axis;
    int64_t block = 0;
    Extents extents; ///< of the scales
};

class Inserter {
public:
    Inserter(Graph& graph, const PairPlan& plan, BiasForm bias)
        : m_graph(graph), m_plan(plan), m_bias(bias) {}

    Result<InsertCounts> run() {
        // All reads first: a pair changes what a node reads.
        std::vector<Read> reads;
        for (const Pair& pair : m_plan.pairs) {
            auto read = readOf(m_graph, pair);
            if (!read)
                return failure(read.error());
            const Use at = inFrontOfViews(read->use);
            reads.push_back({read->use, at, m_graph.node(at.node).inputs[at.slot]});
        }
        for (size_t i = 0; i < reads.size(); ++i) {
            const Read& read = reads[i];
            auto done = m_graph.isConstant(read.value)
                            ? constant(m_plan.pairs[i], read.asked, read.value)
                            : activation(m_plan.pairs[i], read);
            if (!done)
                return failure(done.error());
        }
        if (m_bias == BiasForm::Integer)
            for (const auto& [node, scale] : m_inputScale)
                integerBias(node, scale);
        m_graph.removeDead();
        return m_counts;
    }

private:
    /// A read that a pair is for, and where the pair stands.
    struct Read {
        Use asked, at;
        ValueId value; ///< that is stored
    };

    /// What only gives numbers another shape moves integers as well: the pair goes in front of it.
    Use inFrontOfViews(Use read) const {
        for (;;) {
            const ValueId value = m_graph.node(read.node).inputs[read.slot];
            const NodeId maker = m_graph.producer(value);
            if (!maker.valid() || !isReshaping(m_graph.node(maker).op) ||
                m_graph.value(value).uses.size() != 1 || m_graph.isGraphOutput(value))
                return read;
            read = {maker, 0};
        }
    }

    static bool isReshaping(Op op) {
        return op == Op::Flatten || op == Op::Reshape || op == Op::Squeeze || op == Op::Unsqueeze;
    }

    static Failure noScale(const Pair& pair, const std::string& value) {
        if (!pair.range)
            return atPair("quantize.range", pair, "`" + value + "` has no range",
                          "write LOW .. HIGH behind the method, or calibrate");
        if (pair.calibrated && *pair.range == Range{})
            return atPair("quantize.range", pair, "`" + value + "` is 0 in all data: no scale fits",
                          "give other data, or leave the node out with --keep-float");
        return atPair("quantize.range", pair,
                      fmt::format("no scale of {} fits the range {} .. {} of `{}`",
                                  nameOf(pair.type), pair.range->low, pair.range->high, value),
                      pair.calibrated ? "leave the node out with --keep-float"
                                      : "a range that holds the numbers of the value, or none, "
                                        "which is calibrated then");
    }

    Result<void> activation(const Pair& pair, const Read& read) {
        const ValueId value = read.value;
        if (pair.axis)
            return atPair("plan.axis", pair, "only constants have a scale for each index",
                          "leave `axis` out");
        if (isOfConstants(pair.type))
            return atPair("plan.type", pair,
                          fmt::format("only constants are stored as {}", nameOf(pair.type)),
                          "a type of 8 or 16 bits");
        const auto scale = pair.range ? scaleOf(pair.type, *pair.range) : std::nullopt;
        if (!scale)
            return noScale(pair, m_graph.value(value).name);
        const auto key = std::tuple(value, pair.type, scale->step, scale->zero);
        auto [made, isNew] = m_activations.try_emplace(key);
        if (isNew) {
            const Value& source = m_graph.value(value);
            const std::string name = source.name;
            const Type wide = source.type;
            const auto [step, zero] = constants(name, pair.type, {{*scale}, {}, 0, {}});
            Type narrow = wide;
            narrow.dtype = dtypeOf(pair.type);
            const ValueId stored = addNode(Op::QuantizeLinear, name + "_quantized",
                                           {value, step, zero}, narrow, pair, {});
            made->second = addNode(Op::DequantizeLinear, name + "_dequantized",
                                   {stored, step, zero}, wide, pair, {});
            ++m_counts.pairs;
        }
        m_graph.setInput(read.at.node, read.at.slot, made->second);
        if (read.asked.slot == 0 && isByte(pair.type))
            m_inputScale[read.asked.node] = scale->step;
        return {};
    }

    Result<void> constant(const Pair& pair, const Use& read, ValueId value) {
        auto steps = stepsOf(pair, *m_graph.value(value).constant);
        if (!steps)
            return failure(steps.error());
        const int64_t axis = steps->axis ? static_cast<int64_t>(*steps->axis) : -1;
        const Range range = pair.range.value_or(Range{});
        const auto key = std::tuple(value, pair.type, std::pair(axis, steps->block), pair.method,
                                    std::pair(range.low, range.high));
        auto [made, isNew] = m_constants.try_emplace(key);
        if (isNew) {
            const Type wide = m_graph.value(value).type;
            const std::string name = m_graph.value(value).name;
            const ValueId stored = m_graph.addConstant(
                name + "_quantized",
                storedTensor(*m_graph.value(value).constant, *steps, pair.type));
            const auto [step, zero] = constants(name, pair.type, *steps);
            made->second = addNode(Op::DequantizeLinear, name + "_dequantized",
                                   {stored, step, zero}, wide, pair, *steps);
            ++m_counts.constants;
        }
        m_graph.setInput(read.node, read.slot, made->second);
        if (read.slot == 1 && isByte(pair.type) && steps->block == 0)
            m_weightSteps[read.node] = *steps;
        return {};
    }

    Result<Steps> stepsOf(const Pair& pair, const Tensor& tensor) const {
        Steps out;
        if (pair.axis) {
            out.axis = normalizedAxis(*pair.axis, tensor.rank());
            if (!out.axis)
                return atPair("plan.axis", pair,
                              fmt::format("axis {} of {}", *pair.axis, tensor.type().text()),
                              "an axis of the constant");
        }
        const auto numbers = tensor.as<float>();
        for (float number : numbers)
            if (!std::isfinite(number))
                return atPair("quantize.number", pair, fmt::format("the constant holds {}", number),
                              "leave the node out with --keep-float");
        out.block = pair.block;
        const Slices slices(tensor.extents(), out.axis, out.block);
        out.extents = slices.scaleExtents();
        std::vector<Range> ranges(slices.count(), pair.range.value_or(Range{}));
        if (!pair.range && pair.method == RangeMethod::MinMax) {
            for (size_t i = 0; i < numbers.size(); ++i) {
                Range& range = ranges[slices.at(i)];
                range.low = std::min(range.low, static_cast<double>(numbers[i]));
                range.high = std::max(range.high, static_cast<double>(numbers[i]));
            }
        } else if (!pair.range) {
            std::vector<std::vector<float>> bySlice(ranges.size());
            for (size_t i = 0; i < numbers.size(); ++i)
                bySlice[slices.at(i)].push_back(numbers[i]);
            for (size_t slice = 0; slice < ranges.size(); ++slice) {
                Histogram seen;
                seen.add(bySlice[slice]);
                ranges[slice] = seen.range({pair.method, 99.99}, pair.type);
            }
        }
        for (const Range& range : ranges) {
            auto scale = scaleOf(pair.type, range);
            if (!scale && !out.axis)
                return atPair("quantize.range", pair, "the constant is 0: no scale fits",
                              "leave the node out with --keep-float");
            out.scales.push_back(scale.value_or(Scale{})); // a channel of zeros: any will do
        }
        if (out.scales.empty())
            return atPair("quantize.range", pair, "the constant has no elements",
                          "leave the node out with --keep-float");
        return out;
    }

    static TensorPtr storedTensor(const Tensor& tensor, const Steps& steps, StoredType type) {
        const Slices slices(tensor.extents(), steps.axis, steps.block);
        const bool isFloat8 = isFloat(dtypeOf(type));
        auto out = std::make_shared<Tensor>(dtypeOf(type), tensor.extents());
        const auto numbers = tensor.as<float>();
        for (size_t i = 0; i < numbers.size(); ++i) {
            const Scale& scale = steps.scales[slices.at(i)];
            if (isFloat8)
                out->set(static_cast<int64_t>(i), static_cast<double>(numbers[i] / scale.step));
            else
                out->setInt(static_cast<int64_t>(i),
                            quantized(static_cast<double>(numbers[i]),
                                      static_cast<double>(scale.step),
                                      static_cast<double>(scale.zero), dtypeOf(type)));
        }
        return out;
    }

    /// Scale and zero point as constants of their own.
    std::pair<ValueId, ValueId> constants(const std::string& name, StoredType type,
                                          const Steps& steps) {
        std::vector<double> step, zero;
        for (const Scale& scale : steps.scales) {
            step.push_back(static_cast<double>(scale.step));
            zero.push_back(static_cast<double>(scale.zero));
        }
        return {m_graph.addConstant(name + "_scale", tensorOf(DType::Float32, steps.extents, step)),
                m_graph.addConstant(name + "_zero_point",
                                    tensorOf(dtypeOf(type), steps.extents, zero))};
    }

    ValueId addNode(Op op, const std::string& output, std::vector<ValueId> inputs, Type type,
                    const Pair& pair, const Steps& steps) {
        NodeSpec spec{op, output + "_" + rowOf(op).name, std::move(inputs), {output}, {}, {}};
        if (steps.axis)
            spec.attributes.set("axis", static_cast<int64_t>(*steps.axis));
        if (steps.block > 0)
            spec.attributes.set("block_size", steps.block);
        if (!pair.rule.empty())
            spec.provenance.metadata["fuselage.point"] =
                fmt::format("{} {} {}:{}", pair.rule, pair.point, pair.file, pair.ruleLine);
        const NodeId node = m_graph.addNode(std::move(spec));
        fillDefaults(m_graph.edit(node));
        const ValueId value = m_graph.node(node).outputs[0];
        m_graph.setType(value, std::move(type));
        return value;
    }

    /// Where both factors are quantised and the sums of int32 hold the bias.
    void integerBias(NodeId id, float inputStep) {
        const Node& node = m_graph.node(id);
        const auto weight = m_weightSteps.find(id);
        const bool takes = node.op == Op::Conv || node.op == Op::ConvTranspose ||
                           (node.op == Op::Gemm && node.attributes.number("alpha", 1) == 1 &&
                            node.attributes.number("beta", 1) == 1);
        if (!takes || weight == m_weightSteps.end() || node.explicitInputs < 3 ||
            !m_graph.isConstant(node.inputs[2]))
            return;
        const ValueId value = node.inputs[2];
        const Tensor& bias = *m_graph.value(value).constant;
        const std::vector<Scale>& scales = weight->second.scales;
        if (bias.dtype() != DType::Float32 || bias.rank() != 1 ||
            (scales.size() != 1 && static_cast<int64_t>(scales.size()) != bias.elementCount()))
            return;
        std::vector<double> steps, stored;
        for (int64_t i = 0; i < bias.elementCount(); ++i) {
            const Scale& scale = scales[scales.size() == 1 ? 0 : static_cast<size_t>(i)];
            steps.push_back(static_cast<double>(inputStep * scale.step)); // in float32
            stored.push_back(std::nearbyint(bias.at(i) / steps.back()));
            if (!(std::abs(stored.back()) < 0x1p31))
                return;
        }
        const std::string name = m_graph.value(value).name;
        const Extents extents = bias.extents();
        const Type wide = m_graph.value(value).type;
        const ValueId integers =
            m_graph.addConstant(name + "_quantized", tensorOf(DType::Int32, extents, stored));
        const ValueId step =
            m_graph.addConstant(name + "_scale", tensorOf(DType::Float32, extents, steps));
        const ValueId made = addNode(Op::DequantizeLinear, name + "_dequantized", {integers, step},
                                     wide, Pair{}, {{}, 0, 0, extents});
        m_graph.setInput(id, 2, made);
        ++m_counts.biases;
    }

    Graph& m_graph;
    const PairPlan& m_plan;
    BiasForm m_bias;
    InsertCounts m_counts;
    std::map<std::tuple<ValueId, StoredType, float, int64_t>, ValueId> m_activations;
    std::map<std::tuple<ValueId, StoredType, std::pair<int64_t, int64_t>, RangeMethod,
                        std::pair<double, double>>,
             ValueId>
        m_constants;
    std::map<NodeId, float> m_inputScale;  ///< of operand 0
    std::map<NodeId, Steps> m_weightSteps; ///< of operand 1
};

} // namespace

const char* nameOf(BiasForm form) {
    return form == BiasForm::Float ? "float" : "int32";
}

std::optional<BiasForm> biasFormFromName(std::string_view name) {
    for (BiasForm form : {BiasForm::Float, BiasForm::Integer})
        if (name == nameOf(form))
            return form;
    return std::nullopt;
}

Result<ReadPlace> readOf(const Graph& graph, const Pair& pair) {
    const NodePlace place = findByPath(graph, pair.node);
    if (!place.graph)
        return atPair("plan.node", pair, "the model has no such node",
                      "write the plan again with --plan-out");
    const Node& node = place.graph->node(place.node);
    if (pair.operand >= node.explicitInputs || !node.inputs[pair.operand].valid())
        return atPair("plan.point", pair, fmt::format("the node has no operand {}", pair.operand),
                      "an operand that the node reads");
    const Type& type = place.graph->value(node.inputs[pair.operand]).type;
    if (type.kind != TypeKind::Tensor || type.dtype != DType::Float32)
        return atPair("plan.point", pair, "the operand is " + type.text() + ", not float",
                      "an operand of type float");
    return ReadPlace{place.graph, {place.node, pair.operand}, place.path};
}

Result<InsertCounts> insertPairs(Graph& graph, const PairPlan& plan, BiasForm bias) {
    std::map<std::string, PairPlan> byBody; // with names as the body has them
    for (const Pair& pair : plan.pairs) {
        auto read = readOf(graph, pair);
        if (!read)
            return failure(read.error());
        Pair& inside = byBody[read->body].pairs.emplace_back(pair);
        inside.node = pair.node.substr(read->body.size());
    }
    Graph changed = graph.clone();
    InsertCounts counts;
    const auto insertInto = [&](Graph& one, const PairPlan& pairs) -> Result<bool> {
        auto added = Inserter(one, pairs, bias).run();
        if (!added)
            return failure(added.error());
        counts.pairs += added->pairs;
        counts.constants += added->constants;
        counts.biases += added->biases;
        return true;
    };
    const auto outermost = byBody.extract("");
    auto inBodies = changeBodies(changed, [&](Graph& body, const std::string& path, NodeId) {
        const auto pairs = byBody.find(path);
        return pairs == byBody.end() ? Result<bool>(false) : insertInto(body, pairs->second);
    });
    if (!inBodies)
        return failure(inBodies.error());
    if (!outermost.empty())
        if (auto done = insertInto(changed, outermost.mapped()); !done)
            return failure(done.error());
    graph = std::move(changed);
    return counts;
}

} // namespace fuselage::quantize
