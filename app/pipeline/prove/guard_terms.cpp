// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/guard_terms.h"

#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

namespace {

using Written = Expression::Kind;

Expression slotOf(SlotIndex slot, const std::string& name) {
    Expression out;
    out.kind = Written::Slot;
    out.slot = slot;
    out.text = name;
    return out;
}

Expression composed(Written kind, const std::string& text, std::vector<Expression> of) {
    Expression out;
    out.kind = kind;
    out.text = text;
    out.args = std::move(of);
    return out;
}

/// A name of the rule's text, and what its terms say of it.
struct Named {
    SlotIndex slot = 0;
    std::string name;
    bool isConst = false;
    bool isScalar = false;
    bool hasDims = false;       ///< the rule says them
    const Term* node = nullptr; ///< null: a value
};

class Terms {
public:
    explicit Terms(const Rule& rule) : m_rule(rule) {}

    std::vector<GuardTerm> all();

private:
    void number(std::string text, Expression expression) {
        m_out.push_back({std::move(text), std::move(expression), GuardTerm::Kind::Number});
    }

    void compared(const GuardTerm& a, const char* comparison, const GuardTerm& b) {
        m_out.push_back({fmt::format("{} {} {}", a.text, comparison, b.text),
                         composed(Written::Binary, comparison, {a.expression, b.expression}),
                         GuardTerm::Kind::Truth});
    }

    GuardTerm dimension(uint32_t dim) const {
        Expression variable;
        variable.kind = Written::Dim;
        variable.slot = dim;
        variable.text = m_rule.dims[dim];
        return {m_rule.dims[dim], std::move(variable)};
    }

    std::vector<Named> named() const;
    void ofDims(const Named& name);
    void ofType(const Named& name);
    void ofValue(const Named& name);
    void ofNode(const Named& name);
    void ofPair(const Named& a, const Named& b);
    bool areBounds(SlotIndex a, SlotIndex b) const;

