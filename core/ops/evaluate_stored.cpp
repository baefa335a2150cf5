// SPDX-License-Identifier: Apache-2.0
#include "core/ops/evaluate_stored.h"

#include "core/graph/elements.h"
#include "core/ops/evaluate.h"

#include <algorithm>

namespace fuselage {

namespace {

class LeafContext final : public ReferenceContext {
public:
    explicit LeafContext(ThreadPool& threads) : m_threads(threads) {}

    ThreadPool& threads() override { return m_threads; }

    Result<std::vector<ReferenceValue>> runSubgraph(const std::string& attribute,
                                                    std::vector<ReferenceValue>) override {
        return failure("reference.subgraph", "`" + attribute + "` runs in the interpreter only");
    }

    uint64_t seed() override { return 0; }

private:
    ThreadPool& m_threads;
};

/// The operands as reference functions take them. Those that may be large are widened when asked.
class Widened {
public:
    explicit Widened(const std::vector<StoredOperand>& operands)
        : m_operands(operands), m_values(operands.size()), m_inputs(operands.size(), nullptr) {
        for (size_t i = 0; i < operands.size(); ++i) {
            if (operands[i].dtype == DType::Undefined)
                continue;
            m_values[i].dtype = operands[i].dtype;
            m_values[i].extents = operands[i].extents;
            m_inputs[i] = &m_values[i];
        }
    }

