// SPDX-License-Identifier: Apache-2.0
// MatMulNBits of constant weights of 2 or 8 bits: the weights become floats once, while preparing,
// and the product is an ordinary one.
#include "core/cpu/library.h"
#include "core/cpu/prepare_kernel.h"
#include "core/kernel/lower.h"
#include "core/ops/blocked_weights.h"

namespace fuselage::cpu {

namespace {

class FloatWeightsKernel final : public Kernel {
public:
    FloatWeightsKernel(const LibraryCall& call, TensorPtr weights, std::unique_ptr<Kernel> product)
        : m_a(call.input(0)), m_bias(call.input(5)), m_y(call.output(0)),
          m_weights(std::move(weights)), m_product(std::move(product)) {
        tactic = m_product->tactic + ", weights as floats";
        hidden = m_product->hidden;
        numeric = m_product->numeric;
    }

    void run(const Operands& operands, RunContext& context) override {
        Operands inner;
        inner.inputs = {m_a.read(operands), m_weights->bytes()};
        if (m_bias)
            inner.inputs.push_back(m_bias.read(operands));
        inner.outputs = {m_y.write(operands)};
        m_product->run(inner, context);
    }

private:
    LibraryOperand m_a, m_bias, m_y;
    TensorPtr m_weights;
    std::unique_ptr<Kernel> m_product;
};

Result<TensorPtr> floatsOf(const LibraryCall& call, const BlockedWeights& geometry) {
    std::vector<ReferenceValue> values(4);
    std::vector<const ReferenceValue*> inputs(values.size(), nullptr);
    for (size_t i = 1; i < values.size(); ++i)
        if (call.input(i)) {
            values[i] = ReferenceValue::from(*call.input(i).layout.constant);
            inputs[i] = &values[i];
        }
    values[0].dtype = call.input(0).layout.dtype; // of A only its type is asked
    inputs[0] = &values[0];
    auto floats = weightsAsFloats(call.node(), geometry, inputs);
    if (!floats)
        return failure(floats.error());
    return TensorPtr(std::make_shared<const Tensor>(floats->toTensor()));
}

/// MatMul, and Add where there is a bias.
LowerRequest productOf(const LibraryCall& call, const TensorPtr& weights) {
    Graph body;
    LowerRequest out;
    auto operand = [&](const char* name, DType dtype, const Extents& extents, TensorPtr constant) {
        out.constants.push_back(std::move(constant));
        return body.addInput(name, tensorType(dtype, toShape(extents)));
    };
    const OperandLayout& a = call.input(0).layout;
    const ValueId left = operand("a", a.dtype, a.extents, nullptr);
    const ValueId right = operand("b", a.dtype, weights->extents(), weights);
    const Type result = tensorType(a.dtype, toShape(call.output(0).layout.extents));
    auto made = [&](Op op, const char* name, std::vector<ValueId> inputs) {
        const NodeId node = body.addNode({op, name, std::move(inputs), {name}});
        body.setType(body.node(node).outputs[0], result);
        return body.node(node).outputs[0];
    };
    ValueId y = made(Op::MatMul, "product", {left, right});
    if (const LibraryOperand& bias = call.input(5))
        y = made(Op::Add, "y",
                 {y, operand("bias", a.dtype, bias.layout.extents, bias.layout.constant)});
    body.addOutput(y);
    out.body = std::make_shared<const Graph>(std::move(body));
    return out;
}

} // namespace

KernelResult prepareFloatWeights(const LibraryCall& call, const BlockedWeights& geometry) {
    const PrepareContext& context = call.context();
    if (call.input(5) && call.input(5).layout.dtype != call.input(0).layout.dtype)
        return failure("cpu.support", "the bias is of another type than A");
    auto weights = floatsOf(call, geometry);
    if (!weights)
        return failure(weights.error());
    LowerResult lowered = lower(productOf(call, *weights));
    const auto* program = std::get_if<KernelProgram>(&lowered);
    if (!program)
        return failure("cpu.support", std::get<Reason>(lowered).message);
    PrepareContext inner{{call.input(0).layout},
                         {call.output(0).layout},
                         context.table,
                         context.threads,
                         context.allowed};
    inner.inputs.push_back({(*weights)->dtype(), (*weights)->extents(),
                            rowMajorStrides((*weights)->extents()), *weights});
    if (call.input(5))
        inner.inputs.push_back(call.input(5).layout);
    KernelResult product = prepareKernel(*program, inner);
    if (!product)
        return product;
    return std::unique_ptr<Kernel>(
        std::make_unique<FloatWeightsKernel>(call, std::move(*weights), std::move(*product)));
}

} // namespace fuselage::cpu
