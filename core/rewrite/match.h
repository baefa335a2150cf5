// SPDX-License-Identifier: Apache-2.0
// A match as plain data: the nodes of the graph that a rule's pattern covers, and what its names
// stand for. The matcher makes it, selection compares it, the rewriter applies it.
#pragma once

#include "core/rewrite/pattern.h"
#include "core/support/boxed_vector.h"
#include "core/support/reason.h"

#include <string>
#include <vector>

namespace fuselage {

/// What a slot stands for.
struct Binding {
    enum class Kind : uint8_t { Unbound, None, Value, List };

    Kind kind = Kind::Unbound;
    ValueId value;
    BoxedVector<Binding> items; ///< of a List: one for each instance, or the rest operands

    bool bound() const { return kind != Kind::Unbound; }

    /// Appends its value, or those of all its items.
    void collect(std::vector<ValueId>& values) const {
        if (kind == Kind::Value && value.valid())
            values.push_back(value);
        for (const Binding& item : items)
            item.collect(values);
    }

    static Binding none() { return {Kind::None, {}, {}}; }

    static Binding of(ValueId value) { return {Kind::Value, value, {}}; }
};

/// What a dimension variable stands for.
struct DimBinding {
    bool bound = false;
    bool isList = false;
    Dim dim;
    BoxedVector<DimBinding> items; ///< one for each instance
};

/// The nodes that a region covers.
struct RegionBinding {
    ValueId value; ///< the one that the rest of the match reads
    std::vector<NodeId> nodes;
};

struct Match {
    const Rule* rule = nullptr; ///< owned by the RuleIndex that the matcher used
    NodeId anchor;              ///< the node the search started at
    std::vector<NodeId> nodes;  ///< in topological order
    std::vector<Binding> slots; ///< parallel to Rule::slots
    std::vector<DimBinding> dims;
    std::vector<RegionBinding> regions;
    std::vector<std::string> labels; ///< of the alternatives taken, in the order of the search
    std::vector<ValueId> outputs;    ///< made inside and read outside, in topological order
    std::vector<NodeId> kept;        ///< nodes that also stay for readers outside
};

/// What a match gains: before minus after. Filled in by the cost model; without one only
/// `launches` is known.
struct Gain {
    double us = 0;
    double error = 0;        ///< of `us`: what the model, or the measurement, cannot tell apart
    bool isMeasured = false; ///< `us` was measured, not predicted
    double bytes = 0;
    double launches = 0;
    double peakBytes = 0;
    double flops = 0;
    /// Of the kernels that it becomes, the most that one needs: registers of a thread, bytes of
    /// shared memory of a block. None on a processor, whose kernels have neither.
    std::optional<double> registers = {}, sharedBytes = {};
    /// Whether what it becomes is to be taken by its price (core/cost/decision.h); none: it saves
    /// time.
    std::optional<bool> preferred = {};
    std::optional<Reason> refusal = {}; ///< why it cannot be written, or is more than one kernel
};

} // namespace fuselage
