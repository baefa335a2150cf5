// SPDX-License-Identifier: Apache-2.0
#include "dsl/lint.h"

namespace fuselage::dsl {

Diagnostics lintImpossible(const LoadedRules& loaded) {
    Diagnostics out;
    lintSchema(loaded, out);
    lintContradictions(loaded, out);
    out.sort();
    return out;
}

Diagnostics lint(const LoadedRules& loaded) {
    Diagnostics out = lintImpossible(loaded);
    lintReplaced(loaded, out);
    lintPhases(loaded, out);
    lintBudget(loaded, out);
    lintTests(loaded, out);
    out.sort();
    return out;
}

Diagnostics lintFile(const LoadedRules& loaded, const std::string& file) {
    LoadedRules part;
    part.rules.pipelines = loaded.rules.pipelines;
    for (const Rule& rule : loaded.rules.rules)
        if (rule.file == file)
            part.rules.rules.push_back(rule);
    for (const Rule& form : loaded.forms)
        if (form.file == file)
            part.forms.push_back(form);
    Diagnostics out = lintImpossible(part);
    lintReplaced(part, out);
    lintPhases(part, out);
    out.sort();
    return out;
}

} // namespace fuselage::dsl
