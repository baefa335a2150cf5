// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/library.h"

#include "core/cpu/layout.h"
#include "core/cpu/tile_copy.h"
#include "core/kernel/loops.h"
#include "core/ops/op_table.h"

#include <algorithm>
#include <cstring>

namespace fuselage::cpu {

namespace {

/// In which order a routine wants its operands in memory.
enum class Order : uint8_t {
    RowMajor,
    LikeResult, ///< the result in any order with a contiguous dim, input 0 in the same
    LikeInput,  ///< input 0 in any dense order, the first result in the same
};

struct LibraryRow {
    Op op;
    PrepareLibrary prepare;
    Order order = Order::RowMajor;
};

constexpr LibraryRow rows[] = {
    {Op::CumProd, prepareCumulative},
    {Op::CumSum, prepareCumulative},
    {Op::DeformConv, prepareDeform},
    {Op::DequantizeLinear, prepareDequantizeStored},
    {Op::DFT, prepareFourier},
    {Op::DynamicQuantizeLinear, prepareDynamicQuantize, Order::LikeInput},
    {Op::DynamicQuantizeLSTM, prepareQuantizedLstm},
    {Op::Gather, prepareGather},
    {Op::GatherElements, prepareGatherElements},
    {Op::GatherND, prepareGatherND},
    {Op::GridSample, prepareGridSample},
    {Op::GatherMatMul, prepareGatherMatMul},
    {Op::LinearRecurrence, prepareRecurrence},
    {Op::GRU, prepareRecurrent},
    {Op::LSTM, prepareRecurrent},
    {Op::MatMulNBits, prepareBlockedWeights},
    {Op::QuantizeLinear, prepareQuantizeFloat8},
    {Op::ReverseSequence, prepareReverse},
    {Op::RNN, prepareRecurrent},
    {Op::Resize, prepareResize, Order::LikeResult},
    {Op::RoiAlign, prepareRoiAlign},
    {Op::ScatterElements, prepareScatter},
    {Op::ScatterND, prepareScatterND},
    {Op::STFT, prepareFrames},
    {Op::TopK, prepareTopK},
    {Op::Upsample, prepareResize, Order::LikeResult},
};

const LibraryRow* rowFor(Op op) {
    const auto* row =
        std::find_if(std::begin(rows), std::end(rows),
                     [op](const LibraryRow& candidate) { return candidate.op == op; });
    return row == std::end(rows) ? nullptr : row;
}

int32_t positionOf(const std::vector<ValueId>& values, ValueId id) {
    auto found = std::find(values.begin(), values.end(), id);
    return found == values.end() ? -1 : static_cast<int32_t>(found - values.begin());
}

/// The layout of a value of the body that is no operand: row-major.
OperandLayout ownLayout(const Value& value) {
    Extents extents = value.type.extents().value_or(Extents{});
    return {value.type.dtype, extents, rowMajorStrides(extents), value.constant};
}

const LibraryOperand omitted;

} // namespace

int64_t LibraryOperand::integerAt(const Operands& operands, size_t i) const {
    const std::byte* data = read(operands);
    if (layout.dtype == DType::Int32) {
        int32_t value = 0;
        std::memcpy(&value, data + i * sizeof value, sizeof value);
        return value;
    }
    int64_t value = 0;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    return value;
}

LibraryCall::LibraryCall(const Node& node, const KernelProgram& whole,
                         const PrepareContext& context)
    : m_node(node), m_context(context) {
    auto operandsOf = [&](const std::vector<ValueId>& ids, const std::vector<ValueId>& operands,
                          const std::vector<OperandLayout>& layouts) {
        std::vector<LibraryOperand> out;
        for (ValueId id : ids) {
            out.emplace_back();
            if (!id.valid())
                continue;
            int32_t slot = positionOf(operands, id);
            out.back() = {true,
                          slot < 0 ? ownLayout(whole.body->value(id))
                                   : layouts[static_cast<size_t>(slot)],
                          slot};
        }
        return out;
    };
    m_inputs = operandsOf(node.inputs, whole.body->inputs(), context.inputs);
    m_outputs = operandsOf(node.outputs, whole.body->outputs(), context.outputs);
}

const LibraryOperand& LibraryCall::input(size_t i) const {
    return i < m_inputs.size() ? m_inputs[i] : omitted;
}

const LibraryOperand& LibraryCall::output(size_t i) const {
    return i < m_outputs.size() ? m_outputs[i] : omitted;
}

std::optional<size_t> LibraryCall::axis(int64_t fallback) const {
    auto rank = static_cast<int64_t>(input(0).layout.extents.size());
    int64_t axis = m_node.attributes.integer("axis", fallback);
    axis += axis < 0 ? rank : 0;
    return axis < 0 || axis >= rank ? std::nullopt : std::optional(static_cast<size_t>(axis));
}

ShapeOperands::ShapeOperands(const LibraryCall& call, std::initializer_list<size_t> contents)
    : m_values(call.node().inputs.size()) {
    for (size_t i = 0; i < m_values.size(); ++i) {
        const LibraryOperand& operand = call.input(i);
        inputs.push_back(operand ? &m_values[i] : nullptr);
        if (!operand)
            continue;
        const bool isRead = std::find(contents.begin(), contents.end(), i) != contents.end();
        if (isRead && operand.layout.constant) {
            m_values[i] = ReferenceValue::from(*operand.layout.constant);
            continue;
        }
        isKnown = isKnown && !isRead;
        m_values[i].dtype = operand.layout.dtype;
        m_values[i].extents = operand.layout.extents;
    }
}

// --- memory orders ------------------------------------------------------------------------

namespace {

OperandLayout withStrides(const OperandLayout& layout, Extents strides) {
    return {layout.dtype, layout.extents, std::move(strides), layout.constant};
}

/// The dimension whose neighbours are one element apart; none when there is no such one.
std::optional<size_t> innermostDim(const OperandLayout& layout) {
    for (size_t d = layout.extents.size(); d-- > 0;)
        if (layout.strides[d] == 1 && layout.extents[d] > 1)
            return d;
    return elementCount(layout.extents) == 1 && !layout.extents.empty() ? std::optional(size_t{0})
                                                                        : std::nullopt;
}

bool sameMemory(const OperandLayout& a, const OperandLayout& b) {
    for (size_t d = 0; d < a.extents.size(); ++d)
        if (a.extents[d] != 1 && a.strides[d] != b.strides[d])
            return false;
    return true;
}

bool isDense(const OperandLayout& layout) {
    return layout.span() == elementCount(layout.extents);
}

/// The layouts that the routine gets instead of those of the plan.
void setOrder(Order order, PrepareContext& context) {
    if (order == Order::LikeInput && isDense(context.inputs[0])) {
        context.outputs[0] = withStrides(context.outputs[0], context.inputs[0].strides);
        return;
    }
    const OperandLayout& result = context.outputs[0];
    const std::optional<size_t> inner = innermostDim(result);
    const bool like = order == Order::LikeResult && inner && !context.inputs.empty() &&
                      context.inputs[0].extents.size() == result.extents.size();
    if (like && !rowDim(context.inputs[0], result)) {
        Extents key = result.strides;
        key[*inner] = 0;
        context.inputs[0] =
            withStrides(context.inputs[0], denseLike(context.inputs[0].extents, key));
    }
    for (size_t i = like ? 1 : 0; i < context.inputs.size(); ++i)
        context.inputs[i] =
            withStrides(context.inputs[i], rowMajorStrides(context.inputs[i].extents));
    for (size_t i = like ? 1 : 0; i < context.outputs.size(); ++i)
        context.outputs[i] =
            withStrides(context.outputs[i], rowMajorStrides(context.outputs[i].extents));
}

std::unique_ptr<Kernel> copyKernel(const OperandLayout& from, const OperandLayout& to,
                                   const PrepareContext& context) {
    const Access identity = identityAccess(0, from.extents.size());
    Copy copy{{{from.extents, identity, identity, 0}}};
    return prepareCopy(copy, {{from}, {to}, context.table, context.threads, context.allowed});
}

/// Runs a routine on copies of the operands that lie in another order.
class ReorderedKernel final : public Kernel {
public:
    ReorderedKernel(std::unique_ptr<Kernel> inner, const PrepareContext& given,
                    const PrepareContext& wanted)
        : m_inner(std::move(inner)) {
        for (size_t i = 0; i < given.inputs.size(); ++i)
            m_inputs.push_back(moved(given.inputs[i], wanted.inputs[i], true, given));
        for (size_t i = 0; i < given.outputs.size(); ++i)
            m_outputs.push_back(moved(given.outputs[i], wanted.outputs[i], false, given));
        tactic = m_inner->tactic + ", reordered";
        fallbacks = m_inner->fallbacks;
        hidden = m_inner->hidden;
        hidden.scratchBytes += static_cast<int64_t>(m_bytes);
        hidden.passedBytes += static_cast<int64_t>(m_bytes);
        for (const auto* all : {&m_inputs, &m_outputs})
            for (const Moved& one : *all)
                hidden.values += one.copy ? 1 : 0;
    }

