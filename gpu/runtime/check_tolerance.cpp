// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/check_tolerance.h"

#include "core/ops/op_table.h"
#include "gpu/emit/emit_kernel.h"

#include <algorithm>
#include <cmath>

namespace fuselage::gpu {

namespace {

/// Of elements that may fall on the other side of a jump, by a rounding before it.
constexpr double shareOfJumps = 1e-3;
/// Operands rounded to 10 bits, as TF32 has them, and a function that is only nearby.
constexpr double roundedOperands = 1e-3, anotherFunction = 5e-3;

double product(const Extents& extents) {
    double out = 1;
    for (int64_t extent : extents)
        out *= static_cast<double>(extent);
    return out;
}

struct SumLength {
    const KernelProgram& program;

    double operator()(const Contraction& c) const {
        if (c.kind == Contraction::Kind::MatMul)
            return product(c.k);
        const Extents& weight = program.inputs[c.b.operand].extents;
        return weight.empty()
                   ? 1
                   : product(weight) / static_cast<double>(std::max<int64_t>(1, weight[0]));
    }

    double operator()(const Row& row) const { return product(row.inner); }

    double operator()(const Attention& a) const { return static_cast<double>(a.s + a.d); }

    double operator()(const Window& window) const { return product(window.window.kernel); }

    double operator()(const Group& group) const {
        double out = 1;
        for (const KernelProgram& member : group.members)
            out = std::max(out, std::visit(SumLength{member}, member.code));
        return out;
    }

    double operator()(const Chain& chain) const {
        double out = 0;
        for (const KernelProgram& member : chain.members)
            out += std::visit(SumLength{member}, member.code);
        return out;
    }

    template <typename Other> double operator()(const Other&) const { return 1; }
};

/// What sums of so many terms lose in float32: their roundings, and tensor cores that cut instead.
double lossOfSums(double terms) {
    return 4 * std::sqrt(terms) * std::ldexp(1.0, -24) + terms * std::ldexp(1.0, -26);
}

bool jumps(const KernelProgram& program) {
    if (const auto* group = std::get_if<Group>(&program.code))
        return std::any_of(group->members.begin(), group->members.end(), jumps);
    if (const auto* chain = std::get_if<Chain>(&program.code))
        return std::any_of(chain->members.begin(), chain->members.end(), jumps);
    if (!program.body)
        return false;
    const Graph& body = *program.body;
    for (NodeId id : body.nodes()) {
        const Node& node = body.node(id);
        const bool toWhole = node.op == Op::Cast && !node.outputs.empty() &&
                             !isFloat(body.value(node.outputs[0]).type.dtype);
        if (toWhole || hasTrait(node.op, Discontinuous))
            return true;
    }
    return false;
}

} // namespace

OutputTolerance outputTolerance(const Step& step, DType output) {
    OutputTolerance out;
    out.share = jumps(step.program) ? shareOfJumps : 0;
    if (!isFloat(output))
        return out;
    out.relative = 2 * toleranceOf(step.program, std::max(step.numeric, step.allowed)) +
                   lossOfSums(std::visit(SumLength{step.program}, step.program.code));
    if (step.tf32)
        out.relative += roundedOperands;
    if (step.allowed == NumericClass::Approximate)
        out.relative += anotherFunction;
    return out;
}

} // namespace fuselage::gpu
