// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/unsampled.h"

#include "app/pipeline/prove/attribute_samples.h"
#include "app/pipeline/prove/open_types.h"
#include "core/graph/text.h"
#include "core/ops/op_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fuselage::app {

namespace {

constexpr size_t mostRank = 6; ///< that the generator makes

/// A value whose rank the rule leaves open.
bool hasOpenRank(const Term& term) {
    if (term.kind != Term::Kind::Value && term.kind != Term::Kind::Any)
        return false;
    if (!term.type || !term.type->dims)
        return !term.type || !term.type->isScalar;
    return std::any_of(term.type->dims->begin(), term.type->dims->end(),
                       [](const DimPattern& dim) { return dim.kind == DimPattern::Kind::Rest; });
}

/// Terms that stand for one value: "v?" again is what it was, so one of them decides.
std::vector<size_t> placesOf(const Rule& rule, size_t at) {
    const Term& term = rule.terms[at];
    std::vector<size_t> out = {at};
    for (size_t other = 0; other < rule.terms.size(); ++other)
        if (other != at && term.kind == Term::Kind::Value && term.slot &&
            rule.terms[other].kind == Term::Kind::Value && rule.terms[other].slot == term.slot)
            out.push_back(other);
    return out;
}

void listTypesAndShapes(const Rule& rule, const Met& met, std::vector<std::string>& out) {
    std::vector<std::string> types, ranks;
    const bool isTyped = std::any_of(rule.terms.begin(), rule.terms.end(), [](const Term& term) {
        return term.type && !term.type->dtypes.empty(); // the operands beside it have that type
    });
    for (DType type : isTyped ? std::vector<DType>() : openTypes(rule))
        if (!met.types.contains(type))
            types.emplace_back(nameOf(type));
    if (!types.empty())
        out.push_back(fmt::format("inputs of {}", fmt::join(types, ", ")));
    const bool isOpen = std::any_of(rule.terms.begin(), rule.terms.end(), hasOpenRank);
    for (size_t rank = 0; isOpen && rank <= mostRank; ++rank)
        if (!met.ranks.contains(rank))
            ranks.push_back(std::to_string(rank));
    if (!ranks.empty())
        out.push_back(fmt::format("inputs of rank {}", fmt::join(ranks, ", ")));
    if (!met.hasEmpty)
        out.emplace_back("a dimension of 0");
}

/// Values of attributes that the rule leaves open, of operators that were met.
void listAttributes(const Rule& rule, const Met& met, std::vector<std::string>& out) {
    std::set<std::string> seen;
    for (const Term& term : rule.terms)
        for (Op op : term.ops)
            for (const AttributeSchema& schema : attributesOf(op)) {
                const std::string name = fmt::format("{}[{}]", rowOf(op).name, schema.name);
                const auto found = met.attributes.find(name);
                if (found == met.attributes.end() || !seen.insert(name).second)
                    continue;
                for (const AttributeValue& value : allValuesOf(op, schema))
                    if (!found->second.contains(text(value)))
                        out.push_back(fmt::format("{} = {}", name, text(value)));
            }
}

} // namespace

void note(Met& met, const std::vector<PairCoverage::Taken>& taken, const Sample& sample) {
    for (const PairCoverage::Taken& each : taken)
        met.answers.emplace(each.point, each.answer);
    for (ValueId input : sample.graph.inputs()) {
        const Type& type = sample.graph.value(input).type;
        met.types.insert(type.dtype);
        met.ranks.insert(type.rank());
        met.hasEmpty = met.hasEmpty || type.elementCount() == 0;
    }
    for (ValueId output : sample.graph.outputs())
        met.hasResults =
            met.hasResults || sample.graph.value(output).type.elementCount() != int64_t(0);
    for (const auto& [name, value] : sample.facts.texts)
        if (isAttributeFact(name))
            met.attributes[name].insert(value);
}

std::vector<std::string> unsampled(const Rule& rule, const Met& met) {
    std::vector<std::string> out;
    for (size_t at = 0; at < rule.terms.size(); ++at) {
        const Term& term = rule.terms[at];
        auto isMet = [&](uint32_t answer) { return met.answers.contains({at, answer}); };
        const std::string text = term.text.empty() ? "a step" : "`" + term.text + "`";
        for (uint32_t i = 0; i < term.alternatives.size(); ++i) {
            const Term::Alternative& alternative = term.alternatives[i];
            const Term& taken = rule.term(alternative.term);
            if (!isMet(i))
                out.push_back(fmt::format("alternative {}, {}", i + 1,
                                          alternative.label.empty()
                                              ? taken.text.empty() ? text : "`" + taken.text + "`"
                                              : "`" + alternative.label + "`"));
        }
        const bool mayMiss = term.kind == Term::Kind::Optional || term.mayBeAbsent;
        const std::vector<size_t> places = placesOf(rule, at);
        const bool isFirst = *std::min_element(places.begin(), places.end()) == at;
        for (uint32_t answer = 0; mayMiss && isFirst && answer < 2; ++answer)
            if (std::none_of(places.begin(), places.end(), [&](size_t place) {
                    return met.answers.contains({place, answer});
                }))
                out.push_back((answer == 0 ? "without " : "with ") + text);
        const bool isClass = term.kind == Term::Kind::Node && term.ops.size() > 1;
        for (uint32_t i = 0; isClass && i < term.ops.size(); ++i)
            if (!isMet(i))
                out.push_back(fmt::format("{} for {}", rowOf(term.ops[i]).name, text));
    }
    listTypesAndShapes(rule, met, out);
    listAttributes(rule, met, out);
    if (rule.verify)
        for (const VerifySpec::Values& range : rule.verify->values)
            out.push_back(fmt::format("`{}` outside of {:g}..{:g}", rule.slots[range.slot].name,
                                      range.least, range.most));
    return out;
}

} // namespace fuselage::app