    void run(const Operands& operands, RunContext& context) override {
        std::byte* scratch = context.threads.stepScratch().reserve(m_bytes);
        Operands inside = operands;
        RunContext uncounted{context.threads, nullptr, false, {}};
        for (size_t i = 0; i < m_inputs.size(); ++i)
            if (m_inputs[i].copy) {
                inside.inputs[i] = scratch + m_inputs[i].at;
                m_inputs[i].copy->run({{operands.inputs[i]}, {scratch + m_inputs[i].at}},
                                      uncounted);
            }
        for (size_t i = 0; i < m_outputs.size(); ++i)
            if (m_outputs[i].copy)
                inside.outputs[i] = scratch + m_outputs[i].at;
        m_inner->run(inside, context);
        for (size_t i = 0; i < m_outputs.size() && !context.error; ++i)
            if (m_outputs[i].copy)
                m_outputs[i].copy->run({{scratch + m_outputs[i].at}, {operands.outputs[i]}},
                                       uncounted);
    }

private:
    struct Moved {
        std::unique_ptr<Kernel> copy; ///< null: stays where it is
        size_t at = 0;                ///< in the scratch memory
    };

    Moved moved(const OperandLayout& given, const OperandLayout& wanted, bool isInput,
                const PrepareContext& context) {
        if (sameMemory(given, wanted))
            return {};
        Moved out{isInput ? copyKernel(given, wanted, context) : copyKernel(wanted, given, context),
                  m_bytes};
        m_bytes += (static_cast<size_t>(wanted.span()) * sizeOf(wanted.dtype) + 63) / 64 * 64;
        return out;
    }