    const Rule& m_rule;
    std::vector<GuardTerm> m_out;
};

GuardTerm memberOf(const Named& name, const std::string& member) {
    return {name.name + "." + member,
            composed(Written::Member, member, {slotOf(name.slot, name.name)})};
}

GuardTerm attributeOf(const Named& name, const std::string& attribute) {
    Expression read;
    read.kind = Written::Parameter;
    read.slot = name.slot;
    read.text = attribute;
    return {name.name + "." + attribute, std::move(read)};
}

GuardTerm calledWith(const char* function, const GuardTerm& of) {
    return {fmt::format("{}({})", function, of.text),
            composed(Written::Call, function, {of.expression})};
}

/// Names that `where` may say: not those of inlined patterns and of instances.
std::vector<Named> Terms::named() const {
    std::vector<Named> out;
    for (SlotIndex slot = 0; slot < m_rule.slots.size(); ++slot) {
        const Slot& each = m_rule.slots[slot];
        if (each.isList || each.name.empty() || each.name.find('.') != std::string::npos)
            continue;
        Named named{slot, each.name};
        for (const Term& term : m_rule.terms) {
            if (term.slot != slot)
                continue;
            if (term.kind == Term::Kind::Node && term.ops.size() == 1 && term.custom.empty())
                named.node = &term;
            if (term.kind == Term::Kind::Value && term.type) {
                named.isConst = named.isConst || term.type->isConst;
                named.isScalar = named.isScalar || term.type->isScalar;
                named.hasDims = named.hasDims || term.type->dims;
            }
        }
        out.push_back(std::move(named));
    }
    return out;
}

/// "C == w.shape[1]": dimensions of other operands that are often one.
void Terms::ofDims(const Named& name) {
    constexpr int64_t mostAxes = 4;
    for (uint32_t dim = 0; dim < m_rule.dims.size(); ++dim)
        for (int64_t axis = 0; axis < mostAxes; ++axis) {
            Expression index;
            index.kind = Written::Number;
            index.number = static_cast<double>(axis);
            index.isInteger = true;
            const GuardTerm shape = memberOf(name, "shape");
            const GuardTerm of{fmt::format("{}[{}]", shape.text, axis),
                               composed(Written::Index, "", {shape.expression, std::move(index)})};
            compared(dimension(dim), "==", of);
        }
}

/// "x.dtype in {...}", of two sets that rules tell apart: floats, and what has negative numbers.
void Terms::ofType(const Named& name) {
    const GuardTerm dtype = memberOf(name, "dtype");
    const std::vector<DType> floats{DType::Float32, DType::Float16, DType::BFloat16,
                                    DType::Float64},
        whole{DType::Int8, DType::Int16, DType::Int32, DType::Int64};
    for (const bool withWhole : {false, true}) {
        std::vector<DType> types = floats;
        if (withWhole)
            types.insert(types.end(), whole.begin(), whole.end());
        Expression set = composed(Written::List, "", {});
        std::string words;
        for (const DType type : types) {
            set.args.push_back(composed(Written::Text, std::string(nameOf(type)), {}));
            words += fmt::format("{}\"{}\"", words.empty() ? "" : ", ", nameOf(type));
        }
        m_out.push_back({fmt::format("{} in {{{}}}", dtype.text, words),
                         composed(Written::Binary, "in", {dtype.expression, std::move(set)}),
                         GuardTerm::Kind::Truth});
    }
}

void Terms::ofValue(const Named& name) {
    const GuardTerm rank = memberOf(name, "rank");
    number(rank.text, rank.expression);
    ofType(name);
    if (!name.isConst)
        return;
    const GuardTerm value = memberOf(name, "value");
    if (name.isScalar) {
        number(value.text, value.expression);
        return;
    }
    for (const char* end : {"min", "max"}) {
        const GuardTerm of = calledWith(end, value);
        number(of.text, of.expression);
    }
    m_out.push_back({fmt::format("is_splat({})", name.name),
                     composed(Written::Call, "is_splat", {slotOf(name.slot, name.name)}),
                     GuardTerm::Kind::Truth});
}

void Terms::ofNode(const Named& name) {
    for (const AttributeSchema& schema : attributesOf(name.node->ops[0])) {
        const GuardTerm read = attributeOf(name, schema.name);
        if (schema.type == "int" || schema.type == "float")
            number(read.text, read.expression);
        if (schema.type == "ints")
            for (const char* end : {"min", "max"}) {
                const GuardTerm of = calledWith(end, read);
                number(of.text, of.expression);
            }
    }
}

void Terms::ofPair(const Named& a, const Named& b) {
    if (a.node && b.node) {
        for (const AttributeSchema& schema : attributesOf(a.node->ops[0])) {
            const auto& others = attributesOf(b.node->ops[0]);
            const bool both =
                std::any_of(others.begin(), others.end(), [&](const AttributeSchema& other) {
                    return other.name == schema.name && other.type == schema.type;
                });
            if (both)
                compared(attributeOf(a, schema.name), "==", attributeOf(b, schema.name));
        }
        return;
    }
    if (a.node || b.node)
        return;
    compared(memberOf(a, "shape"), "==", memberOf(b, "shape"));
    if (a.isConst && b.isConst && a.isScalar && b.isScalar)
        for (const char* comparison : {"<=", ">=", "=="})
            if (!areBounds(a.slot, b.slot))
                compared(memberOf(a, "value"), comparison, memberOf(b, "value"));
}

/// Both ends of one Clip: out of order they make it a constant, which is no condition to offer.
bool Terms::areBounds(SlotIndex a, SlotIndex b) const {
    auto reads = [&](const Argument& argument, SlotIndex slot) {
        return m_rule.term(argument.term).slot == slot;
    };
    return std::any_of(m_rule.terms.begin(), m_rule.terms.end(), [&](const Term& term) {
        const bool isClip = term.kind == Term::Kind::Node && term.ops == std::vector{Op::Clip} &&
                            term.arguments.size() == 3;
        return isClip && reads(term.arguments[1], a) && reads(term.arguments[2], b);
    });
}

std::vector<GuardTerm> Terms::all() {
    for (uint32_t dim = 0; dim < m_rule.dims.size(); ++dim)
        number(m_rule.dims[dim], dimension(dim).expression);
    const std::vector<Named> names = named();
    for (const Named& name : names)
        if (!name.node && !name.hasDims)
            ofDims(name);
    for (size_t i = 0; i < names.size(); ++i) {
        names[i].node ? ofNode(names[i]) : ofValue(names[i]);
        for (size_t j = i + 1; j < names.size(); ++j)
            ofPair(names[i], names[j]);
    }
    return std::move(m_out);
}

} // namespace

std::vector<GuardTerm> guardTerms(const Rule& rule) {
    std::vector<GuardTerm> out = Terms(rule).all();
    for (GuardTerm& term : out)
        term.readsContents = term.text.find(".value") != std::string::npos ||
                             term.text.find("is_splat(") != std::string::npos;
    return out;
}

} // namespace fuselage::app
