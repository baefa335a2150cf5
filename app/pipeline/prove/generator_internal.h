// SPDX-License-Identifier: Apache-2.0
// Builds a graph from the terms of a rule, from the operands up: the matcher's walk in reverse.
// Slots and dimension variables are bound as the matcher would bind them, so that the rule's own
// expressions can be evaluated on the way.
#pragma once

#include "app/pipeline/prove/sample.h"
#include "app/pipeline/prove/wish.h"
#include "core/ops/op_table.h"
#include "core/rewrite/evaluate.h"

namespace fuselage::app {

/// What the Hole of a chain step stands for.
struct SourceFrame {
    TermId source;
    const SourceFrame* around = nullptr;
    TermId repeat;       ///< of a Repeat: the hole holds another round
    uint32_t rounds = 0; ///< that are left
    mutable bool isBuilt = false;
    mutable ValueId built;
};

class Generator {
public:
    Generator(const PreparedRule& prepared, Choices& choices);

    /// False when the choices lead nowhere.
    bool build(std::span<const GuardTerm> terms);

    Graph take() { return std::move(m_graph); }

    const Facts& facts() const { return m_facts; }

    /// A constant for a literal is as far from it as a match allows.
    bool isAtEdge() const { return m_isAtEdge; }

    /// What `verify` says of inputs, by name.
    const std::map<std::string, ValueRange>& ranges() const { return m_ranges; }

private:
    void buildBlock(const BlockPlan& plan);
    bool isLoose(const Definition& definition) const;
    Wish wishOf(SlotIndex slot, Wish wish);
    void buildMany(const BlockPlan& plan, const Many& many);
    ValueId buildDefinition(const Definition& definition, uint32_t position, const Wish& wish);
    ValueId buildTerm(TermId id, const Wish& wish, const SourceFrame* hole, size_t outputs = 1);
    ValueId buildHole(const Wish& wish, const SourceFrame* hole);
    ValueId buildValue(const Term& term, TermId id, const Wish& wish, const SourceFrame* hole);
    ValueId buildNumber(const Term& term, const Wish& wish);
    ValueId buildStep(const Term& term, TermId id, const Wish& wish, const SourceFrame* hole,
                      size_t outputs);
    ValueId buildRegion(const Term& term, const Wish& wish, const SourceFrame* hole);
    ValueId buildFlat(const Term& term, Op op, const Wish& wish, const SourceFrame* hole);
    ValueId buildNode(const Term& term, TermId id, const Wish& wish, const SourceFrame* hole,
                      size_t outputs);

    void buildOperands(const Term& term, TermId id, Node& node, const Wish& wish,
                       const SourceFrame* hole);
    std::optional<size_t> argumentAt(const Term& term, Op op, size_t operand) const;
    void buildOperand(const Term& term, Node& node, OperandContext& context, size_t operand,
                      const SourceFrame* hole);
    void buildRest(const Term& term, Node& node, OperandContext& context, size_t operand);
    void sampleAttributes(const Term& term, Node& node, size_t rank, const Wish& wish,
                          std::optional<TermId> id, bool late);
    std::optional<Quantity> testedValue(const Term& term, const std::string& name);
    std::optional<AttributeValue> demandedAttribute(TermId id, const AttributeSchema& schema,
                                                    size_t rank,
                                                    const std::optional<AttributeValue>& drawn);
    std::optional<SlotIndex> nameOf(TermId id) const;
    std::optional<DType> typeFor(Op op, size_t operand);
    bool isTyped(const Node& node) const;
    ValueId addNode(const Term& term, Node node, size_t outputs);

    ValueId leaf(const TypePattern* type, const std::optional<SlotIndex>& slot, Wish wish);
    const VerifySpec::Values* rangeOf(const std::optional<SlotIndex>& slot) const;
    ValueId constantLeaf(const Wish& wish, const VerifySpec::Values* range, bool scalar,
                         DType dtype, Extents extents);
    std::optional<Extents> extentsFor(const TypePattern& type, const Wish& asked);
    int64_t dimensionFor(const DimPattern& pattern, std::optional<int64_t> wished, size_t position);
    int64_t freeDimension(size_t position, size_t rank);
    std::optional<int64_t> demandedDimension(uint32_t variable);
    void bindType(const TypePattern& type, ValueId value);
    void bind(SlotIndex slot, ValueId value);
    void noteFacts(std::span<const GuardTerm> terms);
    bool isBound(ValueId value) const;
    bool isReplaced(ValueId value) const;
    void addOutputs();
    ValueId fail();

    EvaluateContext context() const { return {m_graph, m_rule, m_slots, m_dims}; }

    const Type& typeOf(ValueId value) const { return m_graph.value(value).type; }

    const PreparedRule& m_prepared;
    const Rule& m_rule;
    Choices& m_choices;
    Graph m_graph;
    std::vector<Binding> m_slots;
    std::vector<DimBinding> m_dims;
    Facts m_facts;
    std::map<std::string, ValueRange> m_ranges;
    std::vector<const TypePattern*> m_types; ///< per slot: what the rule says of it somewhere
    Partings m_partings;
    static constexpr int64_t mostSmall = 12;
    std::vector<int64_t> m_sizes;     ///< dimensions to draw from
    int m_largeLeft = 2;              ///< extents of more than `mostSmall` of one graph
    std::vector<int64_t> m_named;     ///< that the rule's `verify` gives to any dimension
    DType m_untyped = DType::Float32; ///< of values of which nothing is asked
    int64_t m_leastSpatial = 0;       ///< that the rule's kernels need
    bool m_hasRank = false;           ///< of a first value of which nothing is asked
    bool m_isAtEdge = false;
    bool m_failed = false;
    int m_depth = 0;
};

} // namespace fuselage::app
