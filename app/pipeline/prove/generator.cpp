// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/named_operators.h"
#include "app/pipeline/prove/generator_internal.h"
#include "app/pipeline/prove/guard_terms.h"
#include "app/pipeline/prove/open_types.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/ops/op_table.h"
#include "core/passes/passes.h"

#include <algorithm>

namespace fuselage::app {

namespace {

constexpr int maxDepth = 200;
constexpr uint32_t percentOtherType = 30;
constexpr uint32_t percentEmpty = 4;
constexpr uint32_t percentLarge = 8;
/// More than 8 bits count; few of one graph, else all would be slow.
const std::vector<int64_t> largeSizes[] = {{2, 1, 1, 24}, {1, 2, 1, 1, 1, 150}};
constexpr uint64_t sizePoint = uint64_t{1} << 50U; ///< a structural decision

/// The largest window that the pattern itself fixes, summed over its nodes.
int64_t spatialDemand(const Rule& rule) {
    int64_t demand = 0;
    for (const Term& term : rule.terms) {
        if (term.type && term.type->isConst && term.type->dims && term.type->dims->size() >= 4) {
            const DimPattern& last = term.type->dims->back();
            if (last.kind == DimPattern::Kind::Value && last.value.kind == Expression::Kind::Number)
                demand += static_cast<int64_t>(last.value.number);
        }
        for (const AttributeTest& test : term.tests)
            if (test.name == "kernel_shape" && !test.value.args.empty() &&
                test.value.args[0].kind == Expression::Kind::Number)
                demand += static_cast<int64_t>(test.value.args[0].number);
    }
    return demand;
}

} // namespace

Generator::Generator(const PreparedRule& prepared, Choices& choices)
    : m_prepared(prepared), m_rule(prepared.rule), m_choices(choices), m_slots(m_rule.slots.size()),
      m_dims(m_rule.dims.size()), m_types(m_rule.slots.size()),
      m_leastSpatial(spatialDemand(prepared.rule)) {
    for (const Term& term : m_rule.terms)
        if (term.kind == Term::Kind::Value && term.slot && term.type &&
            (!m_types[*term.slot] || !m_types[*term.slot]->dims))
            m_types[*term.slot] = &*term.type;
    static const std::vector<int64_t> sizes[] = {
        {1, 2, 3, 4, 5}, {2, 2, 3}, {1, 3}, {2, 3, 4, 6, 8}, {1, 3, 8, 12}, {3}, {2}};
    // All alike, the last two: what a rewrite exchanges shows in values then, not in shapes.
    m_sizes = sizes[m_choices.structural(sizePoint, m_rule.isRewrite ? 7 : 5)];
    if (m_rule.isRewrite && m_choices.rarely(percentLarge))
        m_sizes = largeSizes[m_choices.pick(2)];
    if (m_rule.verify)
        for (const auto& [dim, values] : m_rule.verify->dims)
            m_named.insert(m_named.end(), values.begin(), values.end());
    if (m_rule.isRewrite && m_choices.rarely(percentEmpty))
        m_sizes.push_back(0);
    if (m_rule.isRewrite && m_choices.rarely(percentOtherType))
        if (const std::vector<DType> types = openTypes(m_rule); types.size() > 1)
            m_untyped = types[1 + m_choices.pick(static_cast<uint32_t>(types.size()) - 1)];
}

ValueId Generator::fail() {
    m_failed = true;
    return {};
}

bool Generator::build(std::span<const GuardTerm> terms) {
    buildBlock(m_prepared.plan);
    if (m_failed)
        return false;
    addOutputs();
    noteFacts(terms);
    return !m_failed && !m_graph.outputs().empty();
}

void Generator::bind(SlotIndex slot, ValueId value) {
    if (!m_slots[slot].bound())
        m_slots[slot] = value.valid() ? Binding::of(value) : Binding::none();
}

void Generator::buildBlock(const BlockPlan& plan) {
    // In the order of the text: a bare "x: [..., K];" comes before what reads it.
    std::vector<uint32_t> roots = plan.roots;
    std::sort(roots.begin(), roots.end());
    auto build = [&](bool loose) {
        for (uint32_t root : roots) {
            const Definition& definition = plan.block->definitions[root];
            if (m_failed || isLoose(definition) != loose)
                continue;
            if (definition.slots.empty())
                buildTerm(definition.term, {}, nullptr);
            else if (!m_slots[definition.slots[0]].bound())
                buildDefinition(definition, 0, wishOf(definition.slots[0], {}));
        }
    };
    build(false);
    for (size_t i = 0; i < plan.manys.size() && !m_failed; ++i)
        buildMany(plan.manys[i], plan.block->manys[i]);
    build(true);
}

/// "x: [...];" says nothing of the extents: whoever reads `x` knows better which ones.
bool Generator::isLoose(const Definition& definition) const {
    const Term& term = m_rule.term(definition.term);
    if (!definition.slots.empty() || term.kind != Term::Kind::Value || !term.slot || !term.type ||
        m_prepared.definitions[*term.slot].definition)
        return false;
    const auto& dims = term.type->dims;
    return !dims || (dims->size() == 1 && dims->front().kind == DimPattern::Kind::Rest);
}

/// With the extents that the rule states of a value that a node makes. Nothing is bound by them:
/// the node may make others.
Wish Generator::wishOf(SlotIndex slot, Wish wish) {
    const TypePattern* type = m_types[slot];
    if (!type || !type->dims)
        return wish;
    const std::vector<DimBinding> bound = m_dims;
    wish.extents = extentsFor(*type, wish);
    wish.regroups = false;
    m_dims = bound;
    return wish;
}

void Generator::buildMany(const BlockPlan& plan, const Many& many) {
    uint32_t count = many.least + m_choices.pick(std::min<uint32_t>(many.most - many.least, 1) + 1);
    std::vector<Binding> lists(m_slots.size());
    std::vector<DimBinding> dims(m_dims.size());
    for (uint32_t i = 0; i < count && !m_failed; ++i) {
        for (SlotIndex slot : plan.inside)
            m_slots[slot] = {};
        for (uint32_t dim : many.dims)
            m_dims[dim] = {};
        buildBlock(plan);
        for (SlotIndex slot : plan.inside)
            lists[slot].items.push_back(m_slots[slot]);
        for (uint32_t dim : many.dims)
            dims[dim].items.push_back(m_dims[dim]);
    }
    for (SlotIndex slot : plan.inside)
        m_slots[slot] = {Binding::Kind::List, {}, std::move(lists[slot].items)};
    for (uint32_t dim : many.dims)
        m_dims[dim] = {true, true, {}, std::move(dims[dim].items)};
}

ValueId Generator::buildDefinition(const Definition& definition, uint32_t position,
                                   const Wish& wish) {
    ValueId first = buildTerm(definition.term, wish, nullptr, definition.slots.size());
    if (m_failed || !first.valid())
        return fail();
    NodeId maker = m_graph.producer(first);
    for (uint32_t i = 0; i < definition.slots.size(); ++i) {
        ValueId output = first;
        if (definition.slots.size() > 1)
            output = maker.valid() && i < m_graph.node(maker).outputs.size()
                         ? m_graph.node(maker).outputs[i]
                         : ValueId();
        bind(definition.slots[i], output);
    }
    return m_slots[definition.slots[position]].value;
}

ValueId Generator::buildTerm(TermId id, const Wish& wish, const SourceFrame* hole, size_t outputs) {
    if (m_failed || ++m_depth > maxDepth)
        return fail();
    const Term& term = m_rule.term(id);
    ValueId made;
    switch (term.kind) {
    case Term::Kind::Any:
        made = leaf(nullptr, {}, wish);
        break;
    case Term::Kind::Hole:
        made = buildHole(wish, hole);
        break;
    case Term::Kind::Value:
        made = buildValue(term, id, wish, hole);
        break;
    case Term::Kind::Number:
        made = buildNumber(term, wish);
        break;
    case Term::Kind::Node:
        made = buildNode(term, id, wish, hole, outputs);
        break;
    case Term::Kind::Region:
        made = buildRegion(term, wish, hole);
        break;
    default:
        made = buildStep(term, id, wish, hole, outputs);
        break;
    }
    --m_depth;
    if (m_failed || term.kind == Term::Kind::Value)
        return made;
    if (term.slot)
        bind(*term.slot, made);
    if (term.type && made.valid())
        bindType(*term.type, made);
    return made;
}

ValueId Generator::buildStep(const Term& term, TermId id, const Wish& wish, const SourceFrame* hole,
                             size_t outputs) {
    switch (term.kind) {
    case Term::Kind::Choice: {
        auto count = static_cast<uint32_t>(term.alternatives.size());
        uint32_t taken = m_choices.structural(id.index(), count);
        return buildTerm(term.alternatives[taken].term, wish, hole, outputs);
    }
    case Term::Kind::Optional:
        if (m_choices.structural(id.index(), 2) == 0)
            return buildTerm(term.source, wish, hole);
        [[fallthrough]];
    case Term::Kind::Pipe: {
        SourceFrame frame{term.source, hole, {}, 0, false, {}};
        return buildTerm(term.step, wish, &frame, outputs);
    }
    default: { // Repeat
        uint32_t range = std::min<uint32_t>(term.most - term.least, 2) + 1;
        uint32_t rounds = term.least + m_choices.structural(id.index(), range);
        if (rounds == 0)
            return buildTerm(term.source, wish, hole);
        SourceFrame frame{term.source, hole, id, rounds - 1, false, {}};
        return buildTerm(term.step, wish, &frame, outputs);
    }
    }
}

ValueId Generator::buildHole(const Wish& wish, const SourceFrame* hole) {
    if (!hole)
        return leaf(nullptr, {}, wish);
    if (hole->isBuilt)
        return hole->built;
    if (hole->repeat.valid() && hole->rounds > 0) {
        // Each round of a repetition has names of its own.
        for (SlotIndex slot : m_prepared.captures[hole->repeat.index()])
            m_slots[slot] = {};
        SourceFrame inner{hole->source, hole->around, hole->repeat, hole->rounds - 1, false, {}};
        hole->built = buildTerm(m_rule.term(hole->repeat).step, wish, &inner);
        for (SlotIndex slot : m_prepared.captures[hole->repeat.index()])
            m_slots[slot] = {};
    } else {
        hole->built = buildTerm(hole->source, wish, hole->around);
    }
    hole->isBuilt = true;
    return hole->built;
}

ValueId Generator::buildValue(const Term& term, TermId id, const Wish& wish,
                              const SourceFrame* hole) {
    if (term.slot && m_slots[*term.slot].bound()) {
        ValueId value = m_slots[*term.slot].value;
        if (term.type && value.valid())
            bindType(*term.type, value);
        return value;
    }
    const Definition* definition =
        term.slot ? m_prepared.definitions[*term.slot].definition : nullptr;
    ValueId made;
    if (definition)
        made = buildDefinition(*definition, m_prepared.definitions[*term.slot].position,
                               wishOf(*term.slot, wish));
    else if (term.step.valid())
        made = buildTerm(term.step, wish, hole);
    else if (term.mayBeAbsent && m_choices.structural(id.index(), 2) == 0)
        made = {};
    else
        made = leaf(term.type   ? &*term.type
                    : term.slot ? m_types[*term.slot]
                                : nullptr,
                    term.slot, wish);
    if (m_failed)
        return {};
    if (term.slot)
        bind(*term.slot, made);
    if (term.type && made.valid())
        bindType(*term.type, made);
    return made;
}

void Generator::bindType(const TypePattern& type, ValueId value) {
    std::optional<Extents> extents = typeOf(value).extents();
    if (!type.dims || !extents)
        return;
    const std::vector<DimPattern>& dims = *type.dims;
    bool open = std::any_of(dims.begin(), dims.end(), [](const DimPattern& dim) {
        return dim.kind == DimPattern::Kind::Rest;
    });
    if (open ? extents->size() + 1 < dims.size() : extents->size() != dims.size()) {
        fail();
        return;
    }
    bool behindRest = false;
    for (size_t i = 0; i < dims.size(); ++i) {
        behindRest = behindRest || dims[i].kind == DimPattern::Kind::Rest;
        size_t at = behindRest ? extents->size() - dims.size() + i : i;
        if (dims[i].kind != DimPattern::Kind::Variable)
            continue;
        DimBinding& bound = m_dims[dims[i].variable];
        if (!bound.bound)
            bound = {true, false, Dim((*extents)[at]), {}};
    }
}

bool Generator::isBound(ValueId value) const {
    return std::any_of(m_slots.begin(), m_slots.end(), [&](const Binding& slot) {
        return slot.kind == Binding::Kind::Value && slot.value == value;
    });
}

/// The rewrite says what it is.
bool Generator::isReplaced(ValueId value) const {
    return std::any_of(
        m_rule.rewrite.begin(), m_rule.rewrite.end(), [&](const Assignment& assignment) {
            return std::any_of(assignment.targets.begin(), assignment.targets.end(),
                               [&](SlotIndex target) {
                                   return m_slots[target].kind == Binding::Kind::Value &&
                                          m_slots[target].value == value;
                               });
        });
}

void Generator::addOutputs() {
    // What is read by nothing is the result; a rewrite may not take the output of the graph itself
    // away, so something stands behind it.
    for (ValueId value : m_graph.values()) {
        bool made = m_graph.producer(value).valid();
        bool escapes = false;
        for (const Escape& escape : m_rule.escapes)
            for (SlotIndex slot : escape.slots)
                escapes =
                    escapes || (m_slots[slot].value == value && !m_graph.value(value).uses.empty());
        if (!made || (!m_graph.value(value).uses.empty() && !(escapes && m_choices.rarely(40))))
            continue;
        const bool isFurther = m_graph.node(m_graph.producer(value)).outputs[0] != value;
        if (isFurther && !isBound(value))
            continue; // the rule says nothing of it
        if (isFurther && m_rule.isRewrite && !isReplaced(value))
            continue; // the rewrite does not make it, so nothing may read it
        DType dtype = typeOf(value).dtype;
        if (!m_rule.isRewrite || isStorageOnly(dtype) || dtype == DType::String) {
            m_graph.addOutput(value);
            continue;
        }
        const bool hasSign = isFloat(dtype) || isSigned(dtype);
        NodeSpec tail{dtype == DType::Bool ? Op::Not
                      : hasSign            ? Op::Neg
                                           : Op::Cast,
                      m_graph.freshName("tail"),
                      {value},
                      {m_graph.freshName("result")}};
        if (tail.op == Op::Cast)
            tail.attributes.set("to", onnxNumber(DType::Int64));
        m_graph.addOutput(m_graph.node(m_graph.addNode(std::move(tail))).outputs[0]);
    }
    inferShapes(m_graph);
}

void Generator::noteFacts(std::span<const GuardTerm> terms) {
    constexpr int64_t mostRead = 4096; // elements of one constant
    const bool isLarge = std::any_of(m_slots.begin(), m_slots.end(), [&](const Binding& slot) {
        return slot.kind == Binding::Kind::Value && m_graph.value(slot.value).constant &&
               m_graph.value(slot.value).constant->elementCount() > mostRead;
    });
    for (const GuardTerm& term : terms) {
        if (isLarge && term.readsContents)
            continue;
        const Quantity value = evaluate(context(), term.expression);
        if (term.kind == GuardTerm::Kind::Truth) {
            if (const Truth truth = value.truth(); truth != Truth::Unknown)
                m_facts.texts[term.text] = truth == Truth::True ? "true" : "false";
        } else if (const auto number = value.number()) {
            m_facts.numbers[term.text] = *number + 0.0; // no rule tells -0 from 0
        }
    }
}

std::optional<Sample> generateSample(const PreparedRule& rule, Choices& choices, Progress& progress,
                                     std::span<const GuardTerm> terms) {
    constexpr Contents kinds[] = {Contents::Distinct, Contents::Quarters, Contents::Edges,
                                  Contents::Normal,   Contents::Wide,     Contents::Wide,
                                  Contents::Ends,     Contents::Specials, Contents::Nans};
    Contents contents = kinds[choices.pick(std::size(kinds))];
    // Kernels may find another way past what is no number, where their class allows it.
    const bool mayDiffer = rule.rule.numeric == NumericClass::Approximate ||
                           (!rule.rule.isRewrite && rule.rule.numeric != NumericClass::Exact);
    if (contents >= Contents::Ends && (mayDiffer || !rule.rule.isRewrite))
        contents = Contents::Quarters;
    Generator generator(rule, choices);
    if (!generator.build(terms))
        return std::nullopt;
    // Through the file form: what comes back is what a person's model would look like.
    auto bytes = model_io::toBytes(generator.take());
    if (!bytes)
        return std::nullopt;
    model_io::LoadOptions reading;
    reading.whole = namedOperators(rule.rule);
    auto graph = model_io::loadBytes(*bytes, "", reading);
    if (!graph || !prepareGraph(*graph, progress) || !inferShapes(*graph).empty() ||
        !hasLegalConstants(*graph))
        return std::nullopt;
    int64_t& opset = graph->opsetImports[""];
    opset = std::max(opset, rule.rule.minOpset);
    if (rule.rule.maxOpset > 0)
        opset = std::min(opset, rule.rule.maxOpset - 1);
    Sample sample{std::move(*graph),  generator.facts(),   contents, 0,
                  generator.ranges(), generator.isAtEdge()};
    sample.inputSeed = choices.pick(1000);
    return sample;
}

} // namespace fuselage::app
