// SPDX-License-Identifier: Apache-2.0
// One test of ONNX's backend test data: a folder with model.onnx and test_data_set_N folders.
#pragma once

#include "core/graph/graph.h"
#include "core/support/parallel.h"
#include "core/support/result.h"

#include <set>
#include <string>
#include <vector>

namespace fuselage::conformance {

struct BackendTest {
    std::string set;  ///< "node", "simple" ...
    std::string name; ///< "test_abs"
    std::string path;
};

/// All tests under a data folder, sorted by set and name.
std::vector<BackendTest> findTests(const std::string& data);

/// Names of the operators of a graph and its subgraphs.
std::set<std::string> operatorsOf(const Graph& graph);

/// How closely a test's outputs were compared.
enum class Comparison { Values, TypesOnly };

/// Infers, interprets and compares; then once more after prepareGraph. Where the graph draws random
/// numbers that differ from the stored ones, only types are compared. The Error says what failed.
Result<Comparison> runTest(const BackendTest& test, const Graph& graph, ThreadPool& threads);

} // namespace fuselage::conformance
