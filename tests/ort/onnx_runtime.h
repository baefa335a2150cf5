// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime from outside, through node and ort.mjs: the oracle that shares no code with us.
#pragma once

#include "core/graph/tensor.h"
#include "tests/support/process.h"

#include <string>
#include <vector>

namespace fuselage::ort {

struct NamedTensor {
    std::string name;
    Tensor tensor;
};

struct Job {
    std::string model;
    std::vector<NamedTensor> inputs;
    std::vector<std::string> outputs;
    int threads = 2;
    std::string level = "all"; ///< of graph optimisation, or "disabled"
    double seconds = 2;        ///< for time()
};

/// Writes inputs and the job itself; gives the job's path.
Result<std::string> writeJob(const Job& job, const std::string& folder);

class OnnxRuntime {
public:
    /// `modules` is a node_modules folder that is taken when onnxruntime-node lies in it and the
    /// environment variable FUSELAGE_ONNXRUNTIME names no other place. Error "ort.missing" when
    /// node or the package is not here.
    static Result<OnnxRuntime> find(const std::string& script, const std::string& modules);

    /// One run; outputs as asked. `folder` takes the files in between. Error "ort.run" holds what
    /// ONNX Runtime said.
    Result<std::vector<Tensor>> run(const Job& job, const std::string& folder) const;

    /// Seconds of each round after one warm-up.
    Result<std::vector<double>> time(const Job& job, const std::string& folder) const;

    /// Seconds from opening the file to the first results, in a fresh process; node's own start is
    /// not in it.
    Result<double> first(const std::string& jobFile) const;

    /// A process that has the model loaded at both levels and takes orders `LEVEL SECONDS`, a line
    /// each (see ort.mjs). Not yet waited for.
    Result<testing_support::Process> serve(const std::string& jobFile) const;

    const std::string& version() const { return m_version; }

private:
    OnnxRuntime() = default;
    Result<std::string> call(const std::string& mode, const std::string& file) const;
    testing_support::ProcessOptions environment() const;

    std::string m_script, m_package, m_version;
};

} // namespace fuselage::ort
