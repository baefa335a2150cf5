// SPDX-License-Identifier: Apache-2.0
// Where a quantiser puts pairs in the networks of the zoo, by rule and point, and what is left when
// a person leaves something out.
#include "app/quantize/fold_norm.h"
#include "app/quantize/selection.h"
#include "app/zoo/zoo.h"
#include "core/passes/passes.h"
#include "tests/counts/checks.h"
#include "tests/counts/tables.h"

#include <fmt/format.h>

#include <memory>

namespace fuselage::counts {

namespace {

CountTable countsOf(const quantize::Placement& placement) {
    CountTable out;
    for (const quantize::Place& place : placement.places)
        ++out[place.rule + " " + place.point];
    return out;
}

/// The model as it is quantised, and what its rules ask for.
struct Asked {
    std::unique_ptr<const Graph> model; ///< places refer to it
    quantize::Placement placement;
};

std::optional<Asked> askedOf(const std::string& name, const app::RuleLibrary& library) {
    auto graph = zoo::build(name);
    Progress progress;
    app::FuseOptions options;
    options.decide = Decide::Rules;
    if (!graph || !prepareGraph(*graph, progress))
        return std::nullopt;
    quantize::foldNormalisation(*graph);
    auto model = std::make_unique<const Graph>(std::move(*graph));
    auto fused = app::fuseGraph(*model, library, options, progress);
    if (!fused)
        return std::nullopt;
    quantize::Placement placement = quantize::placesOf(*model, fused->trace);
    return Asked{std::move(model), std::move(placement)};
}

int checkNetwork(const std::string& name, const toml::table& entry,
                 const app::RuleLibrary& library) {
    auto asked = askedOf(name, library);
    if (!asked) {
        fmt::print("FAILED {}: it cannot be fused\n", name);
        return 1;
    }
    const CountTable expected = tableOf(entry);
    int wrong = differs(name, expected, countsOf(asked->placement)) ? 1 : 0;
    for (const auto& [key, value] : entry) {
        const toml::table* changed = value.as_table();
        if (!changed)
            continue;
        const std::string skip(key.str());
        quantize::Placement left = asked->placement;
        if (auto done = quantize::leaveOut({skip}, left); !done) {
            fmt::print("FAILED {}: {}\n", name, done.error().text());
            ++wrong;
            continue;
        }
        wrong +=
            differs(name + ", --skip " + skip, tableOf(*changed, expected), countsOf(left)) ? 1 : 0;
    }
    return wrong;
}

} // namespace

int checkPoints(const std::string& tables) {
    const app::RuleLibrary library = builtinRules();
    int wrong = 0;
    size_t checked = 0;
    for (const auto& [key, entry] : parsed(tables)) {
        if (!entry.is_table())
            continue;
        wrong += checkNetwork(std::string(key.str()), *entry.as_table(), library);
        ++checked;
    }
    return checked == 0 ? 1 : wrong;
}

} // namespace fuselage::counts
