// SPDX-License-Identifier: Apache-2.0
// The bytes of a model file through every phase of the pipeline: load, prepare, fuse, plan, run,
// save. For tests of hostile input: each phase answers with a result or a coded error.
#pragma once

#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::testing_support {

/// What a file met on its way.
struct Passage {
    bool loaded = false;
    bool prepared = false;
    size_t runs = 0;           ///< that gave outputs
    std::vector<Error> errors; ///< of the phases that refused
};

struct PassageOptions {
    /// Integer inputs of further runs: each number fills all of them, so that kernels meet indices
    /// which no shape forbids.
    std::vector<int64_t> integers = {};
};

/// Fused by the standard library and, apart, one kernel a node.
Passage throughPipeline(const std::string& bytes, const PassageOptions& options = {});

/// The standard library, read once.
void loadStandardRules();

/// Text of the first error without a code or without words; empty when all are as they should be.
std::string uncodedError(const Passage& passage);

} // namespace fuselage::testing_support
