// SPDX-License-Identifier: Apache-2.0
// What the comparison runs: networks of the zoo as files with the inputs that `fuselage bench`
// generates for them, and one large graph. Measures the large graph; the networks are measured from
// outside.
#pragma once

#include "tests/ort/onnx_runtime.h"

#include <string>

namespace fuselage::bench {

/// A network's file and the job that gives ONNX Runtime the same inputs (seed 1).
struct Subject {
    std::string name;
    int64_t images = 1; ///< of the batch
    ort::Job job;
};

/// `name` of the zoo, or name:16 for a batch of 16.
Result<Subject> makeSubject(const std::string& name, const std::string& folder);

struct LargeGraph {
    size_t nodes = 0;      ///< in the file
    size_t fusedNodes = 0; ///< after the whole library
    double loadSeconds = 0, fuseSeconds = 0;
};

/// Writes a graph of at least 10,000 nodes (residual blocks of an image, blocks of a transformer),
/// loads it and rewrites it with the whole library.
Result<LargeGraph> measureLargeGraph(const std::string& folder);

} // namespace fuselage::bench