    std::unique_ptr<Kernel> m_inner;
    std::vector<Moved> m_inputs, m_outputs;
    size_t m_bytes = 0;
};

} // namespace

Error indexOutside(const Node& node, int64_t index, int64_t extent) {
    return {"run.index",
            "index " + std::to_string(index) + " of " + node.name + " is outside " +
                std::to_string(extent) + " elements",
            {},
            {}};
}

std::optional<size_t> rowDim(const OperandLayout& from, const OperandLayout& to) {
    std::optional<size_t> best, single;
    auto worth = [&](size_t d) { return std::pair(to.extents[d], from.extents[d]); };
    for (size_t d = to.extents.size(); d-- > 0;) {
        bool fits = (to.strides[d] == 1 || to.extents[d] == 1) &&
                    (from.strides[d] == 1 || from.extents[d] == 1);
        if (fits && to.extents[d] == 1 && from.extents[d] == 1)
            single = d;
        else if (fits && (!best || worth(d) > worth(*best)))
            best = d;
    }
    const bool oneElement = elementCount(from.extents) == 1 && elementCount(to.extents) == 1;
    return best || !oneElement ? best : single;
}

std::optional<Reason> unsupportedLibrary(const Library& program, const KernelProgram& whole) {
    if (!whole.body || !rowFor(whole.body->node(program.node).op))
        return Reason{"support", "the operator runs through its reference function", {}, {}};
    return std::nullopt;
}

bool followsOrder(const Library& program, const KernelProgram& whole) {
    const LibraryRow* row = whole.body ? rowFor(whole.body->node(program.node).op) : nullptr;
    return row && row->order != Order::RowMajor;
}

KernelResult prepareLibrary(const Library& program, const KernelProgram& whole,
                            const PrepareContext& context) {
    const Node& node = whole.body->node(program.node);
    const LibraryRow& row = *rowFor(node.op);
    PrepareContext wanted = context;
    setOrder(row.order, wanted);
    KernelResult kernel = row.prepare(LibraryCall(node, whole, wanted));
    if (!kernel)
        return kernel;
    bool stays = true;
    for (size_t i = 0; i < context.inputs.size(); ++i)
        stays = stays && sameMemory(context.inputs[i], wanted.inputs[i]);
    for (size_t i = 0; i < context.outputs.size(); ++i)
        stays = stays && sameMemory(context.outputs[i], wanted.outputs[i]);
    if (stays)
        return kernel;
    return std::unique_ptr<Kernel>(
        std::make_unique<ReorderedKernel>(std::move(*kernel), context, wanted));
}

} // namespace fuselage::cpu
