// SPDX-License-Identifier: Apache-2.0
// What subcommands that rewrite a model without running it start from. Reads files only.
#pragma once

#include "app/cli/common_options.h"
#include "app/pipeline/model.h"

namespace fuselage::cli {

struct RewriteInput {
    app::RuleLibrary library;
    app::LoadedModel model; ///< its dimensions stay symbolic: sizes only help decisions
};

/// Finishes the options, loads rules and model; every --dim must name a symbol of the model.
/// `inputs`: a folder of input_N.pb whose sizes decisions are made for; empty: none.
Result<RewriteInput> openForRewrite(const std::string& model, RewriteOptions& options,
                                    Progress& progress, const std::string& inputs = {});

} // namespace fuselage::cli
