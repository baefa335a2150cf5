// SPDX-License-Identifier: Apache-2.0
// The functions that expressions of rules may call: one row each. The language service lists the
// rows; functions of tensors fold constants and, in a rewrite, build nodes.
#pragma once

#include "core/rewrite/evaluate.h"

#include <span>
#include <string_view>

namespace fuselage {

struct FunctionCall {
    const EvaluateContext& context;
    const Quantity::List& arguments;
    const NamedQuantities& named;

    /// The argument at a position, or by name, or none.
    Quantity argument(size_t position, std::string_view name = {}) const;
};

struct FunctionRow {
    const char* name;
    const char* signature; ///< "concat(list, axis = 0)"
    const char* documentation;
    int minArguments; ///< positional ones
    int maxArguments;
    Quantity (*function)(const FunctionCall&);
};

/// All functions, sorted by name.
std::span<const FunctionRow> functionRows();

/// Null when there is none of that name.
const FunctionRow* findFunction(std::string_view name);

/// The rows as a table in Markdown, as it stands in dsl/README.md.
std::string functionsAsMarkdown();

Quantity callFunction(const EvaluateContext& context, const std::string& name,
                      const Quantity::List& arguments, const NamedQuantities& named);

} // namespace fuselage