    ReferenceInputs withElements(size_t from) {
        for (size_t i = from; i < m_operands.size(); ++i)
            if (m_operands[i].tensor)
                m_values[i] = ReferenceValue::from(*m_operands[i].tensor);
        return m_inputs;
    }

private:
    const std::vector<StoredOperand>& m_operands;
    std::vector<ReferenceValue> m_values;
    std::vector<const ReferenceValue*> m_inputs;
};

/// None where it is no operator that moves elements of its first operand, or does not fit it.
std::optional<std::vector<TensorPtr>>
moveStored(const Node& node, const std::vector<StoredOperand>& operands, MovedTensors& moved) {
    if (!movesElements(node.op) || operands.empty() || !operands[0].tensor ||
        sizeOf(operands[0].dtype) == 0)
        return std::nullopt;
    Widened widened(operands);
    const auto windows = windowsOf(node, operands[0].extents, widened.withElements(1));
    if (!windows)
        return std::nullopt;
    std::vector<TensorPtr> out;
    for (const ElementWindow& window : *windows)
        out.push_back(moved.take(operands[0].tensor, window));
    return out;
}

/// None where an operand has no elements, or is of strings.
std::optional<std::vector<const Tensor*>> presentOf(const std::vector<StoredOperand>& operands) {
    std::vector<const Tensor*> out;
    for (const StoredOperand& operand : operands) {
        if (operand.dtype == DType::Undefined)
            continue;
        if (!operand.tensor || operand.dtype == DType::String)
            return std::nullopt;
        out.push_back(operand.tensor.get());
    }
    return out;
}

/// None where the operands are not what the tape takes.
std::optional<Tensor> computeTape(const Node& node, const std::vector<const Tensor*>& operands,
                                  ThreadPool& threads) {
    std::vector<DType> types;
    for (const Tensor* operand : operands)
        types.push_back(operand->dtype());
    const auto tape = tapeOf(node, types);
    if (!tape)
        return std::nullopt;
    auto results = evaluateTape(*tape, operands, threads);
    return results ? std::optional(std::move(results->front())) : std::nullopt;
}

/// `count` elements from `first` on, or the only one.
ReferenceValue pieceOf(const Tensor& tensor, int64_t first, int64_t count) {
    const bool isOne = tensor.elementCount() == 1;
    ReferenceValue out = ReferenceValue::tensor(tensor.dtype(), {isOne ? 1 : count});
    if (isFloat(tensor.dtype()))
        readFloats(tensor, isOne ? 0 : first, out.floats);
    else
        readInts(tensor, isOne ? 0 : first, out.ints);
    return out;
}

/// By the reference function of an elementwise operator; none where operands of more than one
/// element differ in extents, and where the function refuses them.
std::optional<Tensor> computeByPieces(const Node& node, const std::vector<const Tensor*>& operands,
                                      ReferenceContext& context) {
    constexpr int64_t length = 1 << 16; // of what stays in a cache
    const Tensor& widest =
        **std::max_element(operands.begin(), operands.end(), [](const Tensor* a, const Tensor* b) {
            return a->elementCount() < b->elementCount();
        });
    const Extents& extents = widest.extents();
    const int64_t all = widest.elementCount();
    const bool fits = std::all_of(operands.begin(), operands.end(), [&](const Tensor* each) {
        return each->extents() == extents ||
               (each->elementCount() == 1 && each->rank() <= extents.size());
    });
    if (!fits || all <= length)
        return std::nullopt;
    std::optional<Tensor> out;
    for (int64_t first = 0; first < all; first += length) {
        const int64_t count = std::min(length, all - first);
        std::vector<ReferenceValue> values;
        for (const Tensor* operand : operands)
            values.push_back(pieceOf(*operand, first, count));
        std::vector<const ReferenceValue*> inputs;
        for (const ReferenceValue& value : values)
            inputs.push_back(&value);
        const auto results = evaluateNode(node, inputs, context);
        if (!results || results->size() != 1 || results->front().dtype == DType::String ||
            results->front().count() != count)
            return std::nullopt;
        const ReferenceValue& result = results->front();
        if (!out)
            out.emplace(result.dtype, extents);
        if (isFloat(result.dtype))
            writeFloats(*out, first, result.floats);
        else
            writeInts(*out, first, result.ints);
    }
    return out;
}

/// None where it is not elementwise, or its operands are not what it takes.
std::optional<std::vector<TensorPtr>>
computeInPieces(const Node& node, const std::vector<StoredOperand>& operands, ThreadPool& threads) {
    const auto present = hasTrait(node.op, Elementwise) ? presentOf(operands) : std::nullopt;
    if (!present || present->empty())
        return std::nullopt;
    LeafContext context(threads);
    // Of an omitted operand a reference function knows the place.
    const bool isComplete = present->size() == operands.size();
    auto result = !rowOf(node.op).reference ? computeTape(node, *present, threads)
                  : isComplete              ? computeByPieces(node, *present, context)
                                            : std::nullopt;
    if (!result)
        return std::nullopt;
    return std::vector<TensorPtr>{std::make_shared<const Tensor>(std::move(*result))};
}

} // namespace

TensorPtr MovedTensors::take(const TensorPtr& from, const ElementWindow& window) {
    auto [at, isNew] = m_moved.try_emplace({from->bytes(), from->dtype(), window});
    if (isNew)
        at->second = {from, std::make_shared<const Tensor>(copyWindow(*from, window))};
    return at->second.to;
}

Result<std::vector<TensorPtr>> evaluateStored(const Node& node,
                                              const std::vector<StoredOperand>& operands,
                                              ThreadPool& threads, MovedTensors& moved) {
    const bool isComputed =
        std::none_of(operands.begin(), operands.end(), [](const StoredOperand& operand) {
            return isComplex(operand.dtype); // of which evaluateNode says so
        });
    std::optional<std::vector<TensorPtr>> made;
    if (isComputed)
        made = moveStored(node, operands, moved);
    if (isComputed && !made)
        made = computeInPieces(node, operands, threads);
    if (made)
        return std::move(*made);
    Widened widened(operands);
    LeafContext context(threads);
    auto results = evaluateNode(node, widened.withElements(0), context);
    if (!results)
        return failure(results.error());
    std::vector<TensorPtr> out;
    for (const ReferenceValue& result : *results)
        out.push_back(result.kind == TypeKind::Tensor
                          ? std::make_shared<const Tensor>(result.toTensor())
                          : nullptr);
    return out;
}

Result<std::vector<TensorPtr>>
evaluateStored(const Node& node, const std::vector<StoredOperand>& operands, ThreadPool& threads) {
    MovedTensors moved;
    return evaluateStored(node, operands, threads, moved);
}

} // namespace fuselage
