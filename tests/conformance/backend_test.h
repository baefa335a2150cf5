// SPDX-License-Identifier: Apache-2.0
// One test of ONNX's backend test data: a folder with model.onnx and test_data_set_N folders.
#pragma once

#include "core/graph/graph.h"
#include "core/plan/backend.h"

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

/// What runs the tests: the interpreter, or a backend through a plan for the stored extents.
struct Runner {
    ThreadPool threads{1};
    std::unique_ptr<Backend> backend; ///< null: the interpreter
    DeviceProfile profile;            ///< for plans
};

/// Infers, runs and compares; by the interpreter once more after prepareGraph. Where the graph
/// draws random numbers that differ from the stored ones, only types are compared. The Error says
/// what failed; code "conformance.plan" means that plans do not cover the test (sequences, shapes
/// that depend on data).
Result<Comparison> runTest(const BackendTest& test, const Graph& graph, Runner& runner);

} // namespace fuselage::conformance
