// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/lint/lint.h"

#include "app/pipeline/lint/lint_internal.h"
#include "dsl/lint.h"

namespace fuselage::app {

namespace {

struct Family {
    const char* stage;
    void (*run)(LintContext&);
};

constexpr Family families[] = {
    {"shadowed rules", lintShadowed}, {"alternatives", lintAlternatives},
    {"overlaps", lintOverlaps},       {"types of rewrites", lintRewriteTypes},
    {"termination", lintTermination},
};

} // namespace

Result<Diagnostics> lintRules(const RuleLibrary& library, const LintOptions& options,
                              Progress& progress) {
    Diagnostics out;
    if (options.strict)
        out = dsl::lint(library.loaded);
    // Rules that contradict themselves match no graph: there is nothing to try.
    LintContext context(library, progress, out);
    size_t done = 0;
    for (const Family& family : families) {
        progress.report(family.stage, done++, std::size(families));
        if (options.strict)
            family.run(context);
        if (progress.cancelled())
            return cancelledFailure("lints");
    }
    if (auto models = lintModels(context, options); !models)
        return failure(models.error());
    out.sort();
    return out;
}

} // namespace fuselage::app
