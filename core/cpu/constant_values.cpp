// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/constant_values.h"

#include "core/plan/value_transfer.h"

#include <algorithm>
#include <utility>

namespace fuselage::cpu {

ConstantValues::ConstantValues(std::shared_ptr<const Plan> plan)
    : m_plan(std::move(plan)), m_isKept(m_plan->values.size(), false) {}

TensorPtr ConstantValues::of(uint32_t value) const {
    const PlanValue& asked = m_plan->values[value];
    if (asked.constant)
        return asked.constant;
    if (auto found = m_made.find(value); found != m_made.end())
        return found->second;
    if (asked.residence != Residence::Alias || !isRowMajor(asked.extents, asked.strides))
        return nullptr;
    const RootPlace place = placeOf(*m_plan, value);
    auto found = m_made.find(place.root);
    if (found == m_made.end() || place.offset != 0 || found->second->dtype() != asked.dtype ||
        found->second->elementCount() != elementCount(asked.extents))
        return nullptr;
    return std::make_shared<const Tensor>(found->second->reshaped(asked.extents));
}

bool ConstantValues::areAllThat(const Step& step) const {
    const auto isOne = [&](uint32_t value) { return of(value) != nullptr; };
    return !step.inputs.empty() && std::all_of(step.inputs.begin(), step.inputs.end(), isOne) &&
           std::all_of(step.outputs.begin(), step.outputs.end(), [&](uint32_t value) {
               const PlanValue& made = m_plan->values[value];
               return made.residence == Residence::Arena && !made.inner &&
                      isRowMajor(made.extents, made.strides);
           });
}

std::vector<TensorPtr> ConstantValues::readBy(const Step& step) const {
    std::vector<TensorPtr> out;
    for (uint32_t input : step.inputs)
        out.push_back(of(input));
    return out;
}

void ConstantValues::add(const Step& step, const std::vector<TensorPtr>& made) {
    for (size_t i = 0; i < made.size(); ++i)
        m_made[step.outputs[i]] = made[i];
}

void ConstantValues::keepFor(const Step& step) {
    for (uint32_t input : step.inputs)
        m_isKept[rootOf(*m_plan, input)] = true;
}

std::vector<uint32_t> ConstantValues::dropReadBy(size_t index) {
    std::vector<uint32_t> out;
    for (uint32_t input : m_plan->steps[index].inputs) {
        const uint32_t root = rootOf(*m_plan, input);
        if (m_plan->values[root].lastStep <= index && !m_isKept[root] && m_made.erase(root) != 0)
            out.push_back(root);
    }
    return out;
}

} // namespace fuselage::cpu
