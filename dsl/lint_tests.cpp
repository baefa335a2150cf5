// SPDX-License-Identifier: Apache-2.0
#include "dsl/lint.h"

namespace fuselage::dsl {

void lintTests(const LoadedRules& loaded, Diagnostics& out) {
    for (const Rule& rule : loaded.rules.rules) {
        bool fires = false, refuses = false;
        for (const RuleTest& test : loaded.tests) {
            if (test.rule != rule.name || test.file != rule.file)
                continue;
            fires = fires || test.fires.value_or(0) > 0;
            refuses = refuses || test.fires == 0U || !test.misses.empty();
        }
        if (fires && refuses)
            continue;
        Diagnostic& d = out.warning("W0502", rule.span,
                                    "rule `" + rule.name + "` has no test in which it " +
                                        (fires     ? "must not fire"
                                         : refuses ? "fires"
                                                   : "fires, and none in which it must not"));
        d.fix = fires ? "add a test with `expect fires 0;` or `expect miss CODE;`"
                      : "add a test with `expect fires 1;`";
    }
}

} // namespace fuselage::dsl
