// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/product_element.h"

#include "core/kernel/chain.h"

namespace fuselage {

namespace {

DType wider(DType a, DType b) {
    return sizeOf(a) >= sizeOf(b) ? a : b;
}

} // namespace

DType productElement(const Contraction& code, const std::vector<OperandType>& inputs, bool isA) {
    const auto& own = isA ? code.prologueA : code.prologueB;
    const auto& other = isA ? code.prologueB : code.prologueA;
    if (!own)
        return inputs[isA ? code.a.operand : code.b.operand].dtype;
    const DType made = own->tape.type(own->tape.outputs[0]);
    const DType beside = inputs[isA ? code.b.operand : code.a.operand].dtype;
    const bool rounds = made == DType::Float32 && !other && isFloat(beside) && sizeOf(beside) == 2;
    return rounds ? beside : made;
}

DType productElement(const KernelProgram& program) {
    if (const auto* code = std::get_if<Contraction>(&program.code))
        return wider(productElement(*code, program.inputs, true),
                     productElement(*code, program.inputs, false));
    if (const auto* code = std::get_if<Attention>(&program.code))
        return wider(
            program.inputs[code->q.operand].dtype,
            wider(program.inputs[code->k.operand].dtype, program.inputs[code->v.operand].dtype));
    if (const auto* code = std::get_if<Group>(&program.code))
        for (const KernelProgram& member : code->members)
            if (const DType type = productElement(member); type != DType::Undefined)
                return type;
    if (const auto* code = std::get_if<Chain>(&program.code))
        return productElement(productProgram(*code, 0));
    return DType::Undefined;
}

} // namespace fuselage
