// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/selection.h"

#include "app/pipeline/pair_effects.h"
#include "core/graph/bodies.h"
#include "core/passes/node_choice.h"
#include "core/support/wildcard.h"

#include <algorithm>
#include <optional>

namespace fuselage::quantize {

namespace {

constexpr const char* kinds[] = {"rule:", "point:", "op:", "node:"}; ///< begin texts of --skip

/// One text of --skip.
struct Skip {
    std::string kind, name;          ///< "rule" or "point"
    std::optional<NodeChoice> nodes; ///< else
};

Result<Skip> parse(const std::string& text) {
    for (const char* kind : {"rule", "point"})
        if (const std::string begin = std::string(kind) + ":";
            text.starts_with(begin) && text.size() > begin.size())
            return Skip{kind, text.substr(begin.size()), {}};
    const Failure nothing =
        failure("usage.skip", "`" + text + "` says nothing to leave out", "--skip",
                "rule:NAME, point:NAME, op:OPERATOR, 'op:Conv group>1' or node:NAME");
    if (!text.starts_with("op:") && !text.starts_with("node:"))
        return nothing;
    auto nodes = NodeChoice::parse(text);
    if (!nodes)
        return nothing;
    return Skip{{}, {}, std::move(*nodes)};
}

/// The place's reader, or what reads it through nodes that only move elements.
bool namesReader(const NodeChoice& choice, const Place& place) {
    for (NodeId id = place.read.node;;) {
        Node named = place.graph->node(id);
        named.name = place.body + named.name;
        if (choice.names(named))
            return true;
        if (!movesOnly(named.op))
            return false;
        const auto& uses = place.graph->value(named.outputs[0]).uses;
        if (uses.size() != 1)
            return false;
        id = uses[0].node;
    }
}

bool names(const Skip& skip, const Place& place) {
    if (skip.nodes)
        return namesReader(*skip.nodes, place);
    return fitsWildcard(skip.name, skip.kind == "rule" ? place.rule : place.point);
}

/// Moves the places that `test` names; how many.
template <typename Test> size_t moveOut(Placement& placement, const std::string& why, Test test) {
    size_t moved = 0;
    std::erase_if(placement.places, [&](const Place& place) {
        if (!test(place))
            return false;
        placement.leftOut.push_back({place.rule, place.point, place.valuePath(), why});
        ++moved;
        return true;
    });
    return moved;
}

Failure noSuchNode(const std::string& name) {
    const bool isChoice = name.find('*') != std::string::npos ||
                          std::any_of(std::begin(kinds), std::end(kinds),
                                      [&](const char* kind) { return name.starts_with(kind); });
    return failure("usage.node", "the model has no node `" + name + "`", "--keep-float",
                   isChoice ? "--keep-float takes the name of one node; --skip '" + name +
                                  "' leaves out all that this names"
                            : "`fuselage inspect MODEL --graph` lists them");
}

} // namespace

Result<void> leaveOut(const std::vector<std::string>& texts, Placement& placement) {
    const std::vector<Place> asked = placement.places;
    for (const std::string& text : texts) {
        auto skip = parse(text);
        if (!skip)
            return failure(skip.error());
        auto test = [&](const Place& place) { return names(*skip, place); };
        moveOut(placement, "--skip " + text, test);
        if (std::none_of(asked.begin(), asked.end(), test))
            return failure("usage.skip", "`" + text + "` names nothing that a rule asks for",
                           "--skip",
                           "`fuselage quantize --plan-out -.txt` lists what rules ask for");
    }
    return {};
}

Result<void> keepFloat(const Graph& model, const std::vector<std::string>& nodes,
                       Placement& placement) {
    for (const std::string& name : nodes) {
        if (!findByPath(model, name).graph)
            return noSuchNode(name);
        moveOut(placement, "--keep-float " + name,
                [&](const Place& place) { return place.nodePath() == name; });
    }
    return {};
}

void leaveUnopened(Placement& placement) {
    for (const char* reader : {"ConvTranspose", "a product of two computed values"})
        moveOut(placement,
                std::string("no kernel here computes ") + reader +
                    " in integers; --everywhere stores its values all the same",
                [&](const Place& place) {
                    if (place.graph->isConstant(place.value))
                        return false;
                    const auto found = app::floatOnlyReader(*place.graph, place.read.node);
                    return found && std::string_view(found->what) == reader;
                });
}

} // namespace fuselage::quantize
