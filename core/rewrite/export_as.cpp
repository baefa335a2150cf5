// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/export_as.h"

#include "core/rewrite/custom_body.h"
#include "core/rewrite/evaluate.h"
#include "core/rewrite/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace fuselage {

namespace {

bool isIn(const std::vector<ValueId>& values, ValueId value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

bool isMadeBy(const Graph& graph, const Match& match, ValueId value) {
    return std::find(match.nodes.begin(), match.nodes.end(), graph.producer(value)) !=
           match.nodes.end();
}

/// What the rule names and the match does not make, in the order of the rule's names.
std::vector<ValueId> namedOutside(const Graph& graph, const Match& match) {
    std::vector<ValueId> out;
    for (size_t i = 0; i < match.slots.size(); ++i)
        if (match.rule->slots[i].name.find('.') == std::string::npos) // of the rule itself
            match.slots[i].collect(out);
    std::erase_if(out, [&](ValueId value) { return isMadeBy(graph, match, value); });
    return out;
}

Reason misfit(std::string message, std::string flip) {
    return {code::operands, std::move(message), std::move(flip), {}};
}

std::variant<std::vector<ValueId>, Reason> listed(const Graph& graph, const Match& match,
                                                  const Cut& cut) {
    std::vector<ValueId> out;
    std::string absent;
    for (SlotIndex slot : match.rule->exportAs->operands) {
        const std::string& name = match.rule->slots[slot].name;
        const size_t before = out.size();
        match.slots[slot].collect(out);
        if (out.size() == before)
            absent = name;
        else if (!absent.empty())
            return misfit(fmt::format("`as` lists `{}` behind `{}`, which is absent", name, absent),
                          fmt::format("list `{}` last", absent));
        for (size_t i = before; i < out.size(); ++i)
            if (isMadeBy(graph, match, out[i]))
                return misfit(fmt::format("`as` lists `{}`, and the match itself makes {}", name,
                                          graph.value(out[i]).name),
                              fmt::format("leave `{}` out of `as`", name));
    }
    for (ValueId input : cut.inputs)
        if (!isIn(out, input))
            return misfit(fmt::format("the match reads {}, and `as` lists no operand that it is",
                                      graph.value(input).name),
                          "give that operand a name in `match` and list it in `as`");
    return out;
}

/// None where an input has no name.
std::vector<ValueId> named(const Graph& graph, const Match& match, const Cut& cut) {
    const CustomOperator& custom = *match.rule->exportAs->custom;
    const std::vector<ValueId> all = namedOutside(graph, match);
    if (!std::all_of(cut.inputs.begin(), cut.inputs.end(),
                     [&](ValueId input) { return isIn(all, input); }))
        return {};
    std::vector<ValueId> out;
    std::copy_if(all.begin(), all.end(), std::back_inserter(out),
                 [&](ValueId value) { return isIn(cut.inputs, value); });
    const bool needsConstants =
        custom.isKnown && out.size() < custom.minInputs && all.size() <= custom.maxInputs;
    return needsConstants ? all : out;
}

} // namespace

Result<Attributes> exportedAttributes(const Graph& graph, const Match& match) {
    if (!match.rule->exportAs)
        return Attributes();
    const EvaluateContext context{graph, *match.rule, match.slots, match.dims, &match.regions};
    NamedQuantities given;
    for (const NamedExpression& attribute : match.rule->exportAs->attributes)
        given.emplace_back(attribute.name, evaluate(context, attribute.value));
    return customAttributes(graph, *match.rule->exportAs->custom, given);
}

std::variant<std::vector<ValueId>, Reason> exportedOperands(const Graph& graph, const Match& match,
                                                            const Cut& cut) {
    if (!match.rule->exportAs->operands.empty())
        return listed(graph, match, cut);
    return named(graph, match, cut);
}

} // namespace fuselage
