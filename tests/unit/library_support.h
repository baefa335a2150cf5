// SPDX-License-Identifier: Apache-2.0
// Rule libraries for tests: the standard one, and one of a test's own text.
#pragma once

#include "app/pipeline/rules.h"

#include <gtest/gtest.h>

namespace fuselage::testing_rules {

inline const app::RuleLibrary& standardLibrary() {
    static const app::RuleLibrary library = std::move(*app::requireRuleLibrary({}));
    return library;
}

/// `text`: rules without the line of the version.
inline app::RuleLibrary libraryOf(const std::string& text) {
    app::RuleOptions options;
    options.builtin = false;
    options.texts = {{"r.fuse", "fuse 1;\n" + text + "\n"}};
    auto library = app::requireRuleLibrary(options);
    EXPECT_TRUE(library) << (library ? "" : library.error().text());
    return std::move(*library);
}

} // namespace fuselage::testing_rules
