// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/stored_steps.h"

#include "core/plan/value_transfer.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

/// The value that the step multiplies by, which it reads nowhere else; none where it is no product.
std::optional<uint32_t> factorOf(const Step& step) {
    const auto* product = std::get_if<Contraction>(&step.program.code);
    if (!product || product->kind != Contraction::Kind::MatMul || product->prologueB ||
        step.allowed < NumericClass::Reassociated)
        return std::nullopt;
    const uint32_t value = step.inputs[product->b.operand];
    return std::count(step.inputs.begin(), step.inputs.end(), value) == 1 ? std::optional(value)
                                                                          : std::nullopt;
}

/// All elements of the other one, with its dims in another order.
bool isTurned(const PlanValue& view, const PlanValue& other) {
    auto dims = [](const PlanValue& of) {
        std::vector<std::pair<int64_t, int64_t>> out;
        for (size_t d = 0; d < of.extents.size(); ++d)
            out.emplace_back(of.strides[d], of.extents[d]);
        std::sort(out.begin(), out.end());
        return out;
    };
    return dims(view) == dims(other);
}

/// The value and its views, by which products may know it: a Transpose stands between the two where
/// weights lie by results. None where someone sees a part of it, or takes it out of the plan.
std::vector<uint32_t> namesOf(const Plan& plan, uint32_t value) {
    std::vector<uint32_t> out{value};
    for (uint32_t other = 0; other < plan.values.size(); ++other)
        if (other != value && plan.values[other].residence == Residence::Alias &&
            rootOf(plan, other) == value) {
            if (placeOf(plan, other).offset != 0 ||
                !isTurned(plan.values[other], plan.values[value]))
                return {};
            out.push_back(other);
        }
    const bool isTaken = std::any_of(out.begin(), out.end(), [&](uint32_t name) {
        return std::count(plan.outputs.begin(), plan.outputs.end(), name) > 0;
    });
    return isTaken ? std::vector<uint32_t>() : out;
}

} // namespace

bool StoredSteps::take(const Plan& plan, size_t index, const std::function<bool(size_t)>& isSwept) {
    const Step& step = plan.steps[index];
    const Node& node = plan.graph->node(step.node);
    if (node.op != Op::DequantizeLinear || step.outputs.size() != 1)
        return false;
    std::vector<TensorPtr> constants;
    for (ValueId input : node.inputs)
        constants.push_back(input.valid() ? plan.graph->value(input).constant : nullptr);
    auto weights = StoredWeights::of(node, constants);
    const uint32_t made = step.outputs[0];
    const PlanValue& value = plan.values[made];
    if (!weights || value.dtype != DType::Float32 || value.residence != Residence::Arena ||
        value.inner || !isRowMajor(value.extents, value.strides))
        return false;
    const std::vector<uint32_t> names = namesOf(plan, made);
    if (names.empty())
        return false;
    auto isName = [&](uint32_t operand) {
        return std::find(names.begin(), names.end(), operand) != names.end();
    };
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        const std::vector<uint32_t>& inputs = plan.steps[i].inputs;
        const auto reads = std::count_if(inputs.begin(), inputs.end(), isName);
        if (reads == 0)
            continue;
        const auto factor = factorOf(plan.steps[i]);
        if (isSwept(i) || reads > 1 || !factor || !isName(*factor))
            return false;
    }
    for (uint32_t name : names)
        m_taken[name] = {index, *weights};
    return true;
}

const StoredWeights* StoredSteps::of(const Step& step) const {
    const auto factor = factorOf(step);
    const auto found = factor ? m_taken.find(*factor) : m_taken.end();
    return found == m_taken.end() ? nullptr : &found->second.weights;
}

size_t StoredSteps::release(const Step& step) {
    const size_t out = m_taken.at(*factorOf(step)).step;
    std::erase_if(m_taken, [=](const auto& taken) { return taken.second.step == out; });
    return out;
}

std::map<uint32_t, int64_t> StoredSteps::bytesOf(const Plan& plan) {
    StoredSteps all;
    for (size_t i = 0; i < plan.steps.size(); ++i)
        (void)all.take(plan, i, [&](size_t step) { return sweepOf(plan, step) != nullptr; });
    // Products want rows of A as they lie; others multiply by floats.
    for (const Step& step : plan.steps)
        if (all.of(step)) {
            const auto& product = std::get<Contraction>(step.program.code);
            const PlanValue& a = plan.values[step.inputs[product.a.operand]];
            if (!isRowMajor(a.extents, a.strides))
                (void)all.release(step);
        }
    std::map<uint32_t, int64_t> out;
    for (const auto& [value, taken] : all.m_taken)
        out[value] = taken.weights.bytes();
    return out;
}

bool StoredSteps::has(size_t index) const {
    return std::any_of(m_taken.begin(), m_taken.end(),
                       [=](const auto& taken) { return taken.second.step == index; });
}

} // namespace fuselage::cpu
