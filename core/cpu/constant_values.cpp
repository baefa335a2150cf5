// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/constant_values.h"

#include "core/plan/value_transfer.h"

#include <algorithm>
#include <utility>

namespace fuselage::cpu {

ConstantValues::ConstantValues(std::shared_ptr<const Plan> plan, ValueStore& store)
    : m_plan(std::move(plan)), m_store(store), m_isLeft(m_plan->values.size(), false),
      m_isKept(m_plan->values.size(), false) {}

TensorPtr ConstantValues::of(uint32_t value) {
    const PlanValue& asked = m_plan->values[value];
    if (asked.constant)
        return asked.constant;
    if (auto found = m_made.find(value); found != m_made.end())
        return found->second;
    if (auto copy = m_copies.find(value); copy != m_copies.end())
        return copy->second;
    if (asked.residence != Residence::Alias)
        return nullptr;
    const RootPlace place = placeOf(*m_plan, value);
    auto root = m_made.find(place.root);
    if (root == m_made.end() || root->second->dtype() != asked.dtype ||
        root->second->elementCount() < elementCount(asked.extents)) // repeated
        return nullptr;
    if (place.offset == 0 && root->second->elementCount() == elementCount(asked.extents) &&
        isRowMajor(asked.extents, asked.strides))
        return std::make_shared<const Tensor>(root->second->reshaped(asked.extents));
    if (m_isLeft[value])
        return nullptr;
    auto copy = std::make_shared<const Tensor>(m_store.dense(value));
    m_store.replace(value, copy->bytes());
    return m_copies[value] = std::move(copy);
}

bool ConstantValues::areAllThat(const Step& step) {
    const auto isOne = [&](uint32_t value) { return of(value) != nullptr; };
    return m_plan->isOnce(step) && std::all_of(step.inputs.begin(), step.inputs.end(), isOne) &&
           std::all_of(step.outputs.begin(), step.outputs.end(), [&](uint32_t value) {
               const PlanValue& made = m_plan->values[value];
               return made.residence == Residence::Arena && !made.inner &&
                      isRowMajor(made.extents, made.strides);
           });
}

std::vector<TensorPtr> ConstantValues::readBy(const Step& step) {
    std::vector<TensorPtr> out;
    for (uint32_t input : step.inputs)
        out.push_back(of(input));
    return out;
}

void ConstantValues::add(const Step& step, const std::vector<TensorPtr>& made) {
    for (size_t i = 0; i < made.size(); ++i) {
        m_made[step.outputs[i]] = made[i];
        m_store.replace(step.outputs[i], made[i]->bytes());
    }
}

void ConstantValues::keepFor(const Step& step) {
    for (uint32_t input : step.inputs)
        if (!isCopied(input))
            m_isKept[rootOf(*m_plan, input)] = true;
}

void ConstantValues::leaveFor(const Step& step) {
    for (uint32_t input : step.inputs)
        m_isLeft[input] = true;
}

void ConstantValues::drop(uint32_t root) {
    if (!m_isKept[root] && m_made.erase(root) != 0)
        m_store.forget(root);
}

void ConstantValues::dropReadBy(size_t index) {
    for (uint32_t input : m_plan->steps[index].inputs)
        if (const uint32_t root = rootOf(*m_plan, input); m_plan->values[root].lastStep <= index)
            drop(root);
}

void ConstantValues::dropCopied() {
    for (const auto& [value, copy] : m_copies)
        drop(rootOf(*m_plan, value));
}

} // namespace fuselage::cpu
