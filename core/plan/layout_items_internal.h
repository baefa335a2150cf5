// SPDX-License-Identifier: Apache-2.0
// A plan as its layouts see it: what may lie in which orders, and what each step, or a view that
// may need a copying step, takes in each of them. The search is choose_layouts.cpp's.
#pragma once

#include "core/plan/planner_internal.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace fuselage::planner {

/// A step, or a view, in the order of the run.
struct LayoutItem {
    const Step* step = nullptr; ///< of a view the copying one where it is none; null: a view
    bool isView = false;
    std::vector<uint32_t> inputs, outputs; ///< plan values
    Traffic traffic;
    bool follows = false;     ///< of OperandStrides
    bool isInPlace = false;   ///< a Concat that is no step where its operands lie as it does
    std::vector<bool> isFree; ///< of a view, by label of its operand: it needs no step
    /// Of a view, by label of its operand: of each output, where it needs no step.
    std::vector<std::vector<uint8_t>> follow;
    /// Of a view that may be a copy even so: labels of its output then.
    std::vector<uint8_t> copies;
    size_t node = 0; ///< of a view, among the planned ones

    bool mayCopy() const { return !copies.empty(); }
};

class LayoutItems {
public:
    /// The plan's values and steps are made and its views are not resolved; plan and nodes outlive
    /// this. `offered`: of each value strides that it may have besides; or empty.
    LayoutItems(const Plan& plan, const std::vector<PlannedNode>& nodes, const PlanOptions& options,
                const LowerCache& cache, const std::vector<Extents>& offered = {});

    const std::vector<LayoutItem>& items() const { return m_items; }

    /// Strides that the value may have, the model's order first.
    const std::vector<Extents>& ordersOf(uint32_t value) const { return m_orders[value]; }

    /// Whether that order comes from `offered` alone.
    bool isOffered(uint32_t value, uint8_t label) const {
        return label != 0 && m_offered[value] == label;
    }

    /// Somebody chooses its order: a step, or the copy that stands for a view, makes it.
    bool isFree(uint32_t value) const { return m_free[value]; }

    /// Whether a view whose operands have these labels, inputs then outputs, needs no step.
    static bool isView(const LayoutItem& item, const std::string& labels);

    /// Seconds of an item whose operands have these labels, inputs then outputs.
    double seconds(size_t item, const std::string& labels);

private:
    void addStep(const Step& step);
    void addView(const std::vector<PlannedNode>& nodes, size_t at);
    void offerOutputOrders();
    void findConcats();
    void findTraffic();
    void findAlike(const LowerCache& cache);
    uint8_t labelOf(uint32_t value, const Extents& strides, bool mayAdd);
    bool isOnce(const LayoutItem& item) const;
    bool endsInOutput(const LayoutItem& view, const Extents& derived) const;

    const Plan& m_plan;
    const PlanOptions& m_options;
    ViewKinds m_kinds;
    std::vector<uint32_t> m_index; ///< plan value by ValueId
    std::vector<std::vector<Extents>> m_orders;
    std::vector<uint8_t> m_offered; ///< label by value; 0: none
    std::vector<bool> m_free;
    std::vector<bool> m_isFixed;     ///< of fixedValues()
    std::vector<uint32_t> m_wholeOf; ///< what a value is all of, seen through views
    std::vector<LayoutItem> m_items;
    std::vector<std::unique_ptr<Step>> m_copies;
    std::vector<size_t> m_alike; ///< by item: the first one that costs the same in the same orders
    std::vector<std::unordered_map<std::string, double>> m_prices; ///< by first item
};

} // namespace fuselage::planner
