// SPDX-License-Identifier: Apache-2.0
// What subcommands that rewrite a model without running it start from. Reads files only.
#pragma once

#include "app/cli/common_options.h"
#include "app/pipeline/model.h"

namespace fuselage::cli {

struct RewriteInput {
    app::RuleLibrary library;
    app::LoadedModel model; ///< its dimensions stay symbolic: --dim only helps decisions
};

/// Finishes the options, loads rules and model; every --dim must name a symbol of the model.
Result<RewriteInput> openForRewrite(const std::string& model, RewriteOptions& options,
                                    Progress& progress);

} // namespace fuselage::cli
