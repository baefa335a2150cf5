// SPDX-License-Identifier: Apache-2.0
// A graph against the model it was made of, part by part: each part runs by itself on the values
// that the judge has there, so that nothing adds up. Says whether a model whose outputs roundings
// alone can turn over is computed rightly all the same.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/pipeline/report.h"
#include "core/support/progress.h"

#include <string>
#include <vector>

namespace fuselage::app {

/// Parts lie between values that both graphs have by name, and compute the outputs of one node of
/// `made`. The result is the part that is worst for its limit, by the name of its value; its note
/// says how many parts ran, and how many could not, which agrees with nothing. Both graphs have
/// numbers for the dimensions of their inputs. Errors: those of the interpreter; cancelled.
Result<OutputAgreement> checkParts(const Graph& model, const Graph& made,
                                   const CompileOptions& compile, const std::vector<Tensor>& inputs,
                                   const std::string& side, Progress& progress);

} // namespace fuselage::app
