// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/output_error.h"

#include "app/quantize/set_runner.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage::quantize {

namespace {

/// Sums over all sets of one output.
struct Sums {
    double signal = 0, noise = 0, most = 0;
    uint64_t elements = 0, different = 0, rows = 0, sameRows = 0;
};

size_t largest(const Tensor& tensor, int64_t begin, int64_t count) {
    int64_t best = begin;
    for (int64_t i = begin + 1; i < begin + count; ++i)
        if (tensor.at(i) > tensor.at(best))
            best = i;
    return static_cast<size_t>(best - begin);
}

/// False: the second is not finite where the first is.
bool addTo(Sums& sums, const Tensor& wanted, const Tensor& found) {
    const int64_t count = wanted.elementCount();
    if (wanted.dtype() == DType::String || found.extents() != wanted.extents())
        return false;
    for (int64_t i = 0; i < count; ++i) {
        const double a = wanted.at(i), b = found.at(i);
        if (!std::isfinite(a))
            continue;
        if (!std::isfinite(b))
            return false;
        sums.signal += a * a;
        sums.noise += (a - b) * (a - b);
        sums.most = std::max(sums.most, std::abs(a - b));
        sums.different += a == b ? 0 : 1;
    }
    sums.elements += static_cast<uint64_t>(count);
    const int64_t row = wanted.rank() > 0 ? wanted.extents().back() : 1;
    for (int64_t begin = 0; row > 1 && begin < count; begin += row) {
        ++sums.rows;
        sums.sameRows += largest(wanted, begin, row) == largest(found, begin, row) ? 1 : 0;
    }
    return true;
}

} // namespace

Result<OutputJudge> OutputJudge::make(const Graph& model, const ObserveRequest& request,
                                      size_t most, Progress& progress) {
    OutputJudge out;
    out.m_run = request.run;
    out.m_run.oneKernelPerNode = true;
    for (ValueId id : model.outputs())
        out.m_names.push_back(model.value(id).name);
    SetRunner runner(model.clone(), out.m_run);
    const size_t last = std::min(most, request.sets->size());
    for (size_t set = 0; set < last; ++set) {
        progress.report("float model", set, last);
        auto inputs = request.sets->read(model, request.dims, set);
        if (!inputs)
            return failure(inputs.error());
        auto outputs = runner.run(*inputs, progress);
        if (!outputs)
            return failure(outputs.error());
        out.m_inputs.push_back(std::move(*inputs));
        out.m_outputs.push_back(std::move(*outputs));
        if (progress.cancelled())
            return cancelledFailure("running the float model");
    }
    return out;
}

Result<std::vector<OutputError>> OutputJudge::compare(const Graph& other,
                                                      Progress& progress) const {
    SetRunner runner(other.clone(), m_run);
    std::vector<Sums> sums(m_names.size());
    for (size_t set = 0; set < m_inputs.size(); ++set) {
        auto outputs = runner.run(m_inputs[set], progress);
        if (!outputs)
            return failure(outputs.error());
        for (size_t i = 0; i < sums.size(); ++i)
            if (!addTo(sums[i], m_outputs[set][i], (*outputs)[i]))
                return failure("quantize.number",
                               "the quantised model gives another shape, or NaN or infinity where "
                               "the float model gives numbers",
                               m_names[i], "give other data, or --mixed");
        if (progress.cancelled())
            return cancelledFailure("comparing outputs");
    }
    std::vector<OutputError> out;
    for (size_t i = 0; i < sums.size(); ++i) {
        const Sums& sum = sums[i];
        OutputError error;
        error.output = m_names[i];
        error.maxAbsolute = sum.most;
        error.isFloat = m_outputs.empty() || isFloat(m_outputs[0][i].dtype());
        const auto count = static_cast<double>(std::max<uint64_t>(sum.elements, 1));
        if (!error.isFloat)
            error.relative = static_cast<double>(sum.different) / count;
        else if (sum.noise > 0)
            error.relative = sum.signal > 0 ? std::sqrt(sum.noise / sum.signal)
                                            : std::numeric_limits<double>::infinity();
        error.decibels = -20 * std::log10(error.relative);
        if (sum.rows > 0)
            error.sameLargest = static_cast<double>(sum.sameRows) / static_cast<double>(sum.rows);
        out.push_back(std::move(error));
    }
    return out;
}

double worst(const std::vector<OutputError>& errors) {
    double out = 0;
    for (const OutputError& error : errors)
        out = std::max(out, error.relative);
    return out;
}

} // namespace fuselage::quantize
