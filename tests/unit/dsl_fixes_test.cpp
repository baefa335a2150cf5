// SPDX-License-Identifier: Apache-2.0
// Quick fixes of mistakes in the syntax: what the advice says, made, leaves a text that reads as it
// was meant.
#include "dsl/service/service.h"
#include "dsl/tokens.h"
#include "patterns/embedded.h"
#include "tests/support/standard_import.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace fuselage::dsl {
namespace {

/// The text after the first quick fix there is; empty: there is none.
std::string fixed(const std::string& text) {
    LanguageService service(testing_support::standardImport, {});
    service.set("a.fuse", text);
    const auto actions = service.actions("a.fuse", 0, static_cast<uint32_t>(text.size()));
    if (actions.empty())
        return {};
    std::string out = text;
    const TextEdit& edit = actions[0].edits.at(0);
    out.replace(edit.place.begin, edit.place.end - edit.place.begin, edit.text);
    return out;
}

TEST(Fixes, adviceAboutMarksIsMade) {
    const std::string head = "fuse 1;\n";
    EXPECT_EQ(fixed(head + "rule R { match { y = Relu(x; } }"),
              head + "rule R { match { y = Relu(x); } }");
    EXPECT_EQ(fixed(head + "rule R { match { y = Relu(x) } }"),
              head + "rule R { match { y = Relu(x); } }");
    EXPECT_EQ(fixed(head + "rule R { match {\n  y = Relu(x)  // why\n  where x.rank == 2; } }"),
              head + "rule R { match {\n  y = Relu(x);  // why\n  where x.rank == 2; } }");
    EXPECT_EQ(fixed(head + "rule R { match { y = Relu(x: [N]); where N = 3; } }"),
              head + "rule R { match { y = Relu(x: [N]); where N == 3; } }");
    EXPECT_EQ(fixed("rule R { match { y = Relu(x); } }"),
              head + "rule R { match { y = Relu(x); } }");
    // A sentence is no edit.
    EXPECT_EQ(fixed(head + "rule R { match { } }"), "");
}

/// Every mark of the library taken away in turn: a fix that is offered leaves fewer mistakes.
TEST(Fixes, aFixThatIsOfferedMendsWhatItSays) {
    size_t taken = 0, mended = 0;
    const std::string text(*embeddedPattern("std/blocks"));
    for (const Token& token : tokenize(text)) {
        const std::string_view mark = textOf(token, text);
        if (mark != ")" && mark != ";" && mark != "]")
            continue;
        if (++taken % 8 != 0)
            continue;
        std::string without = text;
        without.erase(token.begin, mark.size());
        const std::string after = fixed(without);
        if (after.empty())
            continue;
        LanguageService service(testing_support::standardImport, {});
        service.set("a.fuse", without);
        const size_t mistakes = service.diagnose("a.fuse").size();
        service.set("a.fuse", after);
        EXPECT_LT(service.diagnose("a.fuse").size(), mistakes) << after;
        mended += service.diagnose("a.fuse").empty() ? 1 : 0;
    }
    std::printf("%zu of %zu are mended\n", mended, taken / 8);
    EXPECT_GT(mended * 2, taken / 8) << "more than half are mended by one fix";
}

} // namespace
} // namespace fuselage::dsl
