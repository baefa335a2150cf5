// SPDX-License-Identifier: Apache-2.0
// matchKey: one overload a struct of a compiled rule names the members that matching reads.
#include "core/rewrite/match_cache.h"

#include <type_traits>

namespace fuselage {

namespace {

class KeyWriter {
public:
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

    void put(TermId id) { put(id.valid() ? id.index() : ~0U); }

    void put(const Expression& it) {
        put(it.kind, it.isInteger, it.number, it.slot, it.op, it.text, it.args, it.named);
    }

    void put(const NamedExpression& it) { put(it.name, it.value); }

    void put(const DimPattern& it) { put(it.kind, it.variable, it.value); }

    void put(const TypePattern& it) {
        put(it.isConst, it.isScalar, it.isInput, it.dtypes, it.dims);
    }

    void put(const AttributeTest& it) { put(it.name, it.comparison, it.value, it.late); }

    void put(const Argument& it) { put(it.name, it.term); }

    void put(const Term::Alternative& it) { put(it.label, it.term); }

    void put(const Term& it) {
        put(it.kind, it.text, it.slot, it.mayBeAbsent, it.rest, it.type, it.number, it.tolerance,
            it.ops, it.byFunction, it.order, it.hasArguments, it.arguments, it.tests, it.least,
            it.most, it.maxOutputs, it.alternatives, it.step, it.source);
    }

    void put(const Definition& it) { put(it.slots, it.term); }

    void put(const Condition& it) { put(it.expression, it.when); }

    void put(const Many& it) { put(it.least, it.most, it.all, it.block, it.slots, it.dims); }

    void put(const Block& it) { put(it.definitions, it.conditions, it.manys, it.unless, it.when); }

    void put(const Slot& it) { put(it.name, it.isList); }

    void put(const Let& it) { put(it.name, it.expression); }

    void put(const Escape& it) { put(it.slots, it.policy, it.condition); }

    /// Which values a rewrite replaces; not by what.
    void put(const Assignment& it) { put(it.targets, it.isList); }

    void put(const Rule& it) {
        put(it.name, it.terms, it.match, it.slots, it.dims, it.lets, it.isRewrite, it.rewrite,
            it.escapes, it.minOpset, it.maxOpset);
    }

    std::string take() { return std::move(m_out); }

private:
    std::string m_out;
};

} // namespace

std::string matchKey(const Rule& rule) {
    KeyWriter writer;
    writer.put(rule);
    return writer.take();
}

} // namespace fuselage
