// SPDX-License-Identifier: Apache-2.0
#include "app/report/rule_totals.h"

namespace fuselage::app {

Saved savedInAll(const Report& report) {
    const RunFigures before = report.before.asRun(), after = report.after.asRun();
    return {before.launches - after.launches, before.logicalBytes - after.logicalBytes};
}

Saved savedBesideRules(const Report& report) {
    Saved out = savedInAll(report);
    for (const RuleReport& rule : report.rules) {
        out.launches -= rule.launchesSaved;
        out.bytes -= rule.bytesSaved;
    }
    return out;
}

} // namespace fuselage::app
