// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/whole_numbers.h"

#include "core/ops/op_table.h"

#include <algorithm>
#include <unordered_set>

namespace fuselage::app {

namespace {

constexpr int64_t smallEnd = 9;

/// Follows a value to everything that is computed of it before it becomes something else.
class UseOfIntegers {
public:
    explicit UseOfIntegers(const Graph& graph) : m_graph(graph) {}

    IntegerUse of(ValueId id) {
        follow(id);
        return m_use;
    }

private:
    void follow(ValueId id) {
        if (!m_seen.insert(id).second)
            return;
        for (const Use& use : m_graph.value(id).uses)
            note(m_graph.node(use.node), use.slot);
    }

    void narrow(IntegerUse use) { m_use = std::min(m_use, use); }

    void note(const Node& node, uint32_t slot);

    const Graph& m_graph;
    std::unordered_set<ValueId> m_seen;
    IntegerUse m_use = IntegerUse::Computes;
};

void UseOfIntegers::note(const Node& node, uint32_t slot) {
    const Op op = node.op;
    if (op == Op::Shape || op == Op::Size)
        return; // whatever it holds
    const bool isMoved = hasTrait(op, View | DataMovement) && (slot == 0 || op == Op::Concat);
    switch (op) {
    case Op::Div:
    case Op::Mod:
        if (slot == 1)
            narrow(IntegerUse::Divides);
        break;
    case Op::ReduceSum:
    case Op::ReduceMean:
    case Op::ReduceProd:
    case Op::CumSum:
    case Op::CumProd:
        narrow(slot == 0 ? IntegerUse::Sums : IntegerUse::Structure);
        break;
    case Op::ReduceMax:
    case Op::ReduceMin:
    case Op::ArgMax:
    case Op::ArgMin:
        if (slot > 0)
            narrow(IntegerUse::Structure);
        break;
    case Op::MatMul:
        narrow(IntegerUse::Sums);
        break;
    case Op::MatMulInteger:
    case Op::ConvInteger:
        narrow(slot < 2 ? IntegerUse::Sums : IntegerUse::Structure);
        break;
    case Op::DequantizeLinear:
        narrow(slot == 0 ? IntegerUse::Sums : IntegerUse::Structure);
        break;
    case Op::Where:
        if (slot == 0)
            narrow(IntegerUse::Structure);
        break;
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Neg:
    case Op::Abs:
    case Op::Sign:
    case Op::Relu:
    case Op::Max:
    case Op::Min:
    case Op::Clip:
    case Op::Cast:
    case Op::Equal:
    case Op::Greater:
    case Op::GreaterOrEqual:
    case Op::Less:
    case Op::LessOrEqual:
        break;
    default:
        if (!isMoved)
            narrow(IntegerUse::Structure);
    }
    for (ValueId output : node.outputs) {
        if (!output.valid() || m_use == IntegerUse::Structure)
            continue;
        const DType made = m_graph.value(output).type.dtype;
        if (isFloat(made))
            narrow(IntegerUse::Sums);
        else if (isInteger(made) && op != Op::ArgMax && op != Op::ArgMin)
            follow(output);
    }
}

} // namespace

IntegerUse integerUse(const Graph& graph, ValueId id) {
    return UseOfIntegers(graph).of(id);
}

int64_t smallInteger(DType dtype, uint64_t random) {
    const int64_t end = std::min(smallEnd, (int64_t{1} << std::min(bitsOf(dtype) - 1, 8)) - 1);
    const int64_t low = isSigned(dtype) ? -end : 0;
    return low + static_cast<int64_t>(random % static_cast<uint64_t>(end + 1 - low));
}

int64_t extremeInteger(DType dtype, uint64_t random) {
    constexpr int bits[] = {7, 8, 15, 16, 24, 31, 32, 40, 62, 64};
    const int own = bitsOf(dtype) - (isSigned(dtype) ? 1 : 0);
    const int end = std::min(own, bits[random % std::size(bits)]);
    const auto step = static_cast<int64_t>((random >> 8U) % 3);
    const bool isLow = (random >> 16U) % 2 != 0;
    if (end == 63) // of int64
        return isLow ? INT64_MIN + step : INT64_MAX - step;
    if (end == 64) // of uint64, whose bits these are
        return -1 - step;
    const int64_t past = int64_t{1} << end; // the least number is its negative, the most one less
    if (isSigned(dtype) && isLow)
        return -past + step;
    return std::min(past - 2 + step, end == own ? past - 1 : past);
}

int64_t integerFor(IntegerUse use, DType dtype, uint64_t random) {
    const uint64_t rest = random >> 2U;
    if (use == IntegerUse::Divides)
        return 1 + static_cast<int64_t>(rest % smallEnd);
    if (use == IntegerUse::Computes && random % 4 == 0)
        return extremeInteger(dtype, rest);
    return smallInteger(dtype, rest);
}

} // namespace fuselage::app
