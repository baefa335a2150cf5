// SPDX-License-Identifier: Apache-2.0
// What quantising costs at the outputs: one graph against another over sets of inputs.
#pragma once

#include "app/quantize/observe.h"

#include <string>
#include <vector>

namespace fuselage::quantize {

/// Of one output over all sets.
struct OutputError {
    std::string output;
    double maxAbsolute = 0;
    double relative = 0; ///< root of squared errors over root of squared values
    double decibels = 0; ///< signal to noise: -20 log10(relative); infinite where equal
    /// Rows along the last axis whose largest element is at the same place, as a share; 1 where the
    /// last axis has one element.
    double sameLargest = 1;
    bool isFloat = true; ///< false: integers; `relative` is the share that differs
};

/// Runs the float model once and keeps what it gave, to compare other graphs with.
class OutputJudge {
public:
    /// On the first `most` sets, all of which stay in memory. Errors: those of reading inputs,
    /// compiling and running, "cancelled".
    static Result<OutputJudge> make(const Graph& model, const ObserveRequest& request, size_t most,
                                    Progress& progress);

    /// Of a graph with the same inputs and outputs, on all sets. Errors: as make();
    /// "quantize.number" when it gives NaN or infinity where the model gives none.
    Result<std::vector<OutputError>> compare(const Graph& other, Progress& progress) const;

    size_t sets() const { return m_inputs.size(); }

private:
    CompileOptions m_run;
    std::vector<std::string> m_names;
    std::vector<std::vector<Tensor>> m_inputs, m_outputs; ///< by set
};

/// The worst relative error.
double worst(const std::vector<OutputError>& errors);

} // namespace fuselage::quantize
