// SPDX-License-Identifier: Apache-2.0
#include "app/cli/rewrite_input.h"

#include "app/pipeline/precision_rules.h"

namespace fuselage::cli {

Result<RewriteInput> openForRewrite(const std::string& model, RewriteOptions& options,
                                    Progress& progress, const std::string& inputs) {
    if (auto ready = finish(options); !ready)
        return failure(ready.error());
    auto library = app::requireRuleLibrary(options.rules);
    if (!library)
        return failure(library.error());
    app::ModelRequest request{model, options.fuse.dims, inputs};
    request.keepSymbols = true;
    app::readFor(*library, options.fuse.pipeline, request);
    auto loaded = app::loadModel(request, progress);
    if (!loaded)
        return failure(loaded.error());
    options.fuse.dims = loaded->dims;
    app::enterDeclared(*loaded, *library);
    if (auto found = app::lookUpRules(*loaded, *library, options.fuse, progress); !found)
        return failure(found.error());
    return RewriteInput{std::move(*library), std::move(*loaded)};
}

} // namespace fuselage::cli
