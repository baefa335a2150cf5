// SPDX-License-Identifier: Apache-2.0
// Keys of rules: one overload a struct of a compiled rule names the members that matching reads;
// the other keys add what is done with a match, and places in the text.
#include "core/rewrite/match_cache.h"

#include <set>
#include <type_traits>

namespace fuselage {

namespace {

class KeyWriter {
public:
    enum class Scope : uint8_t { Match, Meaning, Whole };

    explicit KeyWriter(Scope scope)
        : m_whole(scope == Scope::Whole), m_rewrites(scope != Scope::Match) {}

    template <typename... Members>
    void put(const Members&... members) requires(sizeof...(Members) > 1) {
        (put(members), ...);
    }

    void put(const std::string& text) {
        // With its length, so that no text can look like what stands around it.
        put(text.size());
        m_out += text;
    }

    template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
    void put(T value) { m_out.append(reinterpret_cast<const char*>(&value), sizeof(value)); }

    template <typename T> void put(const std::optional<T>& value) {
        put(value.has_value());
        if (value)
            put(*value);
    }

    template <typename T> void put(const std::vector<T>& list) {
        put(list.size());
        for (const T& element : list)
            put(element);
    }

    void put(const Span& span) {
        if (m_whole)
            put(span.source, span.begin, span.end);
    }

    void put(TermId id) { put(id.valid() ? id.index() : ~0U); }

    void put(const Expression& it) {
        put(it.kind, it.isInteger, it.number, it.slot, it.op, it.custom, it.text, it.args, it.named,
            it.span);
    }

    void put(const CustomOperatorPtr& it) {
        put(it != nullptr);
        if (!it)
            return;
        put(it->domain, it->name, it->inputs);
        // What is built of it, once: its body names the operator again.
        if (m_rewrites && it->body && m_bodies.insert(it.get()).second)
            put(*it->body);
    }

    void put(const ExportAs& it) { put(it.custom, it.operands, it.attributes, it.span); }

    void put(const NamedExpression& it) { put(it.name, it.value); }

    void put(const DimPattern& it) { put(it.kind, it.variable, it.value, it.span); }

    void put(const TypePattern& it) {
        put(it.isConst, it.isScalar, it.isInput, it.dtypes, it.dims, it.span);
    }

    void put(const AttributeTest& it) { put(it.name, it.comparison, it.value, it.late, it.span); }

    void put(const Argument& it) { put(it.name, it.term); }

    void put(const Term::Alternative& it) { put(it.label, it.term, it.span); }

    void put(const Term& it) {
        put(it.kind, it.text, it.slot, it.mayBeAbsent, it.rest, it.type, it.number, it.tolerance,
            it.ops, it.custom, it.order, it.hasArguments, it.arguments, it.tests, it.least, it.most,
            it.maxOutputs, it.alternatives, it.step, it.source, it.span);
    }

    void put(const Definition& it) { put(it.slots, it.term, it.span); }

    void put(const Condition& it) { put(it.expression, it.when, it.span); }

    void put(const Many& it) {
        put(it.least, it.most, it.all, it.block, it.slots, it.dims, it.span);
    }

    void put(const Block& it) {
        put(it.definitions, it.conditions, it.manys, it.unless, it.when, it.span);
    }

    void put(const Slot& it) { put(it.name, it.isList, it.span); }

    void put(const Let& it) { put(it.name, it.expression); }

    void put(const Escape& it) { put(it.slots, it.policy, it.condition, it.span); }

    void put(const QdqPoint& it) { put(it.name, it.slot, it.axis, it.condition, it.line); }

    void put(const Gate& it) { put(it.kind, it.condition, it.measured); }

    /// Which values a rewrite replaces; by what does not matter to matching.
    void put(const Assignment& it) {
        put(it.targets, it.isList);
        if (m_rewrites)
            put(it.value, it.span);
    }

    void put(const Rule& it) {
        if (m_whole || !m_rewrites)
            put(it.name);
        put(it.terms, it.match, it.slots, it.dims, it.lets, it.isRewrite, it.rewrite, it.escapes,
            it.minOpset, it.maxOpset);
        if (m_whole)
            put(it.phase, it.priority, it.once, it.gate, it.numeric, it.qdq, it.exportAs, it.span,
                it.file, it.line);
    }

    std::string take() { return std::move(m_out); }

private:
    bool m_whole;
    bool m_rewrites;
    std::set<const CustomOperator*> m_bodies; ///< that were put
    std::string m_out;
};

} // namespace

std::string matchKey(const Rule& rule) {
    KeyWriter writer(KeyWriter::Scope::Match);
    writer.put(rule);
    return writer.take();
}

std::string meaningKey(const Rule& rule) {
    KeyWriter writer(KeyWriter::Scope::Meaning);
    writer.put(rule);
    return writer.take();
}

std::string wholeKey(const Rule& rule) {
    KeyWriter writer(KeyWriter::Scope::Whole);
    writer.put(rule);
    return writer.take();
}

} // namespace fuselage
