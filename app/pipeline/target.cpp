// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/target.h"

#include "core/support/text.h"
#include "patterns/embedded.h"

#include <algorithm>

namespace fuselage::app {

namespace {

constexpr std::string_view folder = "targets/";

} // namespace

std::vector<std::string> targetNames() {
    std::vector<std::string> out;
    for (const std::string_view path : embeddedPatternPaths())
        if (path.starts_with(folder))
            out.emplace_back(path.substr(folder.size()));
    return out;
}

Result<void> writeFor(const std::string& target, RuleOptions& rules, FuseOptions& fuse) {
    const std::string path = std::string(folder) + target;
    const auto text = embeddedPattern(path);
    if (!text)
        return failure("usage.target", "there are no rules for `" + target + "`", {},
                       "one of: " + joined(targetNames(), [](const auto& name) { return name; }));
    rules.texts.push_back({path, std::string(*text), path});
    fuse.pipeline = target;
    std::replace(fuse.pipeline.begin(), fuse.pipeline.end(), '-', '_');
    return {};
}

std::vector<std::string> targetsThatKeep(const std::string& operatorName) {
    std::vector<std::string> out;
    for (const std::string& target : targetNames()) {
        RuleOptions rules;
        FuseOptions fuse;
        if (!writeFor(target, rules, fuse))
            continue;
        const auto library = requireRuleLibrary(rules);
        if (library && namedOperators(*library, fuse.pipeline).contains(operatorName))
            out.push_back(target);
    }
    return out;
}

} // namespace fuselage::app
