// SPDX-License-Identifier: Apache-2.0
// A graph made ready to run: Plan and Executable in one object. The way from C++ code to kernels,
// for programs that use Fuselage as a library.
//
//     auto graph = model_io::loadText("f (float[1,8] x, float[8,4] w) => (float[1,4] y) {"
//                                     " t = MatMul(x, w)  y = Relu(t) }");
//     bindInput(*graph, "w", w);
//     auto fused = CompiledGraph::compile(fuseWhole(*graph, "MatMulRelu"), {});
//     auto outputs = fused->run({x});
#pragma once

#include "core/passes/precision_choice.h"
#include "core/plan/backend.h"
#include "core/plan/statistics.h"
#include "gpu/tune/tune_options.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage {

/// What runs a plan. Auto is cuda where a device can be used, else cpu.
enum class BackendKind { Auto, Cpu, Cuda, Reference };

/// "auto", "cpu", "cuda", "reference".
const char* nameOf(BackendKind kind);
std::optional<BackendKind> backendFromName(std::string_view name);
/// All names, for messages.
std::string backendNames();

struct CompileOptions {
    int threads = 0; ///< 0: all of the machine; at most 1024
    BackendKind backend = BackendKind::Cpu;
    std::string profile = "cpu";   ///< device profile for predictions, where no device is asked
    bool oneKernelPerNode = false; ///< the unfused baseline: no strided views either
    gpu::TuneOptions tune = {};
    /// Fused nodes stay in float32: convert a graph before fusing it (core/passes/precision.h).
    Precision precision = Precision::Fp32;
    PrecisionExceptions precisionOf = {};
    bool strict = false; ///< exact: rounded at every inner edge, sums in one order
    /// Worst class of each rule by name; reassociated where absent.
    std::map<std::string, NumericClass> allowed = {};
    bool measureTactics = true; ///< cuda: false chooses kernels by prediction
    std::string cache = {};     ///< cuda: folder of machine code; empty: the person's cache
    /// Sizes of open input dimensions by name ("N") or axis of an input ("x.2").
    std::map<std::string, int64_t> dims = {};
};

/// For one thread at a time, as it holds the memory of one run: two runs at once corrupt it.
/// Several threads run one network with an Executable for each, which Backend::prepare makes of
/// sharedPlan() (core/plan/backend.h; CpuOptions::shared holds packed weights once).
class CompiledGraph {
public:
    /// Infers, folds, plans and prepares. Open dimensions of the inputs get the sizes of the
    /// options, and where those say none, the smallest that are found to fit: notes() says which.
    /// bindToInputs (core/passes/dimensions.h) takes them from tensors before. A graph that
    /// verify() (core/graph/verify.h) refuses is refused with its error. Operators that nobody here
    /// computes pass and the run is refused: requireOperators (app/pipeline/model.h) asks before.
    static Result<CompiledGraph> compile(Graph graph, const CompileOptions& options);
    /// The same for a caller that may cancel. Error "cancelled".
    static Result<CompiledGraph> compile(Graph graph, const CompileOptions& options,
                                         Progress& progress);

    /// Inputs are parallel to the graph's inputs. Where shapes depend on data, parts are planned as
    /// their shapes become known, and the whole once two runs in a row had the same.
    Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs);

    /// Seconds of repeated runs after one warm-up, for about `seconds`.
    Result<std::vector<double>> time(const std::vector<Tensor>& inputs, double seconds);

    /// Where shapes depend on data: the one for any data, made when it is first asked for, without
    /// steps where it cannot be.
    const Plan& plan() const;

    /// The same, for executables that may outlive this object; the error where it cannot be made.
    Result<std::shared_ptr<const Plan>> sharedPlan() const;

    Executable& executable() { return *m_executable; }

    const Backend& backend() const { return *m_backend; }

    /// What was assumed, one sentence each.
    const std::vector<std::string>& notes() const { return m_notes; }

private:
    class PlanOnDemand;

    std::unique_ptr<Backend> m_backend;
    std::shared_ptr<PlanOnDemand> m_plan;
    std::unique_ptr<Executable> m_executable;
    std::vector<std::string> m_notes;
};

/// The named input becomes a weight: a constant that kernels may pack, with a copy of the bytes.
/// Errors "run.input": no such input, or another element type or shape.
Result<void> bindInput(Graph& graph, const std::string& input, const Tensor& weight);

/// The graph with all its nodes as the body of one fused node.
Graph fuseWhole(const Graph& graph, const std::string& name);

/// Tensors that the kernels of a plan read (weights apart) and write, and buffers between them.
struct MemoryOperations {
    size_t reads = 0, writes = 0, intermediateBuffers = 0;
};

MemoryOperations memoryOperations(const Plan& plan);

/// Plans as the backend would on a device that is not here, without these kinds of kernels
/// (TuneOptions::without); null for backends without a device.
std::unique_ptr<Backend> makePlanningBackend(BackendKind kind, const DeviceProfile& profile,
                                             const std::vector<std::string>& without = {});

/// The same of the backend that a device of this kind has.
std::unique_ptr<Backend> planningBackendOf(const DeviceProfile& profile);

/// Every generated kernel of the plan as a CUDA file with a repro (gpu/backend/dump_kernels.h);
/// says in one line what was written. Errors "save.write", "device.build".
Result<std::string> writeKernels(const Plan& plan, const DeviceProfile& profile,
                                 const std::string& folder, Progress& progress);

/// Errors "device.*" say what the cuda backend misses; "usage.threads": a number of threads below 0
/// or above 1024.
Result<std::unique_ptr<Backend>> makeBackend(const CompileOptions& options);

} // namespace fuselage
