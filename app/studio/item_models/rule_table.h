// SPDX-License-Identifier: Apache-2.0
// All rules that are loaded, with what they did in this model, and a box that switches one off.
#pragma once

#include "app/pipeline/report.h"
#include "app/pipeline/rules.h"
#include "app/studio/item_models/row_table.h"

namespace fuselage::studio {

struct RuleRow {
    QString name, phase, file;
    int line = 0;
    bool on = true;
    size_t matches = 0, nearMisses = 0;
    int64_t launches = 0, bytes = 0; ///< saved
    double seconds = 0;              ///< saved: measured where all of it was, else predicted
    bool measured = false;
    QStringList nodes; ///< of the model, that it fused
};

using RuleTable = RowTable<RuleRow>;

/// `change` is called when a person checks a box or takes the check away.
RuleTable* makeRuleTable(QObject* parent, std::function<void(const RuleRow&, bool on)> change);

/// In the order in which they were loaded, those that are left out at the end.
std::vector<RuleRow> ruleRows(const app::Report& report, const app::RuleLibrary& library);

} // namespace fuselage::studio
