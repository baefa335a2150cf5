// SPDX-License-Identifier: Apache-2.0
#include "app/cli/rewrite_input.h"

namespace fuselage::cli {

Result<RewriteInput> openForRewrite(const std::string& model, RewriteOptions& options,
                                    Progress& progress) {
    if (auto ready = finish(options); !ready)
        return failure(ready.error());
    auto library = app::requireRuleLibrary(options.rules);
    if (!library)
        return failure(library.error());
    auto loaded = app::loadModel(model, {}, progress);
    if (!loaded)
        return failure(loaded.error());
    if (auto known = app::requireDimensions(loaded->graph, options.fuse.dims); !known)
        return failure(known.error());
    return RewriteInput{std::move(*library), std::move(*loaded)};
}

} // namespace fuselage::cli
